import { isAscii } from 'node:buffer';
import { viewAsBuffer } from '../../core/index.ts';

/** Properties of a body's bytes, found in one pass. */
export interface ByteTraits {
  /** Bare LF and bare CR, counted together. */
  readonly bareLineEnds: number;
  readonly hasHighBytes: boolean;
  readonly hasNul: boolean;
  /** Without the line end. */
  readonly longestLineBytes: number;
}

const LF = 0x0a;
const CR = 0x0d;
/** In each of four bytes. */
const eachBlank = 0x20202020;
const eachTopBit = 0x80808080;

/**
 * Looks at every byte, but one by one only at control characters: printable ones are skipped four at a time,
 * and lines that are as long as the one before, as nearly all of a large message are, in one go. The messages
 * that pass here have 25 MB.
 */
export function inspectBytes(input: Uint8Array): ByteTraits {
  const bytes = viewAsBuffer(input);
  const findControl = createControlFinder(bytes);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let bareLineEnds = 0;
  let hasNul = false;
  let longest = 0;
  let lineStart = 0;
  let index = findControl(0);
  while (index < bytes.length) {
    const byte = bytes[index] as number;
    const isPair = byte === CR && bytes[index + 1] === LF;
    if (byte === 0) hasNul = true;
    if (!isPair && (byte === LF || byte === CR)) bareLineEnds++;
    if (isPair || byte === LF) {
      const lineBytes = index - lineStart;
      if (lineBytes > longest) longest = lineBytes;
      lineStart = isPair ? skipEqualLines(view, index + 2, lineBytes) : index + 1;
      index = findControl(lineStart);
    } else index = findControl(index + 1);
  }
  return {
    bareLineEnds,
    hasHighBytes: !isAscii(bytes),
    hasNul,
    longestLineBytes: Math.max(longest, bytes.length - lineStart),
  };
}

/** Finds where, from an offset on, the next control character stands: the length if there is none. */
function createControlFinder(bytes: Buffer): (from: number) => number {
  const { length } = bytes;
  const head = Math.min((4 - (bytes.byteOffset % 4)) % 4, length);
  const count = (length - head) >> 2;
  const words = count > 0 ? new Int32Array(bytes.buffer, bytes.byteOffset + head, count) : new Int32Array(0);
  return (from) => {
    let index = from;
    for (; index < length && ((index - head) & 3) !== 0; index++) {
      if ((bytes[index] as number) < 0x20) return index;
    }
    if (index >= length) return length;
    let word = (index - head) >> 2;
    while (word < count && markControls(words[word] as number) === 0) word++;
    index = head + word * 4;
    while (index < length && (bytes[index] as number) >= 0x20) index++;
    return index;
  };
}

/**
 * The offset behind all lines that follow at `from`, have the given length, hold no control character and end
 * with CRLF. Lines with bytes above 0x7f may be left to the closer look that other lines get.
 */
function skipEqualLines(view: DataView, from: number, lineBytes: number): number {
  const { byteLength } = view;
  let start = from;
  if (lineBytes < 4) return start;
  for (;;) {
    const end = start + lineBytes;
    if (end + 2 > byteLength || view.getUint16(end) !== 0x0d0a) return start;
    // The last four bytes first: the steps before them need not come out even.
    let signs = view.getInt32(end - 4, true) - eachBlank;
    let index = start;
    for (; index < end - 8; index += 8)
      signs |= (view.getInt32(index, true) - eachBlank) | (view.getInt32(index + 4, true) - eachBlank);
    if (index < end - 4) signs |= view.getInt32(index, true) - eachBlank;
    // A byte below a blank always leaves its top bit set here.
    if ((signs & eachTopBit) !== 0) return start;
    start = end + 2;
  }
}

/** Not zero exactly if any of the four bytes is below a blank. */
function markControls(four: number): number {
  return (four - eachBlank) & ~four & eachTopBit;
}
