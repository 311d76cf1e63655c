import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode, errorText, type Closable } from '../../../core/index.ts';
import { createFaultLog } from '../../../platform/index.ts';
import type { DirectoryJobs } from './job.ts';
import { createJobs } from './run-jobs.ts';
import type { ImportContext } from '../load/context.ts';
import { isUrl, manifestName } from '../load/npd/open-release.ts';
import type { ActivationContext } from '../store/loads.ts';
import { insertSource, listSources, planSource, storeSources } from '../store/sources.ts';
import { loadState, lockState, type DirectoryDb } from '../store/state.ts';
import type { DirectoryTables, SourceRow } from '../store/tables.ts';
import { changed } from '../sources/change-sources.ts';

/**
 * A file, or a release of the national directory, that becomes a source's next generation whenever it
 * changes.
 */
export interface SourceSchedule {
  /** On each node that may load it: a file, or a release's folder; or the URL of a release's manifest. */
  readonly path: string;
  readonly everyMs: number;
}

/** A file that changed more recently may be incomplete. */
const completeAfterMs = 60_000;
/** Time for the node that has the file; each looks once per minute. */
const missingAfterMs = 10 * 60_000;

/**
 * Sets or, without a schedule, ends the schedule of a source, which is created if missing. Throws
 * DIRECTORY_SOURCE_INVALID.
 */
export async function scheduleSource(
  { storage, clock, audit }: ActivationContext,
  name: string,
  schedule: SourceSchedule | undefined,
): Promise<void> {
  await loadState(storage);
  await storage.transaction(async (tx: DirectoryDb) => {
    await lockState(storage, tx);
    const sources = await listSources(tx);
    const source =
      sources.find((one) => one.name === name) ?? planSource(sources, name, clock.now().getTime());
    const row: SourceRow = {
      ...source,
      schedule_path: schedule?.path ?? null,
      schedule_every_ms: schedule?.everyMs ?? null,
      schedule_checked_at: 0,
      schedule_seen: '',
      schedule_failure: '',
      schedule_failed_at: null,
    };
    await storeSources(tx, insertSource(sources, row));
    const every = schedule === undefined ? {} : { everyMs: schedule.everyMs };
    await audit.recordIn(tx, changed('schedule', { sourceName: name, ...every }));
  });
}

/** Dependencies of the scheduled loads. */
export interface ScheduleContext extends ImportContext {
  /** Makes the loads; this process if absent. */
  readonly jobs?: DirectoryJobs | undefined;
  /** Aborts a load in progress. */
  readonly signal?: AbortSignal;
  /** Why this node did not find the file of a source last, by the source's name. */
  readonly missing?: Map<string, string>;
}

/** Checks for scheduled loads at intervals; `onLoaded` is called after each load. */
export function followSchedules(
  context: Omit<ScheduleContext, 'signal' | 'missing'>,
  everyMs: number,
  onLoaded: () => void,
): Closable {
  const faults = createFaultLog('directory-schedule', context.log);
  const closing = new AbortController();
  const missing = new Map<string, string>();
  let running: Promise<void> | undefined;
  async function checkSources(): Promise<void> {
    try {
      const loaded = await runSchedules({ ...context, signal: closing.signal, missing });
      faults.worked('read the scheduled loads');
      if (loaded.length > 0) onLoaded();
    } catch (error) {
      if (!closing.signal.aborted) faults.failed('read the scheduled loads', error);
    }
  }
  const timer = setInterval(() => {
    running ??= checkSources().finally(() => {
      running = undefined;
    });
  }, everyMs);
  timer.unref();
  return {
    async close() {
      clearInterval(timer);
      closing.abort();
      await running;
    },
  };
}

/**
 * Loads the files of sources that are due and have changed, on one node at a time. A node that does not have
 * the file leaves it to the others. Returns the names of the sources that were loaded.
 */
export async function runSchedules(context: ScheduleContext): Promise<readonly string[]> {
  const { storage } = context;
  const alone = await storage.tryRunExclusive('directory-schedule', async () => {
    const loaded: string[] = [];
    const sources = await listSources(storage.tables<DirectoryTables>());
    for (const source of sources.filter((one) => isDue(context, one)))
      if (await loadIfChanged(context, source)) loaded.push(source.name);
    return loaded;
  });
  return alone?.result ?? [];
}

