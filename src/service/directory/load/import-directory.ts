/**
 * A load: reads files or a release, checks each row, stores blocks and activates the new generation.
 * Used by `service/directory` and its `jobs`.
 * Begin with `importDirectory` here; `formats/` for kinds of files, `npd/` for the national directory.
 */
import { collectGarbage, errorCode, errorText } from '../../../core/index.ts';
import { changesBeforeRebuild, manyRecords } from '../limits.ts';
import { loadAlone } from '../store/load-lock.ts';
import { activateLoad, beginLoad, failLoad, type BegunLoad } from '../store/loads.ts';
import { storeLookup } from '../store/lookups.ts';
import { deleteRemovals, retireGenerations } from '../store/clear-loads.ts';
import { abortMerge, mergeSources } from '../merge/merge-sources.ts';
import {
  defaultSource,
  insertSource,
  nationalSource,
  type SourceChain,
  type ToServe,
} from '../store/sources.ts';
import type { ExportRight, LoadKind, LoadRow } from '../store/tables.ts';
import { checkLosses, type LossLimits } from './check-losses.ts';
import type { ImportContext } from './context.ts';
import type { TaxonomyNames } from './formats/nppes.ts';
import { chainOf, indexStream, completeIncrement, ownBlocks, type StoredLoad } from './index-load.ts';
import { indexServed, indexWhole } from './index-served.ts';
import { loadRows, type LoadedRows } from './load-rows.ts';
import type { Release } from './npd/open-release.ts';
import { planRelease } from './npd/plan-release.ts';
import type { InputFile } from './open-input.ts';
import { planInput, type InputPlan, type TableFormat } from './plan-input.ts';
import { createProgress, type ProgressListener, type ProgressMeter } from './progress.ts';
import { orRefuse } from './refused-load.ts';
import { createStoredProgress } from './stored-progress.ts';
import { ReportBuilder, storedReport, type LoadReport } from './quality-report.ts';

export interface ImportRequest extends LossLimits {
  readonly files: readonly InputFile[];
  /** A release of the national directory, instead of files. */
  readonly release?: Release | undefined;
  readonly kind: LoadKind;
  /**
   * The source that the load belongs to, made if it is not there; without one `npd` for a release, else
   * `default` (Decision 0025).
   */
  readonly sourceName?: string | undefined;
  /** Changes the source's export right. */
  readonly exportRight?: ExportRight | undefined;
  /** The format that the files must have; by default it is detected from their content. */
  readonly format?: TableFormat | undefined;
  /** Provider taxonomy names for NPPES. */
  readonly taxonomy?: TaxonomyNames | undefined;
  readonly onProgress?: ProgressListener | undefined;
  /** The actor of its audit row; `operator` if absent. */
  readonly startedBy?: string | undefined;
}

/**
 * Loads a directory from files (Decision 0008): parse, check, store in blocks and index at the same time,
 * then make the new generation the active one in a single transaction. Until then, and after any failure, the
 * old one serves. Throws DirectoryError; the report of a load that was abandoned is kept.
 */
export async function importDirectory(context: ImportContext, request: ImportRequest): Promise<LoadReport> {
  const startedAtMs = context.clock.now().getTime();
  const { files, taxonomy } = request;
  const sized = request.release === undefined ? files : Object.values(request.release.files);
  const stored = createStoredProgress(context);
  const progress = createProgress(sized, (state) => {
    request.onProgress?.(state);
    stored.note(state);
  });
  const { onBytes } = progress;
  const sourceName = request.sourceName ?? (request.release === undefined ? defaultSource : nationalSource);
  const { kind, startedBy } = request;
  const report = new ReportBuilder();
  const planned = { name: files.map(({ name }) => name).join(', '), kind, sourceName, startedBy };
  const plan =
    request.release === undefined
      ? await orRefuse(context, planned, () =>
          planInput({ files, taxonomy, onBytes, format: request.format, report }),
        )
      : planRelease({ release: request.release, taxonomy, onBytes });
  const naming = { kind, format: plan.format.name, source: plan.file.name, sourceName };
  const finishReport = (recordCount: number, failure?: string): LoadReport => {
    const seconds = (context.clock.now().getTime() - startedAtMs) / 1000;
    const described = plan.describeRelease?.();
    const failed = failure === undefined ? {} : { failure };
    const release = described === undefined ? {} : { release: described };
    return report.build({ ...naming, recordCount, seconds, ...release, ...failed });
  };
  try {
    return await loadAlone(context, async () => {
      const origin = { startedBy: startedBy ?? 'operator', nodeId: context.nodes?.id };
      const load = await orRefuse(context, { ...planned, name: plan.file.name }, () =>
        beginLoad(context.storage, context.clock, naming, origin, request.exportRight),
      );
      stored.begin(load.id);
      let merge: LoadRow | undefined;
      try {
        const run = { context, request, load, plan, report, progress };
        const { unusedIds, recordCount, served, ...ready } = await storeAndIndex(run, (begun) => {
          merge = begun;
        });
        progress.enter('activating');
        await stored.end();
        const finished = finishReport(recordCount);
        const servedId = served.chain[0]?.id ?? null;
        await activateLoad(context, { load, report: finished, unusedIds, servedId, merge, ...ready });
        progress.enter('done');
        return finished;
      } catch (error) {
        await stored.end();
        const failed = finishReport(0, errorText(error));
        await tidy(context, 'a failed load could not be stored as such', () =>
          failLoad(context.storage, context.clock, load.id, failed),
        );
        const begun = merge;
        if (begun !== undefined)
          await tidy(context, 'a merge could not be cleared away', () =>
            abortMerge(context.storage, begun.id),
          );
        throw error;
      }
    });
  } finally {
    plan.table.close();
    await tidy(context, 'old directory loads could not be cleared away', async () => {
      await retireGenerations(context.storage);
      await deleteRemovals(context.storage);
    });
  }
}

