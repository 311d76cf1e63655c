import { combine, hashBytes, type MutableHash } from './distinct/entity-hash.ts';
import type { AddressList, EntitySeed } from './types.ts';

/**
 * Numbers for Direct addresses, the same for every index: 0, 1, 2 … in the order in which they are first
 * asked for. About 20 bytes per address, since addresses are told apart by a seeded hash of 64 bits: among
 * ten million, two have the same one with a probability of one in 370,000.
 */
export interface AddressSlots {
  /** Addresses that have a number. */
  readonly size: number;
  /** Of an address in lower case. */
  slotOf(address: string): number;
  /** Of the addresses of rows, from `from` on, one for each place of `slots`. */
  putSlots(addresses: AddressList, from: number, slots: Uint32Array): void;
  /** Makes room for so many addresses in all: until there are more, adding one never moves the others. */
  reserve(count: number): void;
}

/** The seed is secret, so that nobody can provoke equal hashes. */
export function createAddressSlots(seed: EntitySeed): AddressSlots {
  let size = 0;
  // By slot: the low and the high half of the hash.
  let hashes = new Uint32Array(firstCapacity);
  // Open addressing: 0 or a slot plus one. At most half of it is used.
  let table = new Uint32Array(firstCapacity);
  let mask = firstCapacity - 1;
  const hash: MutableHash = { low: 0, high: 0 };
  let rowHashes = new Uint32Array(0);

  function enlarge(capacity: number): void {
    const before = hashes;
    hashes = new Uint32Array(capacity);
    hashes.set(before.subarray(0, size * 2));
    table = new Uint32Array(capacity);
    mask = capacity - 1;
    for (let slot = 0; slot < size; slot++) {
      let at = (hashes[slot * 2] as number) & mask;
      while (table[at] !== 0) at = (at + 1) & mask;
      table[at] = slot + 1;
    }
  }

  function find(low: number, high: number): number {
    let at = low & mask;
    for (let entry = table[at] as number; entry !== 0; entry = table[at] as number) {
      if (hashes[entry * 2 - 2] === low && hashes[entry * 2 - 1] === high) return entry - 1;
      at = (at + 1) & mask;
    }
    if ((size + 1) * 2 > table.length) {
      enlarge(table.length * 2);
      return find(low, high);
    }
    const slot = size++;
    hashes[slot * 2] = low;
    hashes[slot * 2 + 1] = high;
    table[at] = slot + 1;
    return slot;
  }

  return {
    get size() {
      return size;
    },
    slotOf(address) {
      hashAddress(address, seed, hash);
      return find(hash.low, hash.high);
    },
    putSlots(addresses, from, slots) {
      if (rowHashes.length < slots.length * 2) rowHashes = new Uint32Array(slots.length * 2);
      addresses.putHashes(from, seed, rowHashes.subarray(0, slots.length * 2));
      for (let at = 0; at < slots.length; at++)
        slots[at] = find(rowHashes[at * 2] as number, rowHashes[at * 2 + 1] as number);
    },
    reserve(count) {
      const capacity = 2 ** Math.ceil(Math.log2(Math.max(count, 1) * 2));
      if (capacity > table.length) enlarge(capacity);
    },
  };
}

const firstCapacity = 2048;

/** As `AddressList.putHashes` hashes it in two parts: up to its first `@`, and behind it. */
function hashAddress(address: string, seed: EntitySeed, out: MutableHash): void {
  const bytes = Buffer.from(address);
  const split = bytes.indexOf(0x40) + 1 || bytes.length;
  hashParts([bytes.subarray(0, split), bytes.subarray(split)], seed, out);
}

function hashParts(parts: readonly Uint8Array[], seed: EntitySeed, out: MutableHash): void {
  const part: MutableHash = { low: 0, high: 0 };
  out.low = seed.low;
  out.high = seed.high;
  for (const bytes of parts) {
    hashBytes(bytes, bytes.length, seed, part);
    combine(part.low, part.high, out);
  }
}
