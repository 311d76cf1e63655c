const EQUALS = 0x3d;
const LF = 0x0a;

const hexValues = new Int8Array(256).fill(-1);
for (let value = 0; value < 16; value++) {
  const digit = value.toString(16);
  hexValues[digit.charCodeAt(0)] = value;
  hexValues[digit.toUpperCase().charCodeAt(0)] = value;
}

/**
 * RFC 2045 §6.7: soft line ends and trailing blanks go, `=` before anything but two hexadecimal digits stays.
 */
export function decodeQuotedPrintable(body: Uint8Array): Buffer {
  const target = Buffer.allocUnsafe(body.length);
  let length = 0;
  let blanksFrom = -1;
  for (let index = 0; index < body.length; index++) {
    const byte = body[index] ?? 0;
    if (byte === EQUALS) {
      const softEnd = endOfSoftBreak(body, index + 1);
      const value = ((hexValues[body[index + 1] ?? 0] ?? -1) << 4) | (hexValues[body[index + 2] ?? 0] ?? -1);
      blanksFrom = -1;
      if (softEnd > 0) index = softEnd - 1;
      else if (value >= 0) {
        target[length++] = value;
        index += 2;
      } else target[length++] = byte;
      continue;
    }
    if (byte === LF && blanksFrom >= 0) {
      const hasCr = target[length - 1] === 0x0d;
      length = blanksFrom;
      if (hasCr) target[length++] = 0x0d;
    }
    const isBlank = byte === 0x20 || byte === 0x09;
    if (isBlank && blanksFrom < 0) blanksFrom = length;
    else if (!isBlank && byte !== 0x0d) blanksFrom = -1;
    target[length++] = byte;
  }
  return target.subarray(0, length);
}

/** The offset after a soft line end, 0 if there is none at `start`. */
function endOfSoftBreak(body: Uint8Array, start: number): number {
  let index = start;
  while (body[index] === 0x20 || body[index] === 0x09) index++;
  if (index >= body.length) return body.length;
  if (body[index] === 0x0d && body[index + 1] === LF) return index + 2;
  return body[index] === LF ? index + 1 : 0;
}