/** A load between its start and its activation. */
interface LoadRun {
  readonly context: ImportContext;
  readonly request: ImportRequest;
  readonly load: BegunLoad;
  readonly plan: InputPlan;
  readonly report: ReportBuilder;
  readonly progress: ProgressMeter;
}

/** A stored load, with the data to be served once it is active. */
type ReadyLoad = StoredLoad & LoadedRows & { readonly served: ToServe };

/**
 * A full load is indexed while it is read, if it is served as it is or with few changes; else the served data
 * is indexed afterwards. `onMerge` gets a merge that is stored, and must be removed if it is not activated.
 */
async function storeAndIndex(
  { context, request, ...run }: LoadRun,
  onMerge: (merge: LoadRow) => void,
): Promise<ReadyLoad> {
  const { kind } = request;
  const { load, report, progress } = run;
  const stream = kind === 'full' && isIndexedAlone(context, load) ? indexStream(context, load) : undefined;
  try {
    const rows = await loadRows({ ...run, context, kind, onBlock: stream?.add });
    report.acceptedRefusedShare = checkLosses({
      ...rows,
      kind,
      report,
      acceptLoss: request.acceptLoss,
      maxRefusedShare: request.maxRefusedShare,
      before: storedReport(load.chain[0]),
    });
    progress.enter('indexing');
    if (rows.recordCount >= manyRecords) collectGarbage();
    const written = stream?.write();
    // Met below; until then it is not an unhandled failure.
    written?.catch(() => {});
    const stored = kind === 'full' ? ownBlocks(rows) : await completeIncrement(context, load, rows);
    await storeLookup(context.storage, context.clock, load.id, rows.lookup);
    await written;
    const ready = { ...rows, ...stored };
    const served = await serveLoad(context, load, ready, progress);
    if (served.merge !== undefined) onMerge(served.merge);
    progress.enter('indexing');
    if (stream === undefined || served.merge !== undefined) await indexReady(context, load, ready, served);
    return { ...ready, served };
  } finally {
    await stream?.close();
  }
}

/** Makes the served data of all sources with the new load. */
async function serveLoad(
  context: ImportContext,
  load: BegunLoad,
  ready: StoredLoad & LoadedRows,
  progress: ProgressMeter,
): Promise<ToServe> {
  const chain = chainOf(load, ready);
  const rows = insertSource(
    load.sources.map(({ source }) => source),
    load.source,
  );
  const after = rows.map((source): SourceChain => ({
    source,
    chain:
      source.name === load.source.name
        ? chain
        : (load.sources.find((one) => one.source.name === source.name)?.chain ?? []),
  }));
  if (othersOf(load).length > 0) progress.enter('merging');
  const served = await mergeSources(context, load, after);
  // Served as it is, the load counts with its own entries.
  return served.chain[0]?.id === load.id ? { ...served, entryCount: ready.entryCount } : served;
}

async function indexReady(
  context: ImportContext,
  load: BegunLoad,
  { parentId }: StoredLoad,
  served: ToServe,
): Promise<void> {
  const isCopied = served.chain[0]?.id === load.id && parentId === null;
  if (isCopied) await indexWhole(context, served.chain, load);
  else if (served.chain[0]?.id !== load.served[0]?.id) await indexServed(context, served, load);
}

function othersOf({ sources, source }: BegunLoad): readonly SourceChain[] {
  return sources.filter((other) => other.source.name !== source.name && other.chain.length > 0);
}

/** True if an index of the load alone can be served, or differs from the served data by few changes. */
function isIndexedAlone(context: ImportContext, load: BegunLoad): boolean {
  const others = othersOf(load).reduce((sum, { chain }) => sum + (chain[0]?.record_count ?? 0), 0);
  return others <= (context.changesBeforeRebuild ?? changesBeforeRebuild);
}

/**
 * Clears something away after a load. That this fails must not make a load fail that is active, nor hide why
 * another one failed; the next load does it.
 */
async function tidy({ log }: ImportContext, failure: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    log.warn({ code: errorCode(error), reason: errorText(error) }, failure);
  }
}
