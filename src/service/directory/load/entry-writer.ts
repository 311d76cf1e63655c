import { blockRecordCount } from '../limits.ts';
import { reserveIds, storeBlocks, type BegunLoad } from '../store/loads.ts';
import { hashAddress, hashKey, seedOf } from '../store/provisioned.ts';
import type { LoadKind } from '../store/tables.ts';
import { AddressBits } from '../records/address-bits.ts';
import { BlockLookup } from '../records/block-lookup.ts';
import { BlockWriter, type Block } from '../records/block.ts';
import { createRowChecker, keyPrefixOf, type RowChecker } from './check-row.ts';
import type { ImportContext } from './context.ts';
import type { CsvRow } from './csv-reader.ts';
import { hashText, type TextHash } from '../records/hash-text.ts';
import type { KeyTable } from '../records/key-table.ts';
import { createPlaceTable } from './place-table.ts';
import type { InputPlan } from './plan-input.ts';
import type { ReportBuilder } from './quality-report.ts';
import type { RefusalReason, RowDraft } from './row.ts';

export interface EntryWriterOptions {
  readonly context: ImportContext;
  readonly load: BegunLoad;
  readonly plan: InputPlan;
  readonly kind: LoadKind;
  readonly report: ReportBuilder;
  /** Called for every block after it is stored. */
  readonly onBlock?: ((block: Block) => Promise<void>) | undefined;
}

/** Ids are reserved in batches; unused ones are returned at the end. */
const idsPerReservation = 65_536;
/** Maximum number of records per row, so that ids cannot run out within a row. */
const spareIds = 1024;
/** Blocks stored at once, while the next one is compressed: one wait for the disk instead of several. */
const blocksPerTransaction = 4;

/** Turns checked rows into entries of blocks and counts their changes. */
export class EntryWriter {
  readonly #options: EntryWriterOptions;
  readonly #known: KeyTable;
  readonly #elsewhere: KeyTable | undefined;
  readonly #checker: RowChecker;
  readonly #writer = new BlockWriter(blockRecordCount);
  readonly #seed: { readonly low: number; readonly high: number };
  readonly #hash: TextHash = { low: 0, high: 0 };
  readonly #sum: TextHash = { low: 0, high: 0 };
  readonly #pair: TextHash = { low: 0, high: 0 };
  /** Addresses of removed records. */
  readonly #bare: AddressBits | undefined;
  /** Time of the last change of the record entered last; 0 if it changes with this load. */
  #changedAt = 0;
  readonly #waiting: Promise<Block>[] = [];
  #storing = Promise.resolve();
  #nextId = 0;
  #endId = 0;
  /** Where the entries are. */
  readonly lookup = new BlockLookup();
  readonly knownCount: number;
  /** Known records that the file names. */
  matchedCount = 0;
  blockCount = 0;
  entryCount = 0;
  /** True if at least one record is identified by a key of the file. */
  hasFileKeys = false;

  /** `elsewhere` has the records of other sources, whose ids new records of the same key take over. */
  constructor(options: EntryWriterOptions, known: KeyTable, elsewhere?: KeyTable) {
    this.#options = options;
    this.#known = known;
    this.#elsewhere = elsewhere;
    this.#bare = elsewhere && new AddressBits(known.size);
    this.knownCount = known.size;
    this.#seed = seedOf(options.load.secret);
    const places = createPlaceTable(options.context.gazetteer);
    const keyPrefix = keyPrefixOf(options.load.source.name);
    this.#checker = createRowChecker(places, (reason, line) => options.report.warn(reason, line), keyPrefix);
  }

