import { isUtf8 } from 'node:buffer';
import { viewAsBuffer } from '../../core/index.ts';
import type { MimeEntity } from '../mime/index.ts';
import { SmimeError } from './errors.ts';

/**
 * Returns only if everything in a signed entity that no signature covers is text: its header, what stands
 * around the parts, and the signature in base64.
 *
 * Whoever has a message in CBC mode can repeat and move blocks of it, and so learn from acceptance what is in
 * them, though the signed bytes stay as they are: each such change makes a block of random bytes, which is
 * text with a probability of about 2^-20, two blocks of about 2^-40 (RFC 8551 §6; SEC-14). Errors:
 * `SMIME_UNSIGNED_NOT_TEXT`.
 */
export function checkUnsignedBytes(entity: MimeEntity, signed?: MimeEntity, signature = entity): void {
  const { bytes } = entity;
  // Where the whole is encoded, the parts are not views on it, and their places are unknown.
  const isEncoded = isTextEncoding(entity);
  const covered = signed === undefined || isEncoded ? [] : [signed.bytes];
  const binary = isEncoded || isTextEncoding(signature) ? [] : [signature.bodyBytes];
  let from = 0;
  for (const part of [...covered, ...binary]) {
    requireText(bytes.subarray(from, part.byteOffset - bytes.byteOffset));
    from = part.byteOffset - bytes.byteOffset + part.length;
  }
  requireText(bytes.subarray(from));
}

function isTextEncoding({ transferEncoding }: MimeEntity): boolean {
  return transferEncoding === 'base64' || transferEncoding === 'quoted-printable';
}

/** Of a large body, looked at in turn: its string would be as large. */
const chunkBytes = 65_536;
const control = /[^\P{Cc}\t\r\n\u0080-\u009f]/u;

function requireText(bytes: Uint8Array): void {
  const view = viewAsBuffer(bytes);
  let isText = isUtf8(view);
  for (let at = 0; isText && at < view.length; at += chunkBytes)
    isText = !control.test(view.toString('latin1', at, at + chunkBytes));
  if (!isText) throw new SmimeError('SMIME_UNSIGNED_NOT_TEXT', 'bytes that no signature covers are not text');
}
