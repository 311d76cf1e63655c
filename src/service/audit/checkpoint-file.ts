import { existsSync } from 'node:fs';
import { open, readFile, rename } from 'node:fs/promises';

/** Checkpoints in a file: one compact JWS per line, the oldest first. None if there is no file. */
export async function readCheckpointFile(file: string): Promise<readonly string[]> {
  if (!existsSync(file)) return [];
  const text = await readFile(file, 'utf8');
  return text.split('\n').filter((line) => line.trim() !== '');
}

/** Adds one, durably. */
export async function appendToCheckpointFile(file: string, statement: string): Promise<void> {
  const handle = await open(file, 'a', 0o600);
  try {
    await handle.write(`${statement}\n`);
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

/** Renames the file, so that a new one begins. Returns its new name; undefined if there is none. */
export async function renameCheckpointFile(file: string, now: Date): Promise<string | undefined> {
  if (!existsSync(file)) return undefined;
  const renamed = `${file}.${now.toISOString().replaceAll(/[-:.]/g, '')}`;
  await rename(file, renamed);
  return renamed;
}
