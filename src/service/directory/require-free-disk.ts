import { readFreeBytes } from '../../platform/index.ts';
import { DirectoryError } from './errors.ts';

export interface FreeDisk {
  /** `import` or `upload`. */
  readonly what: string;
  readonly folder: string;
  readonly neededBytes: number;
  /** Free space that must remain on the disk of the folder. */
  readonly minFreeBytes: number;
  readonly readFree?: ((folder: string) => Promise<number>) | undefined;
}

/** Throws DIRECTORY_DISK_LOW. */
export async function requireFreeDisk(disk: FreeDisk): Promise<void> {
  const { what, folder, neededBytes, minFreeBytes, readFree = readFreeBytes } = disk;
  const free = await readFree(folder);
  if (free - neededBytes >= minFreeBytes) return;
  throw new DirectoryError(
    'DIRECTORY_DISK_LOW',
    `The ${what} needs ${megabytes(neededBytes + minFreeBytes)} MB of free disk, ${megabytes(free)} MB are free`,
  );
}

export const megabytes = (bytes: number): number => Math.ceil(bytes / 1e6);
