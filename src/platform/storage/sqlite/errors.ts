import { errorText } from '../../../core/index.ts';
import { PlatformError, type PlatformErrorCode } from '../../errors.ts';

/** SQLite's result codes, by their beginning; the first that fits decides. */
const codes: readonly (readonly [prefix: string, code: PlatformErrorCode])[] = [
  ['SQLITE_CONSTRAINT_UNIQUE', 'PLATFORM_STORAGE_DUPLICATE'],
  ['SQLITE_CONSTRAINT_PRIMARYKEY', 'PLATFORM_STORAGE_DUPLICATE'],
  ['SQLITE_BUSY', 'PLATFORM_STORAGE_BUSY'],
  ['SQLITE_FULL', 'PLATFORM_STORAGE_UNAVAILABLE'],
  ['SQLITE_IOERR', 'PLATFORM_STORAGE_UNAVAILABLE'],
  ['SQLITE_READONLY', 'PLATFORM_STORAGE_UNAVAILABLE'],
  ['SQLITE_CANTOPEN', 'PLATFORM_STORAGE_UNAVAILABLE'],
  ['SQLITE_', 'PLATFORM_STORAGE_FAILED'],
];

/**
 * Runs `work` and turns the driver's errors into ours; SQLite's texts name tables and columns, never values.
 */
export function translated<R>(work: () => R): R {
  try {
    return work();
  } catch (error) {
    const found = codes.find(([prefix]) => driverCode(error).startsWith(prefix));
    if (found === undefined) throw error;
    throw new PlatformError(found[1], `the database refused: ${errorText(error)}`, { cause: error });
  }
}

export function isBusy(error: unknown): boolean {
  return error instanceof PlatformError && error.code === 'PLATFORM_STORAGE_BUSY';
}

function driverCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
