/**
 * Reads and writes RFC 5322 messages and MIME entities (RFC 2045, RFC 2046, RFC 2047, RFC 2231, RFC 2183).
 *
 * Reading is lenient, lazy and zero copy: every entity is a view on the bytes it came from, so that the exact
 * signed bytes of a multipart/signed are available. Writing is strict: CRLF, 7-bit, ASCII headers, base64 for
 * every payload. Not supported: message/partial, message/external-body, and writing of 8-bit headers
 * (RFC 6532).
 *
 * Called by lib/mdn, lib/xdm, lib/smime, lib/direct and service/messaging. Pure and synchronous.
 */
export { readAddressList, readUnquotedMailbox } from './address-list.ts';
export {
  base64LinesLength,
  createBase64Writer,
  writeBase64Lines,
  type Base64Writer,
} from './base64-lines.ts';
export { measureSafety, type BodySafety } from './body-encoding.ts';
export { buildMessage, deriveBoundary, textPieces, type MessageInput } from './build-message.ts';
export { canonicalize } from './canonicalize.ts';
export { decodeCharset, decodeText, type CharsetFault } from './charset.ts';
export { findHeaderAmbiguity } from './check-header.ts';
export {
  collectParts,
  findBodyText,
  hasRepeatedField,
  type MessagePart,
  type PartFault,
} from './collect-parts.ts';
export { formatDate, readDate } from './dates.ts';
export { decodeBase64 } from './decode-base64.ts';
export { decodeBody, readText } from './decode-body.ts';
export { decodeQuotedPrintable } from './decode-quoted-printable.ts';
export { decodeWords, encodeWords, hasUnreadWord } from './encoded-words.ts';
export {
  attachmentPieces,
  joinPieces,
  multipartPieces,
  type AttachmentInput,
  type Piece,
} from './entity-writer.ts';
export { MimeError, mimeErrors, type MimeErrorCode } from './errors.ts';
export { cleanFileName, withExtension } from './file-names.ts';
export { findDamagedPart } from './find-binary-part.ts';
export type { HeaderField } from './header-fields.ts';
export { readHeaderOctets } from './header-octets.ts';
export { formatHeader, formatTextHeader, type HeaderPair } from './header-lines.ts';
export { inspectBytes, type ByteTraits } from './inspect-bytes.ts';
export { defaultMimeLimits, type MimeLimits } from './limits.ts';
export { formatMailbox, readMailboxes, type Mailbox } from './mailboxes.ts';
export { formatMessageId, readMessageIds } from './message-ids.ts';
export { parseEntity, type ContentType, type MimeEntity } from './mime-entity.ts';
export { parseParameters, stripComments, type ParameterizedValue } from './parameters.ts';
export { toPlainLine } from './plain-line.ts';
export { unwrapEntity, wrapMessage, wrapPieces } from './wrap-message.ts';
