const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const lineBytes = 57;
const lineLength = 76;
// Twelve bits at a time: the two characters of each value, in the order in which this machine stores 16 bits.
const pairs = new Uint16Array(4096);
const pairBytes = new Uint8Array(pairs.buffer);
for (let value = 0; value < 4096; value++) {
  pairBytes[value * 2] = alphabet.charCodeAt(value >> 6);
  pairBytes[value * 2 + 1] = alphabet.charCodeAt(value & 63);
}
const lineEnd = new Uint16Array(new Uint8Array([0x0d, 0x0a]).buffer)[0] ?? 0;

/** The number of bytes that {@link encodeBase64Lines} makes of so many. */
export function base64LinesLength(sizeBytes: number): number {
  const full = Math.floor(sizeBytes / lineBytes);
  const rest = sizeBytes % lineBytes;
  return full * (lineLength + 2) + (rest === 0 ? 0 : Math.ceil(rest / 3) * 4 + 2);
}

/** Base64 in lines of 76 characters, each ended by CRLF, the last one too (RFC 2045 §6.8); empty for no bytes. */
export function encodeBase64Lines(bytes: Uint8Array): Buffer {
  const target = Buffer.allocUnsafeSlow(base64LinesLength(bytes.length));
  writeBase64Lines(bytes, target, 0);
  return target;
}

/** Writes the same into a buffer and returns the offset after it. */
export function writeBase64Lines(bytes: Uint8Array, target: Buffer, offset: number): number {
  const full = Math.floor(bytes.length / lineBytes);
  const at = (target.byteOffset + offset) % 2 === 0 ? writeWholeLines(bytes, full, target, offset) : writeByBytes(bytes, full, target, offset);
  if (full * lineBytes === bytes.length) return at;
  const rest = Buffer.from(bytes.buffer, bytes.byteOffset + full * lineBytes, bytes.length - full * lineBytes);
  return at + target.write(`${rest.toString('base64')}\r\n`, at, 'latin1');
}

/** Whole lines are 39 pairs long, line end included, so that a target at an even address can be written in pairs. */
function writeWholeLines(bytes: Uint8Array, lines: number, target: Buffer, offset: number): number {
  const view = new Uint16Array(target.buffer, target.byteOffset + offset, (lines * (lineLength + 2)) / 2);
  let from = 0;
  let to = 0;
  for (let line = 0; line < lines; line++) {
    for (const end = from + lineBytes; from < end; from += 3) {
      const bits = ((bytes[from] as number) << 16) | ((bytes[from + 1] as number) << 8) | (bytes[from + 2] as number);
      view[to++] = pairs[bits >> 12] as number;
      view[to++] = pairs[bits & 4095] as number;
    }
    view[to++] = lineEnd;
  }
  return offset + lines * (lineLength + 2);
}

function writeByBytes(bytes: Uint8Array, lines: number, target: Buffer, offset: number): number {
  let from = 0;
  let to = offset;
  for (let line = 0; line < lines; line++) {
    for (const end = from + lineBytes; from < end; from += 3) {
      const bits = ((bytes[from] as number) << 16) | ((bytes[from + 1] as number) << 8) | (bytes[from + 2] as number);
      const high = (bits >> 12) * 2;
      const low = (bits & 4095) * 2;
      target[to++] = pairBytes[high] as number;
      target[to++] = pairBytes[high + 1] as number;
      target[to++] = pairBytes[low] as number;
      target[to++] = pairBytes[low + 1] as number;
    }
    target[to++] = 0x0d;
    target[to++] = 0x0a;
  }
  return to;
}
