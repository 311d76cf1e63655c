import path from 'node:path';
import { errorCode, errorText, readJsonObject } from '../../../core/index.ts';
import { storeRefusedLoad } from '../store/loads.ts';
import { defaultSource } from '../store/sources.ts';
import type { DirectoryTables, LoadKind } from '../store/tables.ts';
import type { ImportContext } from './context.ts';
import { isUrl } from './npd/open-release.ts';
import { ReportBuilder } from './quality-report.ts';

/** A load that has not begun. */
export interface PlannedLoad {
  /** Name of the file or URL. */
  readonly name: string;
  readonly kind: LoadKind;
  readonly sourceName?: string | undefined;
  /** The actor of its audit row; `operator` if absent. */
  readonly startedBy?: string | undefined;
}

export type RefusalContext = Pick<ImportContext, 'storage' | 'clock' | 'audit' | 'nodes'>;

/**
 * Does a step before a load begins. If it is refused, as for a file of an unknown format, the load is listed
 * as failed, with who wanted it and why it was refused. A load that only waits for another one is not.
 */
export async function orRefuse<Result>(
  context: RefusalContext,
  { name, kind, sourceName = defaultSource, startedBy = 'operator' }: PlannedLoad,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const code = errorCode(error);
    if (code === 'DIRECTORY_LOAD_RUNNING') throw error;
    if (startedBy === 'system' && (await isLastFailure(context, sourceName, errorText(error)))) throw error;
    const report = new ReportBuilder().build({
      format: 'unknown',
      kind,
      source: name,
      sourceName,
      recordCount: 0,
      seconds: 0,
      failure: errorText(error),
    });
    await storeRefusedLoad(context, report, { startedBy, nodeId: context.nodes?.id }, code);
    throw error;
  }
}

/** A schedule that fails again for the same reason is listed once; else it would displace the other loads. */
async function isLastFailure(
  { storage }: RefusalContext,
  sourceName: string,
  failure: string,
): Promise<boolean> {
  const last = await storage
    .tables<DirectoryTables>()
    .selectFrom('directory_load')
    .select(['state', 'report'])
    .where('source_name', '=', sourceName)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return last?.state === 'failed' && readJsonObject(last.report)?.['failure'] === failure;
}

/**
 * The name of a file or folder without its path; a URL without user, query and fragment, which may hold a
 * secret.
 */
export function shownSource(source: string): string {
  if (!isUrl(source)) return path.basename(source);
  const url = URL.parse(source);
  return url === null ? 'invalid URL' : url.origin + url.pathname;
}
