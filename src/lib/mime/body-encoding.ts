/** What keeps a body from travelling as it is. */
export type BodySafety = '7bit' | '8bit' | 'binary';

const LF = 0x0a;
const CR = 0x0d;
// RFC 5321 §4.5.3.1.6: 1000 octets with the line end.
const maxLineBytes = 998;

/** The narrowest transfer encoding name that describes the bytes without changing them (RFC 2045 §2.7 to §2.9). */
export function measureSafety(bytes: Uint8Array): BodySafety {
  let hasHighBytes = false;
  let lineBytes = 0;
  let previous = 0;
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index] as number;
    if (byte === LF) {
      if (previous !== CR) return 'binary';
      lineBytes = 0;
    } else {
      if (byte === 0 || previous === CR || lineBytes > maxLineBytes) return 'binary';
      if (byte > 0x7f) hasHighBytes = true;
      lineBytes++;
    }
    previous = byte;
  }
  if (previous === CR || lineBytes > maxLineBytes) return 'binary';
  return hasHighBytes ? '8bit' : '7bit';
}

/**
 * True if text may travel unencoded and still be the same after any mail server: printable ASCII with tabs, no long
 * lines, no blanks at line ends, no `From ` at a line's start (AS-33, RFC 8551 §3.1.3), and nothing that could be a
 * boundary of ours.
 */
export function isPlainText(text: string): boolean {
  return !/[^\t\r\n -~]|[ \t](?:\r|\n|$)|^From |\nFrom |--=_|[^\n]{990}/.test(text);
}
