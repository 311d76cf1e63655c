import { inspectBytes, type ByteTraits } from './inspect-bytes.ts';

/** The class of a body's bytes (RFC 2045 §2), which decides its encoding. */
export type BodySafety = '7bit' | '8bit' | 'binary';

// RFC 5321 §4.5.3.1.6: 1000 octets with the line end.
const maxLineBytes = 998;

/**
 * The narrowest transfer encoding name that describes the bytes without changing them (RFC 2045 §2.7 to
 * §2.9).
 */
export function measureSafety(bytes: Uint8Array): BodySafety {
  return safetyOf(inspectBytes(bytes));
}

/** The same for a caller that has inspected the bytes. */
export function safetyOf(traits: ByteTraits): BodySafety {
  if (traits.bareLineEnds > 0 || traits.hasNul || traits.longestLineBytes > maxLineBytes) return 'binary';
  return traits.hasHighBytes ? '8bit' : '7bit';
}

/**
 * True if text may travel unencoded and still be the same after any mail server: printable ASCII with tabs,
 * no long lines, no blanks at line ends, no `From ` at a line's start (AS-33, RFC 8551 §3.1.3), and nothing
 * that could be a boundary of ours.
 */
export function isPlainText(text: string): boolean {
  return !/[^\t\r\n -~]|[ \t](?:\r|\n|$)|^From |\nFrom |--=_/.test(text) && !hasLongLine(text);
}

/**
 * Of so many characters before the LF. A pattern would look at each character of a line as often as the line
 * is long.
 */
const longLine = 990;

function hasLongLine(text: string): boolean {
  for (let start = 0; start < text.length;) {
    const feed = text.indexOf('\n', start);
    const end = feed < 0 ? text.length : feed;
    if (end - start >= longLine) return true;
    start = end + 1;
  }
  return false;
}
