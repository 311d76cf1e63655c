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
export { base64LinesLength, createBase64Writer, writeBase64Lines } from './base64-lines.ts';
export { measureSafety } from './body-encoding.ts';
export { buildMessage, deriveBoundary, textPieces } from './build-message.ts';
export { canonicalize } from './canonicalize.ts';
export { decodeCharset, decodeText } from './charset.ts';
export { findHeaderAmbiguity } from './check-header.ts';
export {
  collectParts,
  findBodyText,
  hasRepeatedField,
  type MessagePart,
  type PartFault,
} from './collect-parts.ts';
export { formatDate, readDate } from './dates.ts';
export { decodeBody, readText } from './decode-body.ts';
export { decodeWords, encodeWords, hasUnreadWord } from './encoded-words.ts';
export { attachmentPieces, joinPieces, multipartPieces, type AttachmentInput } from './entity-writer.ts';
export { MimeError } from './errors.ts';
export { cleanFileName, withExtension } from './file-names.ts';
export { findDamagedPart } from './find-binary-part.ts';
export { readHeaderOctets } from './header-octets.ts';
export { formatHeader, formatTextHeader, type HeaderPair } from './header-lines.ts';
export { defaultMimeLimits } from './limits.ts';
export { formatMailbox, readMailboxes } from './mailboxes.ts';
export { formatMessageId, readMessageIds } from './message-ids.ts';
export { parseEntity, type MimeEntity } from './mime-entity.ts';
export { stripComments } from './parameters.ts';
export { toPlainLine } from './plain-line.ts';
export { unwrapEntity, wrapMessage, wrapPieces } from './wrap-message.ts';
