import { existsSync } from 'node:fs';
import type { Config } from './config/schema.ts';
import { PlatformError } from './errors.ts';
import { hasDataKeys } from './vault/open-vault.ts';
import type { Storage } from './storage/storage.ts';

/** The file that `storage copy` leaves next to the SQLite file. */
export function copiedMark(file: string): string {
  return `${file}.copied`;
}

/**
 * Refuses a PostgreSQL database without an installation while the SQLite file has one that was not copied: a
 * server would answer that every address is unknown, and what it or a command stores there would stop the
 * copy. Call it before anything is stored. Throws PLATFORM_INSTALLATION_MISSING.
 */
export async function refuseUncopied(
  { file, url }: Pick<Config['storage'], 'file' | 'url'>,
  storage: Storage,
): Promise<void> {
  if (url === undefined || !existsSync(file) || existsSync(copiedMark(file))) return;
  if (await hasDataKeys(storage)) return;
  throw new PlatformError(
    'PLATFORM_INSTALLATION_MISSING',
    `The database of OPENHISP_STORAGE_URL is empty, but ${file} was not copied to it. Stop the service, and run: openhisp storage copy. ` +
      `To begin with the empty database instead, move ${file} to another folder`,
  );
}
