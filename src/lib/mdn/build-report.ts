import { trimBlanks } from '../../core/index.ts';
import {
  buildMessage,
  deriveBoundary,
  formatHeader,
  formatMessageId,
  joinPieces,
  measureSafety,
  multipartPieces,
  readMessageIds,
  textPieces,
  type HeaderPair,
} from '../mime/index.ts';

export interface ReportInput {
  readonly from: string;
  readonly to: string;
  readonly date: Date;
  readonly messageId: string;
  /** Its octets as `readHeaderOctets` reads them. */
  readonly originalMessageId: string | undefined;
  readonly subject: string;
  /** `disposition-notification` or `delivery-status`. */
  readonly reportType: string;
  readonly text: string;
  /** The field lines of the machine-readable part, CRLF; one character per octet. */
  readonly fields: string;
}

/**
 * A multipart/report message of two parts (RFC 6522); nothing of the original but its identifier goes back
 * (MDN-04, DSN-01).
 */
export function buildReport(input: ReportInput): Buffer {
  const fields = Buffer.from(input.fields, 'latin1');
  const head = [
    formatHeader('Content-Type', `message/${input.reportType}`),
    formatHeader('Content-Transfer-Encoding', measureSafety(fields)),
  ];
  const parts = [
    textPieces(input.text),
    [{ bytes: Buffer.from(`${head.join('')}\r\n`, 'latin1') }, { bytes: fields }],
  ];
  return buildMessage({
    from: input.from,
    to: [input.to],
    date: input.date,
    messageId: input.messageId,
    subject: input.subject,
    headers: [...threadHeaders(input.originalMessageId), ['Auto-Submitted', 'auto-replied']],
    body: joinPieces(
      multipartPieces(
        `multipart/report; report-type=${input.reportType}`,
        deriveBoundary(input.messageId),
        parts,
      ),
    ),
  });
}

function threadHeaders(originalMessageId: string | undefined): HeaderPair[] {
  const id = legalMessageId(originalMessageId);
  return id === undefined
    ? []
    : [
        ['In-Reply-To', id],
        ['References', id],
      ];
}

const encodedWord = /=\?[^?\s]+\?[bq]\?[^?\s]*\?=/i;

/**
 * Peers also send identifiers that no header of ours may hold, or that look like an encoded word; those go
 * into the report's own field alone.
 */
function legalMessageId(text: string | undefined): string | undefined {
  try {
    const id = formatMessageId(readMessageIds(text ?? '')[0] ?? '');
    return encodedWord.test(id) ? undefined : id;
  } catch {
    return undefined;
  }
}

/**
 * A field with the identifier as the original's header has it, octet by octet and in one line
 * (RFC 8098 §3.2.5): a sender finds its message by exactly these. Empty if there is none, or if it could not
 * stand in a field.
 */
export function formatOriginalId(name: string, octets: string | undefined): string {
  const value = trimBlanks(octets ?? '');
  return value === '' || /[\r\n\0]|[^\0-\xff]/.test(value) ? '' : `${name}: ${value}\r\n`;
}

const maxFailureLength = 400;

/**
 * Text for people as a field can hold it (RFC 8098 §3.2.7): one line; text beyond ASCII becomes encoded words
 * when it is written.
 */
export function oneLine(text: string): string {
  return text
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .slice(0, maxFailureLength)
    .toWellFormed();
}

/**
 * Letters, digits, blank, point, underscore and hyphen: the characters that ETT's validator accepts in such
 * fields (MDN-06).
 */
export function plainFieldText(text: string): string {
  return text
    .replace(/[^\w. -]+/g, '-')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, 400);
}
