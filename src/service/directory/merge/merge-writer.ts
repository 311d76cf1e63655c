import type { Clock } from '../../../core/index.ts';
import type { Storage } from '../../../platform/index.ts';
import { blockRecordCount } from '../limits.ts';
import { BlockWriter } from '../records/block.ts';
import { hashText } from '../records/hash-text.ts';
import { storeBlocks, type StoredBlock } from '../store/loads.ts';
import type { HashSeed } from '../store/provisioned.ts';
import { packMasks } from './source-masks.ts';

/** One entry of a merge. */
export interface MergedEntry {
  readonly low: number;
  readonly high: number;
  /** 0 for a removal. */
  readonly id: number;
  readonly line: string;
  /** The sources whose values it shows. */
  readonly mask: number;
  /** Time of its last change: seconds since 1970, 0 with the merge. */
  readonly changedAt: number;
}

/** Output of merged entries. */
export interface MergeSink {
  /** Must be followed by `drain` before much more is added. */
  add(entry: MergedEntry): void;
  drain(): Promise<void>;
}

/** Blocks stored at once: one wait for the disk instead of several. */
const blocksPerTransaction = 4;

/** Stores merged entries in the blocks of a load. */
export class MergeWriter implements MergeSink {
  readonly #storage: Storage;
  readonly #clock: Clock;
  readonly #loadId: number;
  readonly #seed: HashSeed;
  readonly #sum = { low: 0, high: 0 };
  readonly #writer = new BlockWriter(blockRecordCount);
  readonly #masks: number[] = [];
  readonly #waiting: StoredBlock[] = [];
  blockCount = 0;
  entryCount = 0;

  constructor(storage: Storage, clock: Clock, loadId: number, seed: HashSeed) {
    this.#storage = storage;
    this.#clock = clock;
    this.#loadId = loadId;
    this.#seed = seed;
  }

  add({ low, high, id, line, mask, changedAt }: MergedEntry): void {
    if (id !== 0) hashText(line, this.#seed.low, this.#seed.high, this.#sum);
    this.#writer.add(low, high, id, id === 0 ? 0 : this.#sum.low, line, changedAt);
    this.#masks.push(mask);
    this.entryCount++;
    if (this.#writer.isFull) this.#closeBlock();
  }

  async drain(): Promise<void> {
    if (this.#waiting.length >= blocksPerTransaction) await this.#store();
  }

  async flush(): Promise<void> {
    this.#closeBlock();
    if (this.#waiting.length > 0) await this.#store();
  }

  #closeBlock(): void {
    const block = this.#writer.take();
    if (block !== undefined) this.#waiting.push({ ...block, sources: packMasks(this.#masks.splice(0)) });
  }

  async #store(): Promise<void> {
    const blocks = this.#waiting.splice(0);
    await storeBlocks(this.#storage, this.#clock, this.#loadId, this.blockCount, blocks);
    this.blockCount += blocks.length;
  }
}
