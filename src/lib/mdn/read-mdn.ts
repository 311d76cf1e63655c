import { decodeWords, stripComments } from '../mime/index.ts';
import { finalDeliveryField } from './final-delivery.ts';
import type { Disposition, Mdn } from './mdn-or-dsn.ts';
import {
  type FieldBlock,
  mergeBlocks,
  readNamedIds,
  readRecipientField,
  type ReportSource,
  threadIds,
} from './report-fields.ts';

const dispositions: ReadonlySet<string> = new Set<Disposition>([
  'processed',
  'dispatched',
  'displayed',
  'deleted',
  'failed',
  'denied',
  'error',
]);
const failures: ReadonlySet<string | undefined> = new Set(['failed', 'denied', 'error']);
// By its first word: `error`, `Error: decryption-failed`, `failure`, `denied`, and those of AS2 and
// its peers without it. Any other word may as well say that nothing failed: `nonfatal-error`, `not-failed`.
const failureWord =
  /^(?:error(?!-?(?:free|less))|fail(?!-?(?:over|safe|soft))|denied|reject|x-(?:error|fail(?:ed|ure)?)$|(?:authentication|decompression|decryption|delivery|encryption|integrity-check|(?:signature-)?verification)-(?:error|failed|failure)$|(?:unexpected-)?processing-(?:error|failed|failure)$|insufficient-message-security$|sender-equals-receiver$)/;

/** Reads a disposition notification; blank lines between its fields do not matter. */
export function readMdn({ message, reporter, blocks }: ReportSource): Mdn {
  const fields = mergeBlocks(blocks);
  const { disposition, modifiers, reason, isFailure } = readDispositions(blocks, fields);
  const stated = known(fields.get('failure')) ?? known(fields.get('error'));
  const ownIds = readNamedIds(known(fields.get('original-message-id')) ?? '');
  return {
    kind: 'mdn',
    disposition,
    modifiers,
    isFailure:
      isFailure ||
      // RFC 8098 §3.2.7 defines these two fields for failures only.
      (disposition !== undefined && stated !== undefined),
    finalRecipient: readRecipientField(fields.get('final-recipient')),
    originalRecipient: readRecipientField(fields.get('original-recipient')),
    reporter,
    originalMessageIds: ownIds.length > 0 ? ownIds : threadIds(message),
    reportingUa: fields.get('reporting-ua'),
    explanation: decodeText(stated ?? reason ?? known(fields.get('warning'))),
    extensions: extensionsOf(fields),
    confirmsFinalDelivery: disposition === 'dispatched' && fields.has(finalDeliveryField.toLowerCase()),
  };
}

/** What should end in a semicolon; other signs are read, too. */
const modes = /^((?:automatic|manual)-action)[\s/;,]*mdn-sent-(?:automatically|manually)[\s/;:,]+/i;
/** In place of the slash before a failure. */
const beforeFailure = /^(processed|dispatched|displayed|deleted)[^\p{L}\p{N}]+(?=error|fail|denied)/iu;

interface ReadDisposition extends Pick<Mdn, 'disposition' | 'modifiers'> {
  /** The text of the modifiers, as written. */
  readonly reason: string | undefined;
  readonly isFailure: boolean;
}

/** The first one, or of several about one recipient the first that says failure. */
function readDispositions(blocks: readonly FieldBlock[], fields: FieldBlock): ReadDisposition {
  const recipient = fields.get('final-recipient');
  const all = blocks
    .filter((block) => (block.get('final-recipient') ?? recipient) === recipient)
    .flatMap((block) => block.get('disposition') ?? [])
    .map(readDisposition);
  return all.find((one) => one.isFailure) ?? all[0] ?? readDisposition('');
}

/**
 * `automatic-action/MDN-sent-automatically; processed/error` (RFC 8098 §3.2.6), in any case and with any
 * blanks; the modes may be missing. A modifier may go on with text: `processed/Error: decryption-failed`.
 */
function readDisposition(value: string): ReadDisposition {
  const text = stripComments(decodeWords(value)).trim().replace(modes, '$1;');
  const isBare = isDisposition(typeOf(firstWord(text)));
  const type = (isBare ? text : text.slice(text.indexOf(';') + 1 || text.length))
    .replace(/^[^\p{L}\p{N}]+/u, '')
    .replace(beforeFailure, '$1/');
  const word = firstWord(type);
  const name = typeOf(word);
  const rest = type.slice(word.length).trim();
  const [first = '', ...others] =
    modifierStart.test(rest) || failures.has(name)
      ? rest
          .replace(/^[^\p{L}\p{N}]+/u, '')
          .replace(/^([\w-]+)\//, '$1,')
          .split(/[,;]/)
      : [''];
  const more = others.filter((piece) => loneModifier.test(piece) && firstWord(piece) !== name);
  const pieces = [first, ...more].filter((piece) => firstWord(piece) !== '');
  const written = [first, ...others].join(',').replace(plainModifier, '').trim();
  return {
    disposition: isDisposition(name) ? name : undefined,
    modifiers: pieces.map(firstWord),
    isFailure: failures.has(name) || pieces.some(saysFailure),
    reason: known(written),
  };
}

// Behind a slash, as it should be, or a semicolon; of what stands behind anything else only a failure counts.
const modifierStart = /^(?:[/;,]|[^\p{L}\p{N}]*(?:error|fail|denied))/iu;
/** A modifier before its text; any other word is text. */
const plainModifier =
  /^\s*(?:[\w-]+\s*[:=]|(?:errors?|fail(?:ed|ure)?|denied|warning|superseded|expired)(?![\p{L}\p{N}-]))[\s:=,"-]*/iu;
// After a comma another modifier begins, unless the text of the one before goes on.
const loneModifier = /^\s*[\w-]+\s*(?::|$)/;

/** What programs write into a field that they have no text for. */
const noText = /^<?(?:|none|null|n\/a|no errors?|-)>?\s*\.?$/i;
const longestNoText = 40;

function firstWord(text: string): string {
  return (/^\s*([\w-]+)/.exec(text)?.[1] ?? '').toLowerCase();
}

/** Not `error: none`, as no field `Error: none` does. */
function saysFailure(modifier: string): boolean {
  const text = /^\s*[\w-]+\s*[:=]\s*(?=\S)(.+)$/s.exec(modifier)?.[1];
  return failureWord.test(firstWord(modifier)) && (text === undefined || known(text) !== undefined);
}

function known(text: string | undefined): string | undefined {
  const plain = text?.trim() ?? '';
  return plain.length <= longestNoText && noText.test(plain) ? undefined : text;
}

/** `failure` is an older word for `failed`. */
function typeOf(word: string): string {
  return word === 'failure' ? 'failed' : word;
}

function isDisposition(name: string): name is Disposition {
  return dispositions.has(name);
}

function decodeText(value: string | undefined): string | undefined {
  return value === undefined ? undefined : decodeWords(value);
}

function extensionsOf(fields: FieldBlock): ReadonlyMap<string, string> {
  return new Map([...fields].filter(([name]) => name.startsWith('x-')));
}
