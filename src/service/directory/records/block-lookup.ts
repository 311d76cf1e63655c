import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { viewAsBuffer } from '../../../core/index.ts';

/**
 * The blocks of a load by the hashes of its entries: of the key of each, and of its address and NPI if they
 * are not the key. A hash belongs to a bucket by its highest bits; the bucket has the lowest 16 bits of each
 * hash and the number of its block, about 2.3 bytes together. Another hash with the same bits leads to a
 * block in vain: one in ten lookups.
 */
export class BlockLookup {
  /** Low halves of the hashes in the order of the blocks. */
  #hashes = new Uint32Array(8192);
  #count = 0;
  /** End of each block's hashes. */
  readonly #ends: number[] = [];

  get blockCount(): number {
    return this.#ends.length;
  }

  /** Adds the low half of a hash to the block that is open. */
  add(low: number): void {
    if (this.#count === this.#hashes.length) {
      const larger = new Uint32Array(this.#count * 2);
      larger.set(this.#hashes);
      this.#hashes = larger;
    }
    this.#hashes[this.#count++] = low;
  }

  endBlock(): void {
    this.#ends.push(this.#count);
  }

  /**
   * The buckets in their order; none if a scan of the blocks is as fast, or the blocks are too many for their
   * 16 bits.
   */
  *pack(): Generator<Uint8Array> {
    const { blockCount } = this;
    if (!hasLookup(blockCount)) return;
    const shift = shiftOf(blockCount);
    const starts = new Uint32Array(bucketCountOf(blockCount) + 1);
    for (let at = 0; at < this.#count; at++) {
      const next = bucketOf(this.#hashes[at] as number, shift) + 1;
      starts[next] = (starts[next] as number) + 1;
    }
    for (let bucket = 1; bucket < starts.length; bucket++)
      starts[bucket] = (starts[bucket] as number) + (starts[bucket - 1] as number);
    const { marks, blocks } = this.#sort(starts, shift);
    for (let bucket = 0; bucket < starts.length - 1; bucket++)
      yield packBucket(marks, blocks, starts[bucket] as number, starts[bucket + 1] as number);
  }

  /** Stable, so that the blocks of a bucket ascend. */
  #sort(starts: Uint32Array, shift: number): { marks: Uint16Array; blocks: Uint16Array } {
    const marks = new Uint16Array(this.#count);
    const blocks = new Uint16Array(this.#count);
    const next = starts.slice();
    for (let block = 0, at = 0; block < this.#ends.length; block++) {
      for (const end = this.#ends[block] as number; at < end; at++) {
        const hash = this.#hashes[at] as number;
        const bucket = bucketOf(hash, shift);
        const to = next[bucket] as number;
        next[bucket] = to + 1;
        marks[to] = hash;
        blocks[to] = block;
      }
    }
    return { marks, blocks };
  }
}

const maxBlocks = 65_536;
const zstdOptions = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

/** False for loads whose blocks are read instead. */
export function hasLookup(blockCount: number): boolean {
  return blockCount > 1 && blockCount <= maxBlocks;
}

/** The bucket of a hash in a load of so many blocks. */
export function findBucket(low: number, blockCount: number): number {
  return bucketOf(low, shiftOf(blockCount));
}

/** The blocks of a bucket that may have an entry of the hash, in ascending order. */
export function readBucket(places: Uint8Array, low: number): number[] {
  const bytes = viewAsBuffer(places);
  const count = bytes.readUInt32LE(0);
  const packed = zstdDecompressSync(bytes.subarray(4 + count * 2));
  const mark = low & 0xffff;
  const found: number[] = [];
  let block = 0;
  for (let at = 0; at < count; at++) {
    block += packed.readUInt16LE(at * 2);
    if (bytes.readUInt16LE(4 + at * 2) === mark && found.at(-1) !== block) found.push(block);
  }
  return found;
}

/** The number of marks, the marks, and the compressed steps from block to block, little-endian. */
function packBucket(marks: Uint16Array, blocks: Uint16Array, start: number, end: number): Uint8Array {
  const count = end - start;
  const head = Buffer.alloc(4 + count * 2);
  head.writeUInt32LE(count, 0);
  const steps = Buffer.alloc(count * 2);
  let before = 0;
  for (let at = 0; at < count; at++) {
    head.writeUInt16LE(marks[start + at] as number, 4 + at * 2);
    const block = blocks[start + at] as number;
    steps.writeUInt16LE(block - before, at * 2);
    before = block;
  }
  return Buffer.concat([head, zstdCompressSync(steps, zstdOptions)]);
}

// One bucket for one to two blocks: about 16 kB.
function bucketCountOf(blockCount: number): number {
  return 2 ** (32 - shiftOf(blockCount));
}

function shiftOf(blockCount: number): number {
  return 33 - Math.max(1, Math.ceil(Math.log2(blockCount)));
}

// A shift by 32 would be one by 0.
function bucketOf(low: number, shift: number): number {
  return shift === 32 ? 0 : low >>> shift;
}
