import { foldText } from '../../../core/index.ts';

/** Texts as bytes behind one another: text `n` lies from `offsets[n]` to `offsets[n + 1]`. */
export interface ByteTexts {
  readonly bytes: Uint8Array;
  readonly offsets: Uint32Array;
  readonly count: number;
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const encoder = new TextEncoder();

/** The folded form of every text (Decision 0003), in UTF-8. */
export function foldValues({ bytes, offsets, count }: ByteTexts): ByteTexts {
  let folded = new Uint8Array(offsets[count] as number);
  const foldedOffsets = new Uint32Array(count + 1);
  let position = 0;
  for (let value = 0; value < count; value++) {
    const start = offsets[value] as number;
    const end = offsets[value + 1] as number;
    if (position + end - start > folded.length) folded = grow(folded, position + end - start);
    if (foldAscii(bytes, start, end, folded, position)) {
      position += end - start;
    } else {
      const text = encoder.encode(foldText(decoder.decode(bytes.subarray(start, end))));
      // Decomposition can lengthen a text, so the room for the original may not do.
      if (position + text.length > folded.length) folded = grow(folded, position + text.length);
      folded.set(text, position);
      position += text.length;
    }
    foldedOffsets[value + 1] = position;
  }
  return { bytes: folded, offsets: foldedOffsets, count };
}

// False as soon as a byte is not ASCII.
function foldAscii(
  bytes: Uint8Array,
  start: number,
  end: number,
  folded: Uint8Array,
  position: number,
): boolean {
  for (let index = start; index < end; index++) {
    const byte = bytes[index] as number;
    if (byte > 0x7f) return false;
    folded[position + index - start] = byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte;
  }
  return true;
}

function grow(bytes: Uint8Array, needed: number): Uint8Array<ArrayBuffer> {
  const grown = new Uint8Array(Math.ceil(Math.max(needed, bytes.length) * 1.25) + 64);
  grown.set(bytes);
  return grown;
}
