import { statfs } from 'node:fs/promises';
import { errorText, type Closable, type Log } from '../../core/index.ts';
import { PlatformError } from '../errors.ts';
import type { Metrics } from '../metrics/create-metrics.ts';

/**
 * Refuses new work while the disk is nearly full, so that there is room to finish the accepted work
 * (Decision 0020).
 */
export interface DiskGuard extends Closable {
  /** Throws PLATFORM_DISK_LOW unless so many bytes more leave the room that must stay free. */
  requireRoom(bytes?: number): void;
  /**
   * What operators should know: new work is refused, or will be soon. Undefined while there is enough room.
   */
  shortage(): DiskShortage | undefined;
  /** Looks at the disk now; otherwise this happens every second. */
  refresh(): Promise<void>;
}

export interface DiskShortage {
  /** New work is refused. */
  readonly isLow: boolean;
  /** One sentence. */
  readonly detail: string;
}

export interface DiskGuardOptions {
  /** The smallest room of all of them counts. */
  readonly folders: readonly string[];
  /** 0 switches the guard off. */
  readonly minFreeBytes: number;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Free space in the file system of a folder, in bytes. */
  readonly readFree?: (folder: string) => Promise<number>;
}

const everyMs = 1000;
/** Once low, so much more than the threshold must be free: a disk at the limit would go back and forth. */
const recoveredShare = 1.05;
/** Operators are warned from this multiple of the threshold. */
const warnedShare = 2;
const toMegabytes = (bytes: number): string => `${Math.floor(bytes / 1e6)} MB`;

export async function createDiskGuard(options: DiskGuardOptions): Promise<DiskGuard> {
  const { folders, minFreeBytes, log, metrics, readFree = readFreeBytes } = options;
  let freeBytes = Infinity;
  let isLow = false;
  let refreshing: Promise<void> | undefined;

  async function measure(): Promise<void> {
    try {
      freeBytes = Math.min(...(await Promise.all(folders.map((folder) => readFree(folder)))));
    } catch (error) {
      log.warn({ problem: errorText(error) }, 'the free disk space cannot be read');
      return;
    }
    const wasLow = isLow;
    isLow = freeBytes < (wasLow ? minFreeBytes * recoveredShare : minFreeBytes);
    if (isLow && !wasLow) log.error({ freeBytes, minFreeBytes }, 'low on disk: new work is refused');
    if (!isLow && wasLow) log.info({ freeBytes, minFreeBytes }, 'enough disk space again');
  }

  const refresh = (): Promise<void> =>
    (refreshing ??= measure().finally(() => {
      refreshing = undefined;
    }));

  metrics.measured(
    { name: 'openhisp_disk_low', help: '1 while new work is refused because the disk is nearly full.' },
    () => Number(isLow),
  );
  if (minFreeBytes > 0) await refresh();
  const timer = minFreeBytes > 0 ? setInterval(() => void refresh(), everyMs).unref() : undefined;
  return {
    refresh,
    requireRoom(bytes = 0) {
      if (minFreeBytes === 0 || (!isLow && freeBytes - bytes >= minFreeBytes)) return;
      throw new PlatformError(
        'PLATFORM_DISK_LOW',
        `${freeBytes} bytes free, ${minFreeBytes} must stay free`,
        {
          retryAfterSeconds: 60,
        },
      );
    },
    shortage() {
      if (isLow)
        return {
          isLow,
          detail: `The disk is nearly full: ${toMegabytes(freeBytes)} are free, and new messages are refused until ${toMegabytes(minFreeBytes * recoveredShare)} are.`,
        };
      if (freeBytes >= minFreeBytes * warnedShare) return undefined;
      return {
        isLow,
        detail: `The disk is getting full: ${toMegabytes(freeBytes)} are free; below ${toMegabytes(minFreeBytes)} new messages are refused.`,
      };
    },
    async close() {
      clearInterval(timer);
      await refreshing;
    },
  };
}

/** Free space in the file system of a folder, in bytes. */
export async function readFreeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}
