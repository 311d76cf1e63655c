import { zstdCompressSync, zstdDecompressSync, constants } from 'node:zlib';
import { viewAsBuffer } from '../../../core/index.ts';
import type { ProviderRecord } from '../../../lib/provider-index/index.ts';

/**
 * A block of records as it is stored. `keys` has 16 bytes an entry, little-endian: key hash low and high, record id
 * (0 for a removal), check sum of the content. `records` is zstd-compressed UTF-8: one line an entry (an empty one for
 * a removal), fields separated by tabs in the order of `textFields`, then latitude and longitude, empty if unknown.
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
    const records = zstdCompressSync(Buffer.from(this.#lines.join('\n')), zstdOptions);
    this.#lines.length = 0;
    return { keys, records, recordCount };
  }
}

/** The keys of a block as numbers: hash low, hash high, id, check sum, again and again. */
export function readKeys({ keys, recordCount }: Pick<Block, 'keys' | 'recordCount'>): Uint32Array {
  const aligned = keys.byteOffset % Uint32Array.BYTES_PER_ELEMENT === 0 ? keys : Uint8Array.from(keys);
  return new Uint32Array(aligned.buffer, aligned.byteOffset, recordCount * 4);
}

/** The lines of a block, one an entry. */
export function readLines(block: Block): string[] {
  return viewAsBuffer(zstdDecompressSync(block.records)).toString().split('\n');
}

/** The record that a line stands for. The fields are spelled out, because this runs once for each of millions of rows. */
export function readRecord(id: number, line: string): ProviderRecord {
  const parts = line.split('\t');
  const text = {
    id,
    npi: parts[0] ?? '',
    firstName: parts[1] ?? '',
    middleName: parts[2] ?? '',
    lastName: parts[3] ?? '',
    suffix: parts[4] ?? '',
    directAddress: parts[5] ?? '',
    organization: parts[6] ?? '',
    specialty: parts[7] ?? '',
    street: parts[8] ?? '',
    city: parts[9] ?? '',
    state: parts[10] ?? '',
    zip: parts[11] ?? '',
    phone: parts[12] ?? '',
  } satisfies ProviderRecord;
  const latitude = parts[13] ?? '';
  if (latitude === '') return text;
  const record: ProviderRecord & { latitude?: number; longitude?: number } = text;
  record.latitude = Number(latitude);
  record.longitude = Number(parts[14]);
  return record;
}
