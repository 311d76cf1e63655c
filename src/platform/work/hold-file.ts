import { mkdirSync } from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import type { Closable } from '../../core/index.ts';
import { PlatformError } from '../errors.ts';

/**
 * Holds a lock file that one holder at a time can have; undefined if another one has it. The lock is the
 * operating system's: it ends with the process, however that ends. Throws PLATFORM_STORAGE_UNAVAILABLE, which
 * names the file, if it cannot be written.
 */
export function holdFile(file: string): Closable | undefined {
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  let lock: Database.Database | undefined;
  try {
    lock = new Database(file, { timeout: 0 });
    lock.exec('begin exclusive');
  } catch (error) {
    lock?.close();
    if (!(error instanceof Database.SqliteError)) throw error;
    if (error.code.startsWith('SQLITE_BUSY')) return undefined;
    throw new PlatformError(
      'PLATFORM_STORAGE_UNAVAILABLE',
      `${file} cannot be written: ${error.message}. Check the owner and mode of its folder, and whether its file system is full or read-only.`,
      { cause: error },
    );
  }
  const held = lock;
  return {
    async close() {
      held.close();
    },
  };
}
