import { readFile, readdir } from 'node:fs/promises';
import type { Log } from '../../core/index.ts';
import type { Config } from '../../platform/index.ts';
import type { Watch } from './daily-warnings.ts';

export interface OpenFileWatchOptions {
  readonly config: Pick<Config, 'http' | 'smtp'>;
  readonly log: Log;
  /** Of this process: the text of the system's limits, and the number of open files. */
  readonly readLimits?: () => Promise<string>;
  readonly countOpen?: () => Promise<number>;
}

/** Databases, threads, lookups and outgoing connections of a busy node. */
const otherFiles = 1000;
const fullShare = 0.9;
/** Once full, so much less must be open: a process at the limit would go back and forth. */
const recoveredShare = 0.8;

/**
 * Notifies operators of a limit of open files that the configured connections can exceed, and of one that is
 * reached. The system then closes what connects without an answer, and this process can connect to nothing.
 * Without `/proc` nothing is known and nothing said.
 */
export function createOpenFileWatch({
  config: { http, smtp },
  log,
  readLimits = () => readFile('/proc/self/limits', 'utf8'),
  countOpen = async () => (await readdir('/proc/self/fd')).length,
}: OpenFileWatchOptions): Watch {
  let limit: number | undefined;
  let isFull = false;

  async function begin(): Promise<number> {
    const found = await readLimit(readLimits);
    const needed = http.maxConnections + smtp.maxConnections + otherFiles;
    if (found < needed)
      log.warn(
        { limit: found, needed },
        'the limit of open files is too low for http.maxConnections and smtp.maxConnections: raise it (LimitNOFILE, ulimit -n) or lower them',
      );
    return found;
  }

  return {
    async run() {
      limit ??= await begin();
      if (limit === Infinity) return;
      const open = await countOpen().catch((error: unknown) => (isExhausted(error) ? limit : undefined));
      if (open === undefined) return;
      const wasFull = isFull;
      isFull = open >= limit * (wasFull ? recoveredShare : fullShare);
      if (isFull && !wasFull)
        log.error(
          { open, limit },
          'nearly all files that the system allows are open: connections in and out fail. Raise the limit (LimitNOFILE, ulimit -n)',
        );
      if (!isFull && wasFull) log.info({ open, limit }, 'enough files can be opened again');
    },
    degraded: () =>
      isFull
        ? [{ part: 'files', detail: `Nearly all of the ${limit} files that the system allows are open.` }]
        : [],
  };
}

/** Node has raised the soft limit to the hard one. Infinity if it is unlimited or unknown. */
async function readLimit(readLimits: () => Promise<string>): Promise<number> {
  const text = await readLimits().catch(() => '');
  const [, soft] = /^Max open files +(\d+)/m.exec(text) ?? [];
  return soft === undefined ? Infinity : Number(soft);
}

function isExhausted(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'EMFILE' || error.code === 'ENFILE');
}
