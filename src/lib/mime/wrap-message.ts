import { concatBytes, viewAsBuffer } from '../../core/index.ts';
import { safetyOf } from './body-encoding.ts';
import { addLineEnds } from './canonicalize.ts';
import { decodeBody } from './decode-body.ts';
import { inspectBytes } from './inspect-bytes.ts';
import type { MimeEntity } from './mime-entity.ts';

/**
 * Puts a whole message into a message/rfc822 entity, to be signed (AS-30, AS-34, RFC 8551 §3.1): every header
 * goes inside. Line ends become CRLF; nothing else is changed. A message that is not 7-bit is labeled as 8bit
 * or binary, since RFC 2046 §5.2.1 forbids to encode this type.
 */
export function wrapMessage(message: Uint8Array): Buffer {
  return concatBytes(wrapPieces(message));
}

/**
 * The same in two pieces, without a copy of the message if its line ends are right: for a signer that reads
 * pieces.
 */
export function wrapPieces(message: Uint8Array): readonly [header: Buffer, message: Buffer] {
  const traits = inspectBytes(message);
  const canonical = addLineEnds(viewAsBuffer(message), traits.bareLineEnds);
  const safety = safetyOf({ ...traits, bareLineEnds: 0 });
  const encoding = safety === '7bit' ? '' : `Content-Transfer-Encoding: ${safety}\r\n`;
  return [Buffer.from(`Content-Type: message/rfc822\r\n${encoding}\r\n`, 'latin1'), canonical];
}

/**
 * The message inside a message/rfc822 entity, decoded if a peer encoded it (AS-74); undefined for any other
 * entity.
 */
export function unwrapEntity(entity: MimeEntity): Buffer | undefined {
  const { mediaType } = entity.contentType;
  return mediaType === 'message/rfc822' || mediaType === 'message/global' ? decodeBody(entity) : undefined;
}
