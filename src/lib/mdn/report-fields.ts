import { decodeWords, type MimeEntity, readMailboxes, readMessageIds } from '../mime/index.ts';

/** Fields of one block, by lower-cased name; of several equal names the first counts. */
export type FieldBlock = ReadonlyMap<string, string>;

const maxReportBytes = 131_072;
const maxFields = 2000;
/** A second one belongs to another block: two dispositions of one report may contradict each other. */
const blockFields: ReadonlySet<string> = new Set(['final-recipient', 'disposition']);
const fieldLine = /^\s*([\w!#$%&'*+.^`|~-]{1,100})[ \t]*:(.*)$/;
// An indented line is a folded one (RFC 5322 §2.2.3) unless it begins a field that reports are known to have.
const knownField =
  /^\s+(?:reporting-(?:ua|mta)|mdn-gateway|original-(?:recipient|message-id|envelope-id)|final-recipient|disposition|failure|error|warning|action|status|diagnostic-code|x-[\w-]+)[ \t]*:/i;

/**
 * Reads the fields of a message/disposition-notification or message/delivery-status body (RFC 8098 §3.1,
 * RFC 3464 §2.1.1) as blocks that blank lines separate. Lenient (MDN-22): any line ends, blanks before the
 * colon, indented fields, stray lines; more than 128 kB or 2000 fields are not looked at.
 */
export function readFieldBlocks(body: Uint8Array): FieldBlock[] {
  const text = Buffer.from(body.buffer, body.byteOffset, Math.min(body.length, maxReportBytes)).toString(
    'utf8',
  );
  const blocks: FieldBlock[] = [];
  let fields = new Map<string, string>();
  let lastName = '';
  let count = 0;
  for (const line of text.split(/\r\n|\r|\n/)) {
    if (line.trim() === '') {
      if (fields.size > 0) blocks.push(fields);
      fields = fields.size > 0 ? new Map() : fields;
      continue;
    }
    const match = isContinuation(line) ? null : fieldLine.exec(line);
    if (match?.[1] === undefined) appendLine(fields.size > 0 ? fields : blocks.at(-1), lastName, line);
    else {
      lastName = match[1].toLowerCase();
      if (blockFields.has(lastName) && fields.has(lastName)) {
        blocks.push(fields);
        fields = new Map();
      }
      if (!fields.has(lastName)) fields.set(lastName, (match[2] ?? '').trim());
      if (++count >= maxFields) break;
    }
  }
  if (fields.size > 0) blocks.push(fields);
  return blocks;
}

function isContinuation(line: string): boolean {
  return /^[ \t]/.test(line) && !knownField.test(line);
}

function appendLine(fields: FieldBlock | undefined, name: string, line: string): void {
  const value = fields?.get(name);
  if (fields instanceof Map && value !== undefined && value.length < 4000)
    fields.set(name, `${value} ${line.trim()}`.trim());
}

/** All blocks as one; earlier fields win. */
export function mergeBlocks(blocks: readonly FieldBlock[]): FieldBlock {
  return new Map(blocks.toReversed().flatMap((block) => [...block]));
}

/** The input of both readers. */
export interface ReportSource {
  readonly message: MimeEntity;
  readonly reporter: string | undefined;
  readonly blocks: readonly FieldBlock[];
}

/**
 * The address in a recipient field such as `rfc822;bob@direct.example.org`; type, display name and angle
 * brackets are stripped (AS-03, MDN-21), the case is kept. Undefined if there is none.
 */
export function readRecipientField(value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  const withoutType = value.replace(/^\s*[\w-]{1,30}\s*;/, '');
  return readMailboxes(withoutType.trim()).at(0)?.address.replace(/\s+/g, '');
}

/** The identifiers of In-Reply-To, or, if there are none, of References with the nearest message first. */
export function threadIds(message: MimeEntity): string[] {
  const replies = readNamedIds(message.header('in-reply-to') ?? '');
  return replies.length > 0
    ? replies
    : readNamedIds(message.header('references') ?? '')
        .toReversed()
        .slice(0, 20);
}

/** An encoded word that holds an end of an identifier. One without is part of it, whatever it looks like. */
const wordAcrossIds = /=\?[\w-]{1,40}\?[bq]\?[^?\s]{0,200}[<>][^?\s]{0,200}\?=/i;

/** In place of the angle brackets; an apostrophe inside of a word is part of it. */
const otherQuotes = /(?<![^\s,;])(?:&lt;([^\s<>]+?)&gt;|'([^'\s]+)'|\[([^\]\s]+)\])(?![^\s,;])/g;

/**
 * The identifiers of a field that some mailers write as encoded words when it is long, although no identifier
 * may be one (RFC 2047 §5).
 */
export function readNamedIds(value: string): string[] {
  const isWritten = /<[^<>]+>/.test(value) && !wordAcrossIds.test(value);
  if (isWritten) return readMessageIds(value);
  return readMessageIds(decodeWords(value).trim().replaceAll(otherQuotes, '<$1$2$3>'));
}
