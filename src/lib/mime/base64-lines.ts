import { viewAsBuffer } from '../../core/index.ts';

const lineBytes = 57;
const lineLength = 76;
/** A line with its line end; two of them are 39 words of 32 bits, which is what the fast path writes. */
const lineStride = lineLength + 2;
/** Pairs of lines encoded at a time: small enough to stay in the processor's first cache. */
const maxBatchPairs = 256;
/** CR and LF as 16 bits in this machine's byte order, and where the first of two 16-bit halves stands in 32 bits. */
const lineEnd = new Uint16Array(new Uint8Array([0x0d, 0x0a]).buffer)[0] ?? 0;
const isLittleEndian = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

/** The number of bytes that {@link encodeBase64Lines} makes of so many. */
export function base64LinesLength(sizeBytes: number): number {
  const full = Math.floor(sizeBytes / lineBytes);
  const rest = sizeBytes % lineBytes;
  return full * lineStride + (rest === 0 ? 0 : Math.ceil(rest / 3) * 4 + 2);
}

/** Base64 in lines of 76 characters, each ended by CRLF, the last one too (RFC 2045 §6.8); empty for no bytes. */
export function encodeBase64Lines(bytes: Uint8Array): Buffer {
  const target = Buffer.allocUnsafeSlow(base64LinesLength(bytes.length));
  writeBase64Lines(bytes, target, 0);
  return target;
}

/** Writes the same into a buffer and returns the offset after it. Four times faster if the target's address is a multiple of 4. */
export function writeBase64Lines(bytes: Uint8Array, target: Buffer, offset: number): number {
  const source = viewAsBuffer(bytes);
  const pairs = Math.floor(source.length / (2 * lineBytes));
  const isAligned = isLittleEndian && (target.byteOffset + offset) % 4 === 0;
  if (isAligned) writeLinePairs(source, pairs, target, offset);
  const done = isAligned ? pairs * 2 : 0;
  return writeLineByLine(source.subarray(done * lineBytes), target, offset + done * lineStride);
}

/**
 * The runtime encodes fast but knows no lines, and copying single lines costs more than encoding them. So a batch is encoded
 * into a scratch buffer and copied by words: the first line of a pair is aligned, the second one is put together of halves.
 */
function writeLinePairs(source: Buffer, pairs: number, target: Buffer, offset: number): void {
  const words = new Uint32Array(Math.min(pairs, maxBatchPairs) * 38);
  const halves = new Uint16Array(words.buffer);
  const scratch = Buffer.from(words.buffer);
  const view = new Uint32Array(target.buffer, target.byteOffset + offset, pairs * 39);
  for (let done = 0, to = 0; done < pairs; done += maxBatchPairs) {
    const count = Math.min(maxBatchPairs, pairs - done);
    const from = done * 2 * lineBytes;
    scratch.write(source.toString('base64', from, from + count * 2 * lineBytes), 'latin1');
    to = copyLinePairs(words, halves, view, to, count);
  }
}

function copyLinePairs(
  words: Uint32Array,
  halves: Uint16Array,
  view: Uint32Array,
  start: number,
  count: number,
): number {
  let to = start;
  for (let pair = 0, word = 0; pair < count; pair++, word += 19) {
    for (const end = word + 19; word < end; word++) view[to++] = words[word] as number;
    let half = word * 2;
    view[to++] = lineEnd | ((halves[half++] as number) << 16);
    for (const end = half + 36; half < end; half += 2)
      view[to++] = (halves[half] as number) | ((halves[half + 1] as number) << 16);
    view[to++] = (halves[half] as number) | (lineEnd << 16);
  }
  return to;
}

function writeLineByLine(source: Buffer, target: Buffer, offset: number): number {
  let to = offset;
  for (let from = 0; from < source.length; from += lineBytes) {
    to += target.write(
      source.toString('base64', from, Math.min(from + lineBytes, source.length)),
      to,
      'latin1',
    );
    target[to++] = 0x0d;
    target[to++] = 0x0a;
  }
  return to;
}
