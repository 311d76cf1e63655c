import type { ByteTexts } from './fold-values.ts';

/**
 * Gives every distinct text a number, keeping the UTF-8 bytes in one growing buffer instead of in JavaScript
 * strings.
 */
export interface ValueInterner {
  /**
   * Puts the numbers of the first `count` texts into `numbers`, counted from 0 in order of first appearance.
   * Text `n` is in `source` from `spans[2n]` up to `spans[2n + 1]`; there are at most {@link batchSize}.
   */
  intern(source: Uint8Array, spans: Uint32Array, count: number, numbers: Uint32Array): void;
  /** The texts by number. Nothing can be interned afterwards: the memory for finding them is given back. */
  finish(): ByteTexts;
}

/** Texts that are interned at once. */
export const batchSize = 512;
const firstSlots = 1 << 10;

export function createValueInterner(): ValueInterner {
  let bytes: Uint8Array = new Uint8Array(1 << 14);
  let offsets = new Uint32Array(1 << 10);
  // Open addressing; a slot holds a hash and the value's number plus one, zero when free, side by side in
  // memory.
  let slots = new Uint32Array(firstSlots * 2);
  let mask = firstSlots - 1;
  let count = 0;

  function equals(value: number, source: Uint8Array, from: number, to: number): boolean {
    const start = offsets[value] as number;
    if ((offsets[value + 1] as number) - start !== to - from) return false;
    const shift = start - from;
    for (let at = from; at < to; at++) if (bytes[at + shift] !== source[at]) return false;
    return true;
  }

  function append(source: Uint8Array, from: number, to: number): void {
    const start = offsets[count] as number;
    const end = start + to - from;
    if (end > bytes.length) bytes = grow(bytes, end);
    const shift = start - from;
    for (let at = from; at < to; at++) bytes[at + shift] = source[at] as number;
    offsets[++count] = end;
  }

  function enlarge(): void {
    if (count + 2 > offsets.length) offsets = copyInto(new Uint32Array(offsets.length * 2), offsets);
    if (count * 4 < slots.length) return;
    const old = slots;
    slots = new Uint32Array(old.length * 2);
    mask = slots.length / 2 - 1;
    for (let from = 0; from < old.length; from += 2) {
      if (old[from + 1] === 0) continue;
      let slot = (old[from] as number) & mask;
      while (slots[slot * 2 + 1] !== 0) slot = (slot + 1) & mask;
      slots[slot * 2] = old[from] as number;
      slots[slot * 2 + 1] = old[from + 1] as number;
    }
  }

  const hashes = new Uint32Array(batchSize);

  // A table is larger than the processor's cache. This loop only reads the slots that the next loop needs;
  // its reads do not depend on each other, so many of them are in progress at once.
  function fetch(length: number): void {
    let touched = 0;
    for (let index = 0; index < length; index++) {
      const held = slots[((hashes[index] as number) & mask) * 2 + 1] as number;
      const value = held === 0 ? 0 : held - 1;
      touched ^= bytes[offsets[value] as number] as number;
    }
    // The compiler would remove a read whose result is not used.
    used[0] = touched;
  }

  function internOne(source: Uint8Array, from: number, to: number, hash: number): number {
    let slot = hash & mask;
    for (let held = slots[slot * 2 + 1] as number; held !== 0; held = slots[slot * 2 + 1] as number) {
      if (slots[slot * 2] === hash && equals(held - 1, source, from, to)) return held - 1;
      slot = (slot + 1) & mask;
    }
    slots[slot * 2] = hash;
    slots[slot * 2 + 1] = count + 1;
    append(source, from, to);
    enlarge();
    return count - 1;
  }

  return {
    intern(source, spans, length, numbers) {
      for (let index = 0; index < length; index++)
        hashes[index] = hashOf(source, spans[index * 2] as number, spans[index * 2 + 1] as number);
      fetch(length);
      for (let index = 0; index < length; index++) {
        const [from, to] = [spans[index * 2] as number, spans[index * 2 + 1] as number];
        numbers[index] = internOne(source, from, to, hashes[index] as number);
      }
    },
    finish() {
      const texts = { bytes, offsets, count };
      slots = new Uint32Array(0);
      [bytes, offsets] = [new Uint8Array(0), slots];
      return texts;
    },
  };
}

const used = new Uint8Array(1);

// FNV-1a with a final mix, so that the low bits depend on every byte.
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let index = start; index < end; index++) hash = Math.imul(hash ^ (bytes[index] as number), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}

function grow(bytes: Uint8Array, needed: number): Uint8Array {
  const grown = new Uint8Array(Math.max(needed, bytes.length * 2));
  grown.set(bytes);
  return grown;
}

function copyInto(target: Uint32Array<ArrayBuffer>, source: Uint32Array): Uint32Array<ArrayBuffer> {
  target.set(source);
  return target;
}
