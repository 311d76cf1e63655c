const utf8 = new TextDecoder('utf-8', { fatal: true });
const latin = new TextDecoder('windows-1252');
// Names that say nothing certain about bytes above 127: valid UTF-8 is the better guess then.
const vagueNames = new Set([
  '',
  'us-ascii',
  'ascii',
  'ansi_x3.4-1968',
  'utf8',
  'utf-8',
  'unknown-8bit',
  'x-unknown',
  'binary',
]);

/**
 * Bytes to text in the named character set. Never throws: an unknown name, or bytes that do not fit it, are
 * read as UTF-8 if they are valid UTF-8, else as windows-1252.
 */
export function decodeCharset(bytes: Uint8Array, charset = ''): string {
  const name = charset.trim().toLowerCase();
  if (vagueNames.has(name)) return decodeGuessing(bytes);
  try {
    return new TextDecoder(name).decode(bytes);
  } catch {
    return decodeGuessing(bytes);
  }
}

function decodeGuessing(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    return latin.decode(bytes);
  }
}
