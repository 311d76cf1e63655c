import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';

/**
 * The sources of each record of a merged block: 32 bits per record, bit n for the source whose `bit` is n.
 * Stored as the version of this form in one byte, then zstd-compressed little-endian numbers, one an entry.
 */
const version = 1;

export function packMasks(masks: readonly number[]): Uint8Array {
  return Buffer.concat([
    Buffer.of(version),
    zstdCompressSync(new Uint8Array(Uint32Array.from(masks).buffer)),
  ]);
}

export function unpackMasks(packed: Uint8Array): Uint32Array {
  if (packed[0] !== version)
    throw new TypeError(`The sources of a block have version ${packed[0]}, this program reads ${version}.`);
  const bytes = Uint8Array.from(zstdDecompressSync(packed.subarray(1)));
  return new Uint32Array(bytes.buffer);
}

/** The mask of one source. */
export function maskOf(bit: number): number {
  return (1 << bit) >>> 0;
}
