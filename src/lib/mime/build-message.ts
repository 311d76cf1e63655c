import { createHash } from 'node:crypto';
import { isPlainText } from './body-encoding.ts';
import { formatDate } from './dates.ts';
import {
  attachmentPieces,
  joinPieces,
  multipartPieces,
  type AttachmentInput,
  type Piece,
} from './entity-writer.ts';
import { MimeError } from './errors.ts';
import { formatHeader, formatTextHeader, type HeaderPair } from './header-lines.ts';
import { formatMailbox, type Mailbox } from './mailboxes.ts';
import { formatMessageId } from './message-ids.ts';

export interface MessageInput {
  readonly from: Mailbox | string;
  /** At least one. */
  readonly to: readonly (Mailbox | string)[];
  readonly cc?: readonly (Mailbox | string)[];
  readonly date: Date;
  /** `<left@right>`, with or without the brackets. */
  readonly messageId: string;
  readonly subject?: string;
  /**
   * More fields, written after the others. Values are text, whose characters beyond ASCII become encoded
   * words, or those of In-Reply-To and References.
   */
  readonly headers?: readonly HeaderPair[];
  /** Line ends of any kind; written as CRLF. */
  readonly text?: string;
  readonly attachments?: readonly AttachmentInput[];
  /** A ready MIME entity (header section and body, CRLF) instead of `text` and `attachments`. */
  readonly body?: Uint8Array;
  /** Default: derived from the Message-ID, so that equal input gives equal bytes. */
  readonly boundary?: string;
}

const identifierFields = new Set(['in-reply-to', 'references']);
const ownFields = new Set(['from', 'to', 'cc', 'date', 'message-id', 'subject', 'mime-version', 'sender']);

/**
 * Builds an RFC 5322 message: CRLF, 7-bit, ASCII header bytes (AS-33, AS-36, AS-40). Text and attachments
 * come out of `parseEntity` as they went in, attachments byte for byte. Throws MimeError on anything that
 * cannot be written legally; a Bcc field or one that this function writes itself is MIME_HEADER_FORBIDDEN
 * (AS-38).
 */
export function buildMessage(input: MessageInput): Buffer {
  const head: Piece = { bytes: Buffer.from(formatHead(input), 'latin1') };
  if (input.body !== undefined) return joinPieces([head, { bytes: input.body }]);
  const boundary = input.boundary ?? deriveBoundary(input.messageId);
  return joinPieces([head, ...contentPieces(input, boundary)]);
}

/**
 * A boundary that cannot occur in base64 or in text that this module writes, derived from a seed such as a
 * Message-ID: 34 characters, no colon (AS-40, RFC 2046 §5.1.1).
 */
export function deriveBoundary(seed: string): string {
  return `=_${createHash('sha256').update(seed).digest('hex').slice(0, 32)}`;
}

function formatHead(input: MessageInput): string {
  if (input.to.length === 0)
    throw new MimeError('MIME_ADDRESS_INVALID', 'A message needs at least one recipient in To');
  const lines = [
    formatHeader('From', formatMailbox(input.from)),
    formatHeader('To', input.to.map(formatMailbox).join(', ')),
    formatHeader('Date', formatDate(input.date)),
    formatHeader('Message-ID', formatMessageId(input.messageId)),
    formatHeader('MIME-Version', '1.0'),
  ];
  if (input.cc !== undefined && input.cc.length > 0)
    lines.splice(2, 0, formatHeader('Cc', input.cc.map(formatMailbox).join(', ')));
  if (input.subject !== undefined) lines.push(formatTextHeader('Subject', input.subject));
  for (const [name, value] of input.headers ?? []) lines.push(formatExtraHeader(name, value));
  return lines.join('');
}

function formatExtraHeader(name: string, value: string): string {
  const key = name.toLowerCase();
  if (ownFields.has(key) || key.startsWith('content-') || key === 'bcc' || key === 'resent-bcc') {
    throw new MimeError(
      'MIME_HEADER_FORBIDDEN',
      `The header ${/^[\w-]{1,40}$/.test(name) ? name : '(illegal name)'} cannot be given`,
    );
  }
  // Identifiers are no text: readers do not look for encoded words in them (RFC 2047 §5).
  return identifierFields.has(key) ? formatHeader(name, value) : formatTextHeader(name, value);
}

function contentPieces(input: MessageInput, boundary: string): Piece[] {
  const attachments = input.attachments ?? [];
  const parts: Piece[][] = [];
  if (input.text !== undefined || attachments.length === 0) parts.push(textPieces(input.text ?? ''));
  for (const attachment of attachments) parts.push(attachmentPieces(attachment));
  const [only] = parts;
  return parts.length === 1 && only !== undefined
    ? only
    : multipartPieces('multipart/mixed', boundary, parts);
}

/** A text/plain entity: unencoded where every mail server leaves it alone, else base64 over UTF-8. */
export function textPieces(text: string): Piece[] {
  const lines = text.toWellFormed().replace(/\r\n|\r|\n/g, '\r\n');
  const isPlain = isPlainText(lines);
  const head = [
    formatHeader('Content-Type', `text/plain; charset=${isPlain ? 'us-ascii' : 'utf-8'}`),
    formatHeader('Content-Transfer-Encoding', isPlain ? '7bit' : 'base64'),
  ];
  const bytes = Buffer.from(lines);
  return [{ bytes: Buffer.from(`${head.join('')}\r\n`, 'latin1') }, isPlain ? { bytes } : { base64: bytes }];
}
