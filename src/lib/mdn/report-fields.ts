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
