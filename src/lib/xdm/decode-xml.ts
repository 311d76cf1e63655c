import { decodeCharset } from '../mime/index.ts';

/**
 * XML bytes as text (XML 1.0 appendix F): by the byte order mark, else by the octets of the first character,
 * which tell UTF-16 from everything else whatever is declared, else by the declaration, UTF-8 or
 * windows-1252. Never throws.
 */
export function decodeXml(bytes: Uint8Array): string {
  const encoding = findUtf16(bytes) ?? declaredEncoding(bytes);
  return decodeCharset(bytes, encoding);
}

/**
 * Of XML without a mark: it begins with `<` or white space, so that one of the first two octets is zero in
 * UTF-16 alone.
 */
function findUtf16([first = 0, second = 0]: Uint8Array): string | undefined {
  if (first !== 0 && second === 0) return 'utf-16le';
  return first === 0 && second !== 0 ? 'utf-16be' : undefined;
}

/** Undefined if none is declared, or one of wide characters that the octets are not. */
function declaredEncoding(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, 200)).toString('latin1');
  const [, encoding] = /<\?xml\s[^>]*?encoding\s*=\s*["']\s*([\w-]{1,40})\s*["']/.exec(head) ?? [];
  return encoding === undefined || /^(?:utf-?16|utf-?32|ucs-?[24]|iso-10646|unicode)/i.test(encoding)
    ? undefined
    : encoding;
}
