import { mkdirSync } from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import type { Closable } from '../../core/index.ts';
import { PlatformError } from '../errors.ts';

/**
 * Holds a data folder for one server process. Two servers in one folder would share a node id and take each other's
 * leases for their own left-overs. The lock is the operating system's: it ends with the process, however that ends.
 * Throws PLATFORM_DATA_DIR_BUSY. Commands may work on the folder meanwhile.
 */
export function holdDataDir(dataDir: string): Closable {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const lock = new Database(path.join(dataDir, 'server.lock'), { timeout: 0 });
  try {
    lock.exec('begin exclusive');
  } catch (cause) {
    lock.close();
    throw new PlatformError('PLATFORM_DATA_DIR_BUSY', `another server is running in ${dataDir}`, { cause });
  }
  return {
    async close() {
      lock.close();
    },
  };
}
