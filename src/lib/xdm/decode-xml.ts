import { decodeCharset } from '../mime/index.ts';

/** XML bytes as text, by byte order mark or declaration (XML 1.0 appendix F), else as UTF-8 or windows-1252. Never throws. */
export function decodeXml(bytes: Uint8Array): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return decodeCharset(bytes, 'utf-16le');
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return decodeCharset(bytes, 'utf-16be');
  const head = Buffer.from(bytes.subarray(0, 200)).toString('latin1');
  return decodeCharset(bytes, /encoding\s*=\s*["']([\w-]{1,40})["']/.exec(head)?.[1]);
}
