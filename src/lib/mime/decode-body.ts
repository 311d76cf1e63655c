import { viewAsBuffer } from '../../core/index.ts';
import { decodeCharset } from './charset.ts';
import { decodeBase64 } from './decode-base64.ts';
import { decodeQuotedPrintable } from './decode-quoted-printable.ts';
import type { MimeEntity } from './mime-entity.ts';
import { findUuencoded } from './uuencode.ts';

const uuencodings = new Set(['x-uuencode', 'uuencode', 'x-uue', 'uue']);
const encodings = new Set(['7bit', '8bit', 'binary', 'base64', 'quoted-printable', ...uuencodings]);

/** True for a transfer encoding that `decodeBody` knows. */
export function isTransferEncoding(name: string): boolean {
  return encodings.has(name);
}

/**
 * The body without its transfer encoding. Never throws: characters that are not base64 or quoted-printable in
 * such a body are skipped or kept as it is, and an unknown encoding leaves the bytes alone (AS-81). Zero copy
 * for 7bit, 8bit and binary.
 */
export function decodeBody(entity: MimeEntity): Buffer {
  const body = viewAsBuffer(entity.bodyBytes);
  if (entity.transferEncoding === 'base64') return decodeBase64(body);
  if (entity.transferEncoding === 'quoted-printable') return decodeQuotedPrintable(body);
  if (uuencodings.has(entity.transferEncoding))
    return findUuencoded(body.toString('latin1'))[0]?.content ?? body;
  return body;
}

/** The body as text, in the character set of its Content-Type. */
export function readText(entity: MimeEntity): string {
  return decodeCharset(decodeBody(entity), entity.contentType.parameters.get('charset'));
}
