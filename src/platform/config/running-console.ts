import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const fileName = 'console-port';

/**
 * Stores the console's port for commands on this data folder: it differs from the setting if that port was in
 * use.
 */
export function noteConsolePort(dataDir: string, port: number): void {
  writeFileSync(path.join(dataDir, fileName), `${port}\n`, { mode: 0o600 });
}

/** The console has ended. */
export function clearConsolePort(dataDir: string): void {
  rmSync(path.join(dataDir, fileName), { force: true });
}

/**
 * The address of the data folder's console; undefined if it does not run. After a kill the old address
 * remains.
 */
export function findConsolePort(dataDir: string): number | undefined {
  try {
    const port = Number(readFileSync(path.join(dataDir, fileName), 'utf8'));
    return Number.isInteger(port) && port > 0 && port <= 65_535 ? port : undefined;
  } catch {
    return undefined;
  }
}
