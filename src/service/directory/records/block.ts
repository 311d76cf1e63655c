import type { IndexBuilder } from '../../../lib/provider-index/index.ts';
import { textFields } from '../../../lib/provider-record/index.ts';
import { recordLayout } from './record-line.ts';
import { promisify } from 'node:util';
import { zstdCompress, zstdCompressSync, zstdDecompressSync, constants } from 'node:zlib';
import { viewAsBuffer } from '../../../core/index.ts';

/**
 * A block of records as it is stored. `keys` has 16 bytes an entry, little-endian: key hash low and high,
 * record id (0 for a removal), check sum of the content. `records` is the version of its lines in one byte,
 * then zstd-compressed UTF-8: one line an entry (an empty one for a removal; see record-line.ts).
 */
export interface Block {
  readonly keys: Uint8Array;
  readonly records: Uint8Array;
  readonly recordCount: number;
  /** The lines before compression, while they are in memory. */
  readonly lines?: Uint8Array;
  /**
   * Time of the last change of each entry's record: seconds since 1970, 0 if with its load. Absent if all
   * changed with it.
   */
  readonly changed?: Uint32Array;
}

const entryLength = 16;
const tab = 0x09;
const lineFeed = 0x0a;
const compress = promisify(zstdCompress);
// A block is compressed in one piece: each piece of output wakes a thread and waits for its answer.
const zstdOptions = { chunkSize: 1 << 19, params: { [constants.ZSTD_c_compressionLevel]: 1 } };

/** Collects entries until a block is full. */
export class BlockWriter {
  readonly #keys: Uint32Array;
  /** Of the entries so far, with a line feed after each: texts would outlive a collection of garbage. */
  #lines = Buffer.allocUnsafeSlow(1 << 20);
  #end = 0;
  #count = 0;
  #changed: Uint32Array | undefined;
  readonly capacity: number;

  constructor(capacity: number) {
    this.capacity = capacity;
    this.#keys = new Uint32Array(capacity * 4);
  }

  get count(): number {
    return this.#count;
  }

  get isFull(): boolean {
    return this.#count >= this.capacity;
  }

  add(low: number, high: number, id: number, sum: number, line: string, changedAt = 0): void {
    if (changedAt > 0) (this.#changed ??= new Uint32Array(this.capacity))[this.#count] = changedAt;
    const at = this.#count++ * 4;
    this.#keys[at] = low;
    this.#keys[at + 1] = high;
    this.#keys[at + 2] = id;
    this.#keys[at + 3] = sum;
    // A UTF-16 unit takes up to three bytes.
    const most = this.#end + line.length * 3 + 1;
    if (most > this.#lines.length) {
      const larger = Buffer.allocUnsafeSlow(most * 2);
      this.#lines.copy(larger, 0, 0, this.#end);
      this.#lines = larger;
    }
    this.#end += this.#lines.write(line, this.#end);
    this.#lines[this.#end++] = lineFeed;
  }

  /** The block so far, or undefined if there is nothing in it; the writer is empty afterwards. */
  take(): Block | undefined {
    if (this.#count === 0) return undefined;
    const open = this.#takeOpen();
    return { ...open, records: recordsOf(zstdCompressSync(open.lines, zstdOptions)) };
  }

  /** The same, of at least one entry, compressed in a thread. */
  async takeLater(): Promise<Block> {
    const open = this.#takeOpen();
    return { ...open, records: recordsOf(await compress(open.lines, zstdOptions)) };
  }

  #takeOpen() {
    const recordCount = this.#count;
    const keys = new Uint8Array(this.#keys.buffer.slice(0, recordCount * entryLength));
    const lines = new Uint8Array(this.#lines.subarray(0, this.#end - 1));
    const changed = this.#changed?.slice(0, recordCount);
    this.#end = 0;
    this.#count = 0;
    this.#changed = undefined;
    return { keys, recordCount, lines, ...(changed && { changed }) };
  }
}

function recordsOf(compressed: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.of(recordLayout.version), compressed]);
}

/** The keys of a block as numbers: hash low, hash high, id, check sum, again and again. */
export function readKeys({ keys, recordCount }: Pick<Block, 'keys' | 'recordCount'>): Uint32Array {
  const aligned = keys.byteOffset % Uint32Array.BYTES_PER_ELEMENT === 0 ? keys : Uint8Array.from(keys);
  return new Uint32Array(aligned.buffer, aligned.byteOffset, recordCount * 4);
}

/** The lines of a block in the present version, one an entry. */
export function readLines(block: Pick<Block, 'records'>, layout = recordLayout): string[] {
  return viewAsBuffer(readLineBytes(block, layout)).toString().split('\n');
}

/** The same as bytes, with a line feed between the lines. */
function readLineBytes({ records }: Pick<Block, 'records'>, layout = recordLayout): Uint8Array {
  const version = records[0] as number;
  const bytes = zstdDecompressSync(records.subarray(1));
  if (version === layout.version) return bytes;
  const lines = bytes.toString().split('\n');
  return Buffer.from(lines.map((line) => layout.upgrade(line, version)).join('\n'));
}

/** Puts the records of a block into an index, apart from the entries to be skipped. Returns how many. */
export function addEntries(
  builder: Pick<IndexBuilder, 'addBytes'>,
  block: Block & { readonly skip?: Uint8Array },
): number {
  const keys = readKeys(block);
  const lines = block.lines ?? readLineBytes(block);
  const spans = new Uint32Array(valueCount * 2);
  let count = 0;
  let start = 0;
  for (let entry = 0; entry < block.recordCount; entry++) {
    const end = spanValues(lines, start, spans);
    const id = keys[entry * 4 + 2] as number;
    if (id !== 0 && block.skip?.[entry] !== 1) {
      builder.addBytes(id, lines, spans, block.changed?.[entry]);
      count++;
    }
    start = end + 1;
  }
  return count;
}

// Finds the values of the line that begins at `start`; returns where it ends.
function spanValues(bytes: Uint8Array, start: number, spans: Uint32Array): number {
  spans[0] = start;
  let next = 1;
  let at = start;
  for (; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    if (byte > tab + 1) continue;
    if (byte === lineFeed) break;
    if (byte !== tab) continue;
    spans[next] = at;
    spans[next + 1] = at + 1;
    next += 2;
  }
  spans.fill(at, next);
  return at;
}

// Its texts, latitude and longitude.
const valueCount = textFields.length + 2;
