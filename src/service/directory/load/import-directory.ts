import { errorCode, errorText } from '../../../core/index.ts';
import { DirectoryError } from '../errors.ts';
import { loadAlone } from '../store/load-lock.ts';
import { activateLoad, beginLoad, failLoad, type BegunLoad } from '../store/loads.ts';
import { forgetRemovals, retireGenerations } from '../store/clear-loads.ts';
import type { LoadKind } from '../store/tables.ts';
import type { ImportContext } from './context.ts';
import type { TaxonomyNames } from './formats/nppes.ts';
import { indexGeneration, indexStream, type StoredLoad } from './index-load.ts';
import { loadRows, type LoadedRows } from './load-rows.ts';
import type { InputFile } from './open-input.ts';
import { planInput, type InputPlan } from './plan-input.ts';
import { createProgress, type ProgressListener, type ProgressMeter } from './progress.ts';
import { ReportBuilder, type LoadReport } from './quality-report.ts';

export interface ImportRequest {
  readonly files: readonly InputFile[];
  readonly kind: LoadKind;
  /** Provider taxonomy names for NPPES. */
  readonly taxonomy?: TaxonomyNames | undefined;
  /** Largest part of the rows that may be refused, 0 to 1; more of them give the load up. Unlimited if absent. */
  readonly maxRefusedShare?: number | undefined;
  readonly onProgress?: ProgressListener | undefined;
}

/**
 * Loads a directory from files (Decision 0008): parse, check, store in blocks and index at the same time, then make
 * the new generation the active one in a single transaction. Until then, and after any failure, the old one serves.
 * Throws DirectoryError; the report of a load that was given up is kept.
 */
export async function importDirectory(context: ImportContext, request: ImportRequest): Promise<LoadReport> {
  const startedAtMs = context.clock.now().getTime();
  const progress = createProgress(request.files, request.onProgress);
  const plan = await planInput({
    files: request.files,
    taxonomy: request.taxonomy,
    onBytes: progress.onBytes,
  });
  const naming = { kind: request.kind, format: plan.format.name, source: plan.file.name };
  const report = new ReportBuilder();
  const finishReport = (recordCount: number, failure?: string): LoadReport => {
    const seconds = (context.clock.now().getTime() - startedAtMs) / 1000;
    return report.build({ ...naming, recordCount, seconds, ...(failure === undefined ? {} : { failure }) });
  };
  try {
    return await loadAlone(context, async () => {
      const load = await beginLoad(context.storage, context.clock, naming);
      try {
        const run = { context, request, load, plan, report, progress };
        const { unusedIds, recordCount, ...stored } = await storeAndIndex(run);
        progress.enter('activating');
        const finished = finishReport(recordCount);
        await activateLoad(context, { load, report: finished, unusedIds, ...stored });
        progress.enter('done');
        return finished;
      } catch (error) {
        await failLoad(context.storage, context.clock, load.id, finishReport(0, errorText(error)));
        throw error;
      }
    });
  } finally {
    plan.table.close();
    await clearUp(context);
  }
}

/** What runs between the beginning of a load and its activation. */
interface LoadRun {
  readonly context: ImportContext;
  readonly request: ImportRequest;
  readonly load: BegunLoad;
  readonly plan: InputPlan;
  readonly report: ReportBuilder;
  readonly progress: ProgressMeter;
}

/** A full load is indexed while it is read; a large increment afterwards, together with what it builds upon. */
async function storeAndIndex({ context, request, ...run }: LoadRun): Promise<StoredLoad & LoadedRows> {
  const { kind } = request;
  const { load, report, progress } = run;
  const stream = kind === 'full' ? indexStream(context, load) : undefined;
  try {
    const rows = await loadRows({ ...run, context, kind, onBlock: stream?.add });
    checkResult(report, kind, request.maxRefusedShare);
    progress.enter('indexing');
    const stored = await (stream?.finish(rows) ?? indexGeneration(context, load, rows));
    return { ...rows, ...stored };
  } finally {
    await stream?.close();
  }
}

/** Clearing away what is no longer needed must not make a load fail that is already active. */
async function clearUp({ storage, log }: ImportContext): Promise<void> {
  try {
    await retireGenerations(storage);
    await forgetRemovals(storage);
  } catch (error) {
    log.warn(
      { code: errorCode(error), reason: errorText(error) },
      'old directory loads could not be cleared away',
    );
  }
}

/** An empty full load would empty the directory, which nobody wants by accident. */
function checkResult(report: ReportBuilder, kind: LoadKind, maxRefusedShare: number | undefined): void {
  if (kind === 'full' && report.loaded === 0) {
    throw new DirectoryError(
      'DIRECTORY_TOO_MANY_REFUSED',
      'No row of the file can be loaded; the directory stays as it is',
    );
  }
  const share = report.rowsRead === 0 ? 0 : report.refusedRows / report.rowsRead;
  if (maxRefusedShare !== undefined && share > maxRefusedShare) {
    const percent = (share * 100).toFixed(1);
    throw new DirectoryError(
      'DIRECTORY_TOO_MANY_REFUSED',
      `${percent} % of the rows are refused, more than allowed`,
    );
  }
}