function isDue({ clock }: ScheduleContext, source: SourceRow): boolean {
  const { schedule_every_ms: everyMs, schedule_checked_at: checkedAt } = source;
  return everyMs !== null && clock.now().getTime() - checkedAt >= everyMs;
}

async function loadIfChanged(context: ScheduleContext, source: SourceRow): Promise<boolean> {
  const found = await findInput(context, source);
  if (found === undefined) return false;
  if (found.seen !== '' && found.seen === source.schedule_seen) {
    await noteCheck(context, source, { schedule_failure: '' });
    return false;
  }
  try {
    const { path, knownDigest } = found;
    const nodeId = context.nodes?.id;
    const job = {
      path,
      knownDigest,
      kind: 'full',
      sourceName: source.name,
      actor: 'system',
      nodeId,
    } as const;
    const { signal, jobs = createJobs(context) } = context;
    const { report, digest } = await jobs.load(job, { signal });
    const seen = found.seen === '' ? digest : found.seen;
    await noteCheck(context, source, { schedule_seen: seen ?? '', schedule_failure: '' });
    return report !== undefined;
  } catch (error) {
    if (context.signal?.aborted === true) throw error;
    // It is still due.
    if (errorCode(error) === 'DIRECTORY_LOAD_RUNNING') return false;
    await noteCheck(context, source, { schedule_failure: errorText(error) });
    context.log.error({ source: source.name, reason: errorText(error) }, 'a scheduled directory load failed');
    return false;
  }
}

interface FoundInput {
  readonly path: string;
  /**
   * Changes when the file does, or the manifest of a release's folder; empty for a URL, whose manifest the
   * load compares.
   */
  readonly seen: string;
  readonly knownDigest?: string;
}

/** Undefined if this node does not have the file, or if it may still be incomplete. */
async function findInput(context: ScheduleContext, source: SourceRow): Promise<FoundInput | undefined> {
  const path = source.schedule_path ?? '';
  if (isUrl(path)) return { path, seen: '', knownDigest: source.schedule_seen };
  let found: Stats;
  try {
    found = await stat(path);
    if (found.isDirectory()) found = await stat(join(path, manifestName));
  } catch (error) {
    await noteMissing(context, source, errorText(error));
    return undefined;
  }
  const ageMs = Date.now() - found.mtimeMs;
  if (ageMs >= 0 && ageMs < completeAfterMs) return undefined;
  return { path, seen: `${found.size} ${Math.round(found.mtimeMs)}` };
}

const missingText = 'the service does not find the file: ';

/**
 * Reports a file that no node has found since it was due; it is still due, so that another node may load it.
 * Why another node does not find it stays, unless this one's reason is a new one: two nodes may have
 * different reasons, each every minute.
 */
async function noteMissing(context: ScheduleContext, source: SourceRow, reason: string): Promise<void> {
  const dueAt = source.schedule_checked_at + (source.schedule_every_ms ?? 0);
  if (context.clock.now().getTime() - dueAt < missingAfterMs) return;
  const failure = `${missingText}${reason}`;
  const isKnown = context.missing?.get(source.name) === reason;
  context.missing?.set(source.name, reason);
  if (source.schedule_failure === failure) return;
  if (isKnown && source.schedule_failure.startsWith(missingText)) return;
  context.log.warn({ source: source.name, reason }, 'no node finds the file of a scheduled directory source');
  await noteSource(context, source, { schedule_failure: failure });
}

function noteCheck(
  context: ScheduleContext,
  source: SourceRow,
  change: CheckResult & { schedule_seen?: string },
): Promise<void> {
  return noteSource(context, source, { ...change, schedule_checked_at: context.clock.now().getTime() });
}

type CheckResult = Pick<SourceRow, 'schedule_failure'>;

/** Unless the schedule was changed meanwhile. */
async function noteSource(
  { storage, clock }: ScheduleContext,
  { name, schedule_path: path, schedule_every_ms: everyMs, schedule_failed_at: failedAt }: SourceRow,
  change: CheckResult & Partial<Pick<SourceRow, 'schedule_seen' | 'schedule_checked_at'>>,
): Promise<void> {
  const isFailing = change.schedule_failure !== '';
  await storage
    .tables<DirectoryTables>()
    .updateTable('directory_source')
    .set({ ...change, schedule_failed_at: isFailing ? (failedAt ?? clock.now().getTime()) : null })
    .where('name', '=', name)
    .where('schedule_path', '=', path)
    .where('schedule_every_ms', '=', everyMs)
    .execute();
}
