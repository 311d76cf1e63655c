import type { IndexBuilder } from '../../../lib/provider-index/index.ts';
import { textFields } from '../../../lib/provider-record/index.ts';
import { recordLayout } from './record-line.ts';
import { zstdCompressSync, zstdDecompressSync, constants } from 'node:zlib';
import { viewAsBuffer } from '../../../core/index.ts';

/**
 * A block of records as it is stored. `keys` has 16 bytes an entry, little-endian: key hash low and high, record id
 * (0 for a removal), check sum of the content. `records` is the version of its lines in one byte, then zstd-compressed
 * UTF-8: one line an entry (an empty one for a removal; see record-line.ts).
 */
export interface Block {
  readonly keys: Uint8Array;
  readonly records: Uint8Array;
  readonly recordCount: number;
}

const entryLength = 16;
const zstdOptions = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

/** Collects entries until a block is full. */
export class BlockWriter {
  readonly #keys: Uint32Array;
  readonly #lines: string[] = [];
  readonly capacity: number;

  constructor(capacity: number) {
    this.capacity = capacity;
    this.#keys = new Uint32Array(capacity * 4);
  }

  get count(): number {
    return this.#lines.length;
  }

  get isFull(): boolean {
    return this.#lines.length >= this.capacity;
  }

  add(low: number, high: number, id: number, sum: number, line: string): void {
    const at = this.#lines.length * 4;
    this.#keys[at] = low;
    this.#keys[at + 1] = high;
    this.#keys[at + 2] = id;
    this.#keys[at + 3] = sum;
    this.#lines.push(line);
  }

  /** The block so far, or undefined if there is nothing in it; the writer is empty afterwards. */
  take(): Block | undefined {
    const recordCount = this.#lines.length;
    if (recordCount === 0) return undefined;
    const keys = new Uint8Array(this.#keys.buffer.slice(0, recordCount * entryLength));
    const compressed = zstdCompressSync(Buffer.from(this.#lines.join('\n')), zstdOptions);
    const records = Buffer.concat([Buffer.of(recordLayout.version), compressed]);
    this.#lines.length = 0;
    return { keys, records, recordCount };
  }
}

/** The keys of a block as numbers: hash low, hash high, id, check sum, again and again. */
export function readKeys({ keys, recordCount }: Pick<Block, 'keys' | 'recordCount'>): Uint32Array {
  const aligned = keys.byteOffset % Uint32Array.BYTES_PER_ELEMENT === 0 ? keys : Uint8Array.from(keys);
  return new Uint32Array(aligned.buffer, aligned.byteOffset, recordCount * 4);
}

// Version 1 was stored without its byte. A zstd frame begins with this one.
const zstdMagicByte = 0x28;

/** The lines of a block in the present version, one an entry. */
export function readLines({ records }: Pick<Block, 'records'>, layout = recordLayout): string[] {
  const isMarked = records[0] !== zstdMagicByte;
  const version = isMarked ? (records[0] as number) : 1;
  const text = viewAsBuffer(zstdDecompressSync(isMarked ? records.subarray(1) : records)).toString();
  const lines = text.split('\n');
  return version === layout.version ? lines : lines.map((line) => layout.upgrade(line, version));
}

/** Puts the record that a line stands for into an index. */
export function addLine(builder: Pick<IndexBuilder, 'addTexts'>, id: number, line: string): void {
  const parts = line.split('\t');
  const latitude = parts[fieldCount] ?? '';
  if (latitude === '') builder.addTexts(id, parts);
  else builder.addTexts(id, parts, Number(latitude), Number(parts[fieldCount + 1]));
}

const fieldCount = textFields.length;
