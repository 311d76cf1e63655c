import { errorText } from '../../../core/index.ts';
import { DirectoryError } from '../errors.ts';
import { activateLoad, beginLoad, failLoad, retireGenerations, type BegunLoad } from '../store/loads.ts';
import { openSnapshotFiles } from '../store/snapshot-files.ts';
import type { LoadKind } from '../store/tables.ts';
import type { ImportContext } from './context.ts';
import type { TaxonomyNames } from './formats/nppes.ts';
import { indexGeneration, indexStream, type IndexTarget } from './index-load.ts';
import { keepAlive } from './keep-alive.ts';
import { loadRows } from './load-rows.ts';
import type { InputFile } from './open-input.ts';
import { planInput } from './plan-input.ts';
import { createProgress, type ProgressListener } from './progress.ts';
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
  const plan = await planInput({ files: request.files, taxonomy: request.taxonomy, onBytes: progress.onBytes });
  const { kind } = request;
  const naming = { kind, format: plan.format.name, source: plan.file.name };
  const builder = new ReportBuilder();
  const finishReport = (recordCount: number, failure?: string): LoadReport => {
    const seconds = (context.clock.now().getTime() - startedAtMs) / 1000;
    return builder.build({ ...naming, recordCount, seconds, ...(failure === undefined ? {} : { failure }) });
  };
  try {
    const load = await beginLoad(context.storage, context.clock, naming);
    const life = keepAlive(context, load.id);
    try {
      const target = await openTarget(context, load);
      const stream = kind === 'full' ? indexStream(context, load, target) : undefined;
      try {
        const result = await loadRows({ context, load, plan, kind, report: builder, progress, onBlock: stream?.add });
        checkResult(builder, kind, request.maxRefusedShare);
        progress.enter('indexing');
        const stored = stream === undefined ? await indexGeneration(context, load, target, result) : await stream.finish(result);
        progress.enter('activating');
        const report = finishReport(result.recordCount);
        await activateLoad(context.storage, context.clock, { load, report, unusedIds: result.unusedIds, ...stored });
        progress.enter('done');
        await retireGenerations(context.storage);
        return report;
      } finally {
        await stream?.close();
      }
    } catch (error) {
      await failLoad(context.storage, context.clock, load.id, finishReport(0, errorText(error)));
      throw error;
    } finally {
      await life.close();
    }
  } finally {
    plan.table.close();
  }
}

async function openTarget(context: ImportContext, load: BegunLoad): Promise<IndexTarget> {
  const files = openSnapshotFiles(context.snapshotDir, load);
  return { snapshotPath: files.pathOf({ loadId: load.id, revision: load.revision + 1 }) };
}

/** An empty full load would empty the directory, which nobody wants by accident. */
function checkResult(report: ReportBuilder, kind: LoadKind, maxRefusedShare: number | undefined): void {
  if (kind === 'full' && report.loaded === 0) {
    throw new DirectoryError('DIRECTORY_TOO_MANY_REFUSED', 'No row of the file can be loaded; the directory stays as it is');
  }
  const share = report.rowsRead === 0 ? 0 : report.refusedRows / report.rowsRead;
  if (maxRefusedShare !== undefined && share > maxRefusedShare) {
    const percent = (share * 100).toFixed(1);
    throw new DirectoryError('DIRECTORY_TOO_MANY_REFUSED', `${percent} % of the rows are refused, more than allowed`);
  }
}
