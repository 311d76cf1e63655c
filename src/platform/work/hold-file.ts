import { mkdirSync } from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import type { Closable } from '../../core/index.ts';

/**
 * Holds a lock file that one holder at a time can have; undefined if another one has it. The lock is the operating
 * system's: it ends with the process, however that ends.
 */
export function holdFile(file: string): Closable | undefined {
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  const lock = new Database(file, { timeout: 0 });
  try {
    lock.exec('begin exclusive');
  } catch (error) {
    lock.close();
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')) return undefined;
    throw error;
  }
  return {
    async close() {
      lock.close();
    },
  };
}
