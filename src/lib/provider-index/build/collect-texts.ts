import type { ByteTexts } from './fold-values.ts';

/** Collects texts as bytes behind one another. */
export interface TextCollector {
  add(text: Uint8Array): void;
  finish(): ByteTexts;
}

export function createTextCollector(): TextCollector {
  let bytes = new Uint8Array(1024);
  const offsets = [0];
  let length = 0;
  return {
    add(text) {
      if (length + text.length > bytes.length) {
        const larger = new Uint8Array((length + text.length) * 2);
        larger.set(bytes.subarray(0, length));
        bytes = larger;
      }
      bytes.set(text, length);
      offsets.push((length += text.length));
    },
    finish: () => ({
      bytes: bytes.subarray(0, length),
      offsets: Uint32Array.from(offsets),
      count: offsets.length - 1,
    }),
  };
}
