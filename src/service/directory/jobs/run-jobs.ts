import { stat } from 'node:fs/promises';
import path from 'node:path';
import { DirectoryError } from '../errors.ts';
import type { ImportContext } from '../load/context.ts';
import { importDirectory, type ImportRequest } from '../load/import-directory.ts';
import { isUrl, type Release } from '../load/npd/open-release.ts';
import { openInput } from '../load/open-input.ts';
import { orRefuse, shownSource } from '../load/refused-load.ts';
import type { ProgressListener } from '../load/progress.ts';
import type { LoadReport } from '../load/quality-report.ts';
import { rollBack } from '../sources/change-sources.ts';
import { summarize } from '../status.ts';
import type { DirectoryJobs, JobListeners, LoadDone, LoadJob } from './job.ts';

/** Opens releases of the national directory as the settings allow. */
export interface ReleaseOpener {
  /** From a folder, or the URL of a manifest. The caller closes it. */
  open(source: string, onProgress?: ProgressListener): Promise<Release>;
  /** Digest of the manifest at a URL. */
  readDigest(url: string): Promise<string>;
}

export interface JobContext extends ImportContext {
  /** Without it there are no releases of the national directory. */
  readonly releases?: ReleaseOpener | undefined;
}

/** Does jobs in this process. */
export function createJobs(context: JobContext): DirectoryJobs {
  return {
    load: (job, listeners = {}) => runLoad(context, job, listeners),
    async rollBack({ sourceName, activeId, actor }) {
      const own = { ...context, audit: actAs(context.audit, actor) };
      return summarize(await rollBack(own, sourceName, activeId));
    },
  };
}

async function runLoad(context: JobContext, job: LoadJob, listeners: JobListeners): Promise<LoadDone> {
  const onProgress: ProgressListener = (progress) => {
    listeners.signal?.throwIfAborted();
    listeners.onProgress?.(progress);
  };
  const { kind, sourceName, format, acceptLoss, nodeId, actor: startedBy } = job;
  const own = {
    ...context,
    audit: actAs(context.audit, startedBy),
    ...(nodeId !== undefined && { nodes: { id: nodeId } }),
  };
  const load = (input: Pick<ImportRequest, 'files' | 'release'>): Promise<LoadReport> =>
    importDirectory(own, { ...input, kind, sourceName, format, acceptLoss, startedBy, onProgress });
  const planned = { name: job.name ?? shownSource(job.path), kind, sourceName, startedBy };
  const open: OpenInput = (work) => orRefuse(own, planned, work);
  if (await isRelease(job.path)) return loadRelease(context, job, onProgress, open, load);
  const files = await open(() => openInput(job.path));
  const [only] = files;
  // A file in an archive has a separate name.
  const isRenamed = job.name !== undefined && files.length === 1 && only?.name === path.basename(job.path);
  return { report: await load({ files: isRenamed && only ? [{ ...only, name: job.name }] : files }) };
}

/** Does what may be refused before the load begins. */
type OpenInput = <Result>(work: () => Promise<Result>) => Promise<Result>;

async function loadRelease(
  context: JobContext,
  { path: source, knownDigest }: LoadJob,
  onProgress: ProgressListener,
  open: OpenInput,
  load: (input: Pick<ImportRequest, 'files' | 'release'>) => Promise<LoadReport>,
): Promise<LoadDone> {
  const release = await open(async () => {
    const releases = requireReleases(context);
    if (isUrl(source) && knownDigest !== undefined && (await releases.readDigest(source)) === knownDigest)
      return undefined;
    return releases.open(source, onProgress);
  });
  if (release === undefined) return { digest: knownDigest };
  try {
    return { report: await load({ files: [], release }), digest: release.manifest.digest };
  } finally {
    await release.close();
  }
}

async function isRelease(source: string): Promise<boolean> {
  if (isUrl(source)) return true;
  const found = await stat(source).catch(() => undefined);
  return found?.isDirectory() === true;
}

function requireReleases({ releases }: JobContext): ReleaseOpener {
  if (releases !== undefined) return releases;
  throw new DirectoryError(
    'DIRECTORY_FILE_UNREADABLE',
    'A release of the national directory cannot be read here',
  );
}

/** Loads and rollbacks write `operator` as the actor. */
function actAs(audit: ImportContext['audit'], actor: string): ImportContext['audit'] {
  return {
    recordIn: (tx, event) => audit.recordIn(tx, event.actor === 'operator' ? { ...event, actor } : event),
  };
}
