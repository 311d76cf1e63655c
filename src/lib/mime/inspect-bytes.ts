import { isAscii } from 'node:buffer';
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
 * Looks at every byte once. Four bytes at a time are skipped if none of them is a control character, which makes this
 * several times faster than a plain loop; the messages that pass here have 25 MB.
 */
export function inspectBytes(input: Uint8Array): ByteTraits {
  const bytes = viewAsBuffer(input);
  const { length } = bytes;
  const head = Math.min((4 - (bytes.byteOffset % 4)) % 4, length);
  const words = readWords(bytes, head);
  let bareLineEnds = 0;
  let nuls = 0;
  let lineStart = 0;
  let longest = 0;
  let previous = 0;
  let word = 0;
  let index = 0;
  let end = head;
  // First the bytes before the first whole word, then each word that holds a control character, at last the rest.
  for (;;) {
    for (; index < end; index++) {
      const byte = bytes[index] as number;
      if (byte === LF) {
        const isPair = previous === index && index > 0;
        // A CR was counted as bare when it was seen.
        bareLineEnds += isPair ? -1 : 1;
        const lineBytes = index - lineStart - (isPair ? 1 : 0);
        if (lineBytes > longest) longest = lineBytes;
        lineStart = index + 1;
      } else if (byte === CR) {
        bareLineEnds++;
        previous = index + 1;
      } else if (byte === 0) nuls++;
    }
    if (end === length) break;
    for (; word < words.length; word++) {
      const four = words[word] as number;
      // True if any of the bytes is below 0x20 (and at times if a neighbour is, which costs only a closer look).
      if (((four - 0x20202020) & ~four & 0x80808080) !== 0) break;
    }
    index = head + word * 4;
    end = word < words.length ? index + 4 : length;
    word++;
  }
  return {
    bareLineEnds,
    hasHighBytes: !isAscii(bytes),
    hasNul: nuls > 0,
    longestLineBytes: Math.max(longest, length - lineStart),
  };
}

function readWords(bytes: Buffer, head: number): Int32Array {
  const count = (bytes.length - head) >> 2;
  return count > 0 ? new Int32Array(bytes.buffer, bytes.byteOffset + head, count) : new Int32Array(0);
}
