import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}\s*$/;

/**
 * The stable id of the node that works in this data folder, and owner of its leases. Leases in its name that
 * are found at start are left over from its former life and may be released.
 */
export function nodeId(dataDir: string): string {
  const file = path.join(dataDir, 'node-id');
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  try {
    writeFileSync(file, `${randomUUID()}\n`, { flag: 'wx', mode: 0o600, flush: true });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
  if (!uuid.test(readFileSync(file, 'utf8'))) {
    // A full disk or a power cut came between the file and its content. Leases of a lost id expire.
    const whole = `${file}.${randomUUID()}`;
    writeFileSync(whole, `${randomUUID()}\n`, { flag: 'wx', mode: 0o600, flush: true });
    renameSync(whole, file);
  }
  return readFileSync(file, 'utf8').trim();
}
