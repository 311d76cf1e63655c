import { setImmediate as nextTurn } from 'node:timers/promises';
import { entriesPerTurn } from '../limits.ts';
import { readGeneration, readIds, readKeyTable } from '../store/generation.ts';
import type { SourceChain } from '../store/sources.ts';
import type { DirectoryTables, LoadRow } from '../store/tables.ts';
import type { BlockLookup } from '../records/block-lookup.ts';
import { readKeys, readLines } from '../records/block.ts';
import { textOf } from '../records/record-line.ts';
import { EntryWriter, type EntryWriterOptions } from './entry-writer.ts';
import type { ProgressMeter } from './progress.ts';
import { findRowFault, hasUnnamedValue, isBlankRow } from './read-rows.ts';

/** The input, target and listeners of a load. */
export interface LoadRowsOptions extends EntryWriterOptions {
  readonly progress: ProgressMeter;
}

export interface LoadedRows {
  readonly blockCount: number;
  /** Entries in the blocks, removals included. */
  readonly entryCount: number;
  /** Records of the source's generation. */
  readonly recordCount: number;
  /** Records of the source's generation before. */
  readonly knownCount: number;
  readonly unusedIds: { readonly first: number; readonly end: number };
  /** True if at least one record of the blocks is identified by a key of the file. */
  readonly hasFileKeys: boolean;
  /** True if a record is removed whose address another source has. */
  readonly uncovers: boolean;
  /** Where the entries are. */
  readonly lookup: BlockLookup;
}

/** Reads, checks and stores all rows of the file in blocks. One portion of rows is in memory at a time. */
export async function loadRows(options: LoadRowsOptions): Promise<LoadedRows> {
  const { plan, report, progress, context, load } = options;
  const db = context.storage.tables<DirectoryTables>();
  const known = await readKeyTable(db, load.chain);
  const others = load.sources.filter(
    ({ source, chain }) => source.name !== load.source.name && chain.length > 0,
  );
  const elsewhere =
    others.length === 0
      ? undefined
      : await readIds(
          db,
          others.map(({ chain }) => chain),
        );
  const entries = new EntryWriter(options, known, elsewhere);
  await entries.drain();
  for await (const rows of plan.table.rows(plan.format.wanted)) {
    let before = report.rowsRead;
    for (const row of rows) {
      report.rowsRead++;
      const refusal = findRowFault(row, plan.table);
      if (refusal !== undefined) report.refuse(refusal, row.line);
      else if (plan.format.name !== 'npd' && isBlankRow(row)) report.skipped++;
      else {
        if (hasUnnamedValue(row, plan.table.header)) report.warn('unnamed_value', row.line);
        entries.addRow(row);
      }
      if (entries.isDue) await entries.drain();
      if (report.rowsRead - before < entriesPerTurn) continue;
      progress.rows(report.rowsRead - before);
      before = report.rowsRead;
      await nextTurn();
    }
    progress.rows(report.rowsRead - before);
    await nextTurn();
  }
  if (options.kind === 'incremental' && plan.format.coveredNpis !== undefined)
    await removeVanished(options, entries, plan.format.coveredNpis);
  await entries.flush();
  if (options.kind === 'full') report.removed = entries.knownCount - entries.matchedCount;
  const recordCount =
    options.kind === 'full' ? report.loaded : entries.knownCount + report.added - report.removed;
  return {
    blockCount: entries.blockCount,
    entryCount: entries.entryCount,
    recordCount,
    knownCount: entries.knownCount,
    unusedIds: entries.unusedIds,
    hasFileKeys: entries.hasFileKeys,
    lookup: entries.lookup,
    uncovers:
      report.removed > 0 &&
      others.length > 0 &&
      (hasFileKeys(load.chain, others) || entries.uncovers(options.kind === 'full')),
  };
}

/** With keys of a file it is not known which other source has a record. */
function hasFileKeys(own: readonly LoadRow[], others: readonly SourceChain[]): boolean {
  return [own, ...others.map(({ chain }) => chain)].flat().some((load) => load.file_keys !== 0);
}

/** Removes the records of the given NPIs that the file did not name. */
async function removeVanished(
  { context, load }: LoadRowsOptions,
  entries: EntryWriter,
  npis: ReadonlySet<number>,
): Promise<void> {
  for await (const block of readGeneration(context.storage.tables<DirectoryTables>(), load.chain)) {
    const keys = readKeys(block);
    for (const [entry, line] of readLines(block).entries()) {
      if (entry % entriesPerTurn === 0) await nextTurn();
      if (block.skip?.[entry] === 1 || !npis.has(Number(textOf(line, 'npi')))) continue;
      entries.removeUnlessMatched(keys[entry * 4] ?? 0, keys[entry * 4 + 1] ?? 0);
    }
    await entries.drain();
  }
}
