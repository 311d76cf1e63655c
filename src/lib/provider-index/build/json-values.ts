/** Text as it stands between the quotes of a JSON string, in UTF-8. */

const quote = 0x22;
const backslash = 0x5c;
const firstPrintable = 0x20;

/** True if a byte of the text must be escaped. Bytes above ASCII never need it. */
export function needsEscape(bytes: Uint8Array, start: number, end: number): boolean {
  for (let index = start; index < end; index++) {
    const byte = bytes[index] as number;
    if (byte < firstPrintable || byte === quote || byte === backslash) return true;
  }
  return false;
}

/** The escaped form of UTF-8 text. */
export function escapeJson(bytes: Uint8Array): Uint8Array {
  const text = JSON.stringify(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString());
  return Buffer.from(text.slice(1, -1));
}
