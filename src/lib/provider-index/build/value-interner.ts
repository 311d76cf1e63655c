/** Gives every distinct text a number, keeping the UTF-8 bytes in one growing buffer instead of in JavaScript strings. */
export interface ValueInterner {
  /** The number of the text from `from` up to `to`, counted from 0 in order of first appearance. */
  intern(text: string, from: number, to: number): number;
  readonly count: number;
  /** The bytes of value `n` are `bytes[offsets[n]]` up to `bytes[offsets[n + 1]]`. */
  readonly bytes: Uint8Array;
  readonly offsets: Uint32Array;
}

const encoder = new TextEncoder();
const firstSlots = 1 << 10;

export function createValueInterner(): ValueInterner {
  let bytes: Uint8Array = new Uint8Array(1 << 14);
  let offsets = new Uint32Array(1 << 10);
  // Open addressing; a slot holds a hash and the value's number plus one, zero when free, side by side in memory.
  let slots = new Uint32Array(firstSlots * 2);
  let count = 0;

  // Writes the text behind the last value and returns where it ends.
  function append(text: string, from: number, to: number): number {
    const start = offsets[count] as number;
    const needed = start + (to - from) * 3;
    if (needed > bytes.length) bytes = grow(bytes, needed);
    const target = bytes;
    for (let index = from; index < to; index++) {
      const unit = text.charCodeAt(index);
      if (unit > 0x7f)
        return start + encoder.encodeInto(text.slice(from, to), target.subarray(start)).written;
      target[start + index - from] = unit;
    }
    return start + to - from;
  }

  function equals(value: number, start: number, length: number): boolean {
    const other = offsets[value] as number;
    if ((offsets[value + 1] as number) - other !== length) return false;
    for (let index = 0; index < length; index++)
      if (bytes[other + index] !== bytes[start + index]) return false;
    return true;
  }

  function enlarge(): void {
    if (count + 2 > offsets.length) offsets = copyInto(new Uint32Array(offsets.length * 2), offsets);
    if (count * 4 < slots.length) return;
    const old = slots;
    slots = new Uint32Array(old.length * 2);
    const mask = slots.length / 2 - 1;
    for (let from = 0; from < old.length; from += 2) {
      if (old[from + 1] === 0) continue;
      let slot = (old[from] as number) & mask;
      while (slots[slot * 2 + 1] !== 0) slot = (slot + 1) & mask;
      slots[slot * 2] = old[from] as number;
      slots[slot * 2 + 1] = old[from + 1] as number;
    }
  }

  return {
    intern(text, from, to) {
      const start = offsets[count] as number;
      const end = append(text, from, to);
      const hash = hashOf(bytes, start, end);
      const mask = slots.length / 2 - 1;
      let slot = hash & mask;
      for (let held = slots[slot * 2 + 1] as number; held !== 0; held = slots[slot * 2 + 1] as number) {
        if (slots[slot * 2] === hash && equals(held - 1, start, end - start)) return held - 1;
        slot = (slot + 1) & mask;
      }
      slots[slot * 2] = hash;
      slots[slot * 2 + 1] = count + 1;
      offsets[count + 1] = end;
      count++;
      enlarge();
      return count - 1;
    },
    get count() {
      return count;
    },
    get bytes() {
      return bytes;
    },
    get offsets() {
      return offsets;
    },
  };
}

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
