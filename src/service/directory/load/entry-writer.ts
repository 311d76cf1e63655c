import { blockRecordCount } from '../limits.ts';
import { reserveIds, storeBlocks, type BegunLoad } from '../store/loads.ts';
import { seedOf } from '../store/provisioned.ts';
import type { LoadKind } from '../store/tables.ts';
import { BlockWriter, type Block } from '../records/block.ts';
import { createRowChecker, type RowChecker } from './check-row.ts';
import type { ImportContext } from './context.ts';
import type { CsvRow } from './csv-reader.ts';
import { hashText, type TextHash } from '../records/hash-text.ts';
import type { KeyTable } from '../records/key-table.ts';
import type { InputPlan } from './plan-input.ts';
import type { ReportBuilder } from './quality-report.ts';
import type { RefusalReason, RowDraft } from './row.ts';

export interface EntryWriterOptions {
  readonly context: ImportContext;
  readonly load: BegunLoad;
  readonly plan: InputPlan;
  readonly kind: LoadKind;
  readonly report: ReportBuilder;
  /** Hears of every block after it is stored. */
  readonly onBlock?: ((block: Block) => Promise<void>) | undefined;
}

/** Ids are reserved in portions; what is left over at the end goes back. */
const idsPerReservation = 65_536;
/** One row stands for at most so many records, so that it never runs out of ids in between. */
const spareIds = 1024;
/** Blocks stored at once: one wait for the disk instead of several. */
const blocksPerTransaction = 4;

/** Turns checked rows into entries of blocks and keeps count of what they change. */
export class EntryWriter {
  readonly #options: EntryWriterOptions;
  readonly #known: KeyTable;
  readonly #checker: RowChecker;
  readonly #writer = new BlockWriter(blockRecordCount);
  readonly #seed: { readonly low: number; readonly high: number };
  readonly #hash: TextHash = { low: 0, high: 0 };
  readonly #sum: TextHash = { low: 0, high: 0 };
  readonly #waiting: Block[] = [];
  #nextId = 0;
  #endId = 0;
  readonly knownCount: number;
  /** Known records that the file names. */
  metCount = 0;
  blockCount = 0;
  entryCount = 0;

  constructor(options: EntryWriterOptions, known: KeyTable) {
    this.#options = options;
    this.#known = known;
    this.knownCount = known.size;
    this.#seed = seedOf(options.load.secret);
    this.#checker = createRowChecker(options.context.gazetteer, (reason, line) =>
      options.report.warn(reason, line),
    );
  }

  get unusedIds(): { readonly first: number; readonly end: number } {
    return { first: this.#nextId, end: this.#endId };
  }

  /** True when ids run out or enough blocks wait; then `settle` must be called before the next row. */
  get isDue(): boolean {
    return this.#endId - this.#nextId < spareIds || this.#waiting.length >= blocksPerTransaction;
  }

  addRow(row: CsvRow): void {
    const { plan, report } = this.#options;
    const drafts = plan.format.read(row.fields, row.line);
    if (drafts.length === 0) report.passedOver++;
    for (const draft of drafts) {
      const refusal = isRemoval(draft) ? this.#remove(draft) : this.#put(draft);
      if (refusal !== undefined) report.refuse(refusal, draft.line);
    }
  }

  /** Stores what waits, and reserves more ids if they run out. */
  async settle(): Promise<void> {
    await this.#store();
    if (this.#endId - this.#nextId >= spareIds) return;
    // The rest of the old range is given up only when others have taken ids in between.
    const first = await reserveIds(this.#options.context.storage, idsPerReservation);
    if (first !== this.#endId) this.#nextId = first;
    this.#endId = first + idsPerReservation;
  }

  async flush(): Promise<void> {
    this.#closeBlock();
    await this.#store();
  }

  #closeBlock(): void {
    const block = this.#writer.take();
    if (block !== undefined) this.#waiting.push(block);
  }

  async #store(): Promise<void> {
    const blocks = this.#waiting.splice(0);
    if (blocks.length === 0) return;
    const { context, load, onBlock } = this.#options;
    await storeBlocks(context.storage, context.clock, load.id, this.blockCount, blocks);
    this.blockCount += blocks.length;
    for (const block of blocks) {
      this.entryCount += block.recordCount;
      await onBlock?.(block);
    }
  }

  #put(draft: RowDraft): RefusalReason | undefined {
    if (!putActions.has(draft.action)) return 'action_unknown';
    const checked = this.#checker.check(draft);
    if (typeof checked === 'string') return checked;
    const { low: seedLow, high: seedHigh } = this.#seed;
    hashText(checked.key, seedLow, seedHigh, this.#hash);
    hashText(checked.line, seedLow, seedHigh, this.#sum);
    const { report } = this.#options;
    const { low, high } = this.#hash;
    const sum = this.#sum.low;
    const slot = this.#known.find(low, high);
    if (slot < 0) {
      const id = this.#nextId++;
      this.#known.add(low, high, id, sum, true);
      this.#addEntry(id, sum, checked.line);
      report.added++;
      return undefined;
    }
    if (this.#known.isSeenAt(slot)) return 'duplicate';
    this.#known.markSeen(slot);
    this.metCount++;
    if (this.#known.sumAt(slot) === sum) report.unchanged++;
    else report.changed++;
    this.#addEntry(this.#known.idAt(slot), sum, checked.line);
    return undefined;
  }

  /** Under the key that was hashed last. */
  #addEntry(id: number, sum: number, line: string): void {
    this.#writer.add(this.#hash.low, this.#hash.high, id, sum, line);
    if (this.#writer.isFull) this.#closeBlock();
  }

  #remove(draft: RowDraft): RefusalReason | undefined {
    if (this.#options.kind === 'full') return this.#passOverRemoval();
    hashText(this.#checker.keyOf(draft), this.#seed.low, this.#seed.high, this.#hash);
    const { low, high } = this.#hash;
    const slot = this.#known.find(low, high);
    if (slot < 0) return 'removal_unknown';
    if (this.#known.isSeenAt(slot)) return 'duplicate';
    this.#known.markSeen(slot);
    this.#addRemoval(low, high);
    return undefined;
  }

  removeUnlessMet(low: number, high: number): void {
    const slot = this.#known.find(low, high);
    if (slot < 0 || this.#known.isSeenAt(slot)) return;
    this.#known.markSeen(slot);
    this.#addRemoval(low, high);
  }

  #addRemoval(low: number, high: number): void {
    this.#writer.add(low, high, 0, 0, '');
    this.#options.report.removed++;
    if (this.#writer.isFull) this.#closeBlock();
  }

  /** NPPES names deactivated providers in its full file too, where leaving them out is all there is to do. */
  #passOverRemoval(): RefusalReason | undefined {
    if (this.#options.plan.format.name !== 'nppes') return 'removal_in_full_load';
    this.#options.report.passedOver++;
    return undefined;
  }
}

const putActions: ReadonlySet<string> = new Set(['', 'add', 'change', 'update', 'upsert']);

function isRemoval(draft: RowDraft): boolean {
  return draft.action === 'remove' || draft.action === 'delete';
}
