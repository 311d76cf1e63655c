import { viewAsBuffer } from '../../core/index.ts';

/** What a body's bytes are like, found in one pass. */
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

/**
 * Looks at every byte once. Sixteen bytes at a time are skipped if none of them is a control character, which makes this
 * several times faster than a plain loop; the messages that pass here have 25 MB.
 */
export function inspectBytes(input: Uint8Array): ByteTraits {
  const bytes = viewAsBuffer(input);
  const head = Math.min((4 - (bytes.byteOffset % 4)) % 4, bytes.length);
  const words =
    bytes.length < 8
      ? new Uint32Array(0)
      : new Uint32Array(bytes.buffer, bytes.byteOffset + head, (bytes.length - head) >> 2);
  const counts: Counts = { lineFeeds: 0, returns: 0, pairs: 0, nuls: 0, lineStart: 0, longest: 0, high: 0 };
  inspectRange(bytes, 0, head, counts);
  let high = 0;
  const whole = words.length - (words.length % 4);
  for (let index = 0; index < whole; index += 4) {
    const a = words[index] as number;
    const b = words[index + 1] as number;
    const c = words[index + 2] as number;
    const d = words[index + 3] as number;
    high |= a | b | c | d;
    // True if any of the bytes is below 0x20 (and at times if a neighbour is, which costs only a closer look).
    const low =
      ((a - 0x20202020) & ~a) | ((b - 0x20202020) & ~b) | ((c - 0x20202020) & ~c) | ((d - 0x20202020) & ~d);
    if ((low & 0x80808080) !== 0) inspectRange(bytes, head + index * 4, head + index * 4 + 16, counts);
  }
  inspectRange(bytes, head + whole * 4, head + words.length * 4, counts);
  inspectRange(bytes, head + words.length * 4, bytes.length, counts);
  return {
    bareLineEnds: counts.lineFeeds + counts.returns - 2 * counts.pairs,
    hasHighBytes: (high & 0x80808080) !== 0 || counts.high > 0,
    hasNul: counts.nuls > 0,
    longestLineBytes: Math.max(counts.longest, bytes.length - counts.lineStart),
  };
}

interface Counts {
  lineFeeds: number;
  returns: number;
  pairs: number;
  nuls: number;
  lineStart: number;
  longest: number;
  high: number;
}

function inspectRange(bytes: Buffer, start: number, end: number, counts: Counts): void {
  for (let index = start; index < end; index++) {
    const byte = bytes[index] as number;
    if (byte === LF) {
      const isPair = index > 0 && bytes[index - 1] === CR;
      counts.lineFeeds++;
      if (isPair) counts.pairs++;
      counts.longest = Math.max(counts.longest, index - counts.lineStart - (isPair ? 1 : 0));
      counts.lineStart = index + 1;
    } else if (byte === CR) counts.returns++;
    else if (byte === 0) counts.nuls++;
    else if (byte > 0x7f) counts.high++;
  }
}
