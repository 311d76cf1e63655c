import { isAscii, isUtf8 } from 'node:buffer';
import { viewAsBuffer } from '../../core/index.ts';
import { decodeText, isKnownCharset, isVagueCharset, type DecodedText } from './charset.ts';
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

/** The body as text, in the character set of its Content-Type, or else that which HTML itself names. */
export function readText(entity: MimeEntity): string {
  return decodeEntityText(entity, decodeBody(entity)).text;
}

/** The same with the finding, of the body or a part of it. */
export function decodeEntityText(entity: MimeEntity, body: Uint8Array): DecodedText {
  const { mediaType, parameters } = entity.contentType;
  const charset = parameters.get('charset') ?? '';
  const isNamed = !isVagueCharset(charset) && isKnownCharset(charset);
  const isOpen = mediaType === 'text/html' && !isNamed && (isAscii(body) || !isUtf8(body));
  return decodeText(body, (isOpen ? findHtmlCharset(body) : undefined) ?? charset);
}

/** As far as browsers look. */
const maxPrescanBytes = 1024;
const charsetInHtml =
  /<meta\b[^>]*?\bcharset\s*=\s*["']?\s*([\w.:-]{1,40})|^\s*<\?xml\b[^>]*?\bencoding\s*=\s*["']([\w.:-]{1,40})/i;

/** Undefined if none is named, or one of wide characters, in which nobody could have read the name. */
function findHtmlCharset(body: Uint8Array): string | undefined {
  const found = charsetInHtml.exec(viewAsBuffer(body).toString('latin1', 0, maxPrescanBytes));
  const charset = found?.[1] ?? found?.[2];
  return charset === undefined || /^(?:utf-?(?:16|32)|ucs)/i.test(charset) ? undefined : charset;
}