  get unusedIds(): { readonly first: number; readonly end: number } {
    return { first: this.#nextId, end: this.#endId };
  }

  /**
   * True if another source has the address of a removed record; a full load removes the records that its file
   * does not name. Rarely true for nothing.
   */
  uncovers(isFull: boolean): boolean {
    if (isFull)
      this.#known.forEachKey((low, _, isSeen) => {
        if (!isSeen) this.#bare?.add(low);
      });
    let found = false;
    this.#elsewhere?.forEachKey((low) => {
      found ||= this.#bare?.has(low) === true;
    });
    return found;
  }

  /** True when ids run out or enough blocks wait; then `drain` must be called before the next row. */
  get isDue(): boolean {
    return this.#endId - this.#nextId < spareIds || this.#waiting.length > blocksPerTransaction;
  }

  addRow(row: CsvRow): void {
    const { plan, report } = this.#options;
    const drafts = plan.format.read(row.fields, row.line);
    if (drafts.length === 0) report.skipped++;
    for (const draft of drafts) {
      const refusal = isRemoval(draft) ? this.#remove(draft) : this.#put(draft);
      if (refusal !== undefined) report.refuse(refusal, draft.line);
    }
  }

  /** Begins to store waiting blocks once earlier ones are stored, and reserves more ids if they run out. */
  async drain(): Promise<void> {
    await this.#storing;
    this.#storing = this.#store(blocksPerTransaction);
    // Met by the next drain or flush; until then it is not an unhandled failure.
    this.#storing.catch(() => {});
    if (this.#endId - this.#nextId >= spareIds) return;
    // The rest of the old range is abandoned only if others have reserved ids in between.
    const first = await reserveIds(this.#options.context.storage, idsPerReservation);
    if (first !== this.#endId) this.#nextId = first;
    this.#endId = first + idsPerReservation;
  }

  async flush(): Promise<void> {
    this.#closeBlock();
    await this.#storing;
    await this.#store(this.#waiting.length);
  }

  #closeBlock(): void {
    if (this.#writer.count === 0) return;
    const block = this.#writer.takeLater();
    // Met when it is stored; until then it is not an unhandled failure.
    block.catch(() => {});
    this.#waiting.push(block);
    this.lookup.endBlock();
  }

  async #store(most: number): Promise<void> {
    const blocks = await Promise.all(this.#waiting.splice(0, most));
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
    const { line, pair } = checked;
    const { low: seedLow, high: seedHigh } = this.#seed;
    hashKey(checked.key, this.#seed, this.#hash);
    hashText(line, seedLow, seedHigh, this.#sum);
    const hasFileKey = checked.key !== pair;
    this.hasFileKeys ||= hasFileKey;
    const id = this.#enterKey();
    if (id === undefined) return 'duplicate';
    const { low, high } = this.#hash;
    this.#writer.add(low, high, id, this.#sum.low, line, this.#changedAt);
    if (this.#options.kind === 'full') this.#options.report.fill(line);
    this.lookup.add(low);
    if (hasFileKey) {
      hashAddress(pair.directAddress, pair.npi, this.#seed, this.#pair);
      this.lookup.add(this.#pair.low);
    }
    if (this.#writer.isFull) this.#closeBlock();
    return undefined;
  }

  /** The id of the record whose key and line were hashed last; undefined if an earlier row had the key. */
  #enterKey(): number | undefined {
    const { report } = this.#options;
    const { low, high } = this.#hash;
    const sum = this.#sum.low;
    const slot = this.#known.find(low, high);
    this.#changedAt = 0;
    if (slot < 0) {
      const id = this.#findElsewhere(low, high) ?? this.#nextId++;
      this.#known.add(low, high, id, sum, true);
      report.added++;
      return id;
    }
    if (this.#known.isSeenAt(slot)) return undefined;
    this.#known.markSeen(slot);
    this.matchedCount++;
    if (this.#known.sumAt(slot) === sum) {
      report.unchanged++;
      this.#changedAt = this.#known.changedAt(slot);
    } else report.changed++;
    return this.#known.idAt(slot);
  }

  #findElsewhere(low: number, high: number): number | undefined {
    const slot = this.#elsewhere?.find(low, high) ?? -1;
    return slot < 0 ? undefined : this.#elsewhere?.idAt(slot);
  }

  #remove(draft: RowDraft): RefusalReason | undefined {
    if (this.#options.kind === 'full') return this.#skipRemoval();
    hashKey(this.#checker.keyOf(draft), this.#seed, this.#hash);
    const { low, high } = this.#hash;
    const slot = this.#known.find(low, high);
    if (slot < 0) return 'removal_unknown';
    if (this.#known.isSeenAt(slot)) return 'duplicate';
    this.#known.markSeen(slot);
    this.#addRemoval(low, high);
    return undefined;
  }

  removeUnlessMatched(low: number, high: number): void {
    const slot = this.#known.find(low, high);
    if (slot < 0 || this.#known.isSeenAt(slot)) return;
    this.#known.markSeen(slot);
    this.#addRemoval(low, high);
  }

  #addRemoval(low: number, high: number): void {
    this.#writer.add(low, high, 0, 0, '');
    this.lookup.add(low);
    this.#bare?.add(low);
    this.#options.report.removed++;
    if (this.#writer.isFull) this.#closeBlock();
  }

  /** NPPES also lists deactivated providers in its full file, where it is enough to omit them. */
  #skipRemoval(): RefusalReason | undefined {
    if (this.#options.plan.format.name !== 'nppes') return 'removal_in_full_load';
    this.#options.report.skipped++;
    return undefined;
  }
}

const putActions: ReadonlySet<string> = new Set(['', 'add', 'change', 'update', 'upsert']);

function isRemoval(draft: RowDraft): boolean {
  return draft.action === 'remove' || draft.action === 'delete';
}
