import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import type { StateRow } from './tables.ts';

/** What a snapshot holds: one generation at one revision of one database. */
export interface SnapshotName {
  readonly loadId: number | null;
  readonly revision: number;
}

/** The node's snapshots of the directory: `<database>-<load>-<revision>.idx` in the folder for snapshots. */
export interface SnapshotFiles {
  pathOf(name: SnapshotName): string;
  /** Removes every other snapshot and what interrupted writers have left behind. */
  keepOnly(names: readonly SnapshotName[]): void;
}

/** Younger files may still be written by another process. */
const abandonedAfterMs = 10 * 60_000;

export function openSnapshotFiles(folder: string, state: Pick<StateRow, 'secret'>): SnapshotFiles {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // A snapshot of another database with equal numbers must never be taken for ours.
  const database = createHash('sha256').update('snapshot').update(state.secret).digest('hex').slice(0, 12);
  const nameOf = ({ loadId, revision }: SnapshotName): string => `${database}-${loadId ?? 0}-${revision}.idx`;
  return {
    pathOf: (name) => path.join(folder, nameOf(name)),
    keepOnly(names) {
      const kept = new Set(names.map(nameOf));
      const newest = Math.max(0, ...names.map((name) => name.revision));
      for (const file of readdirSync(folder)) {
        const revision = Number(ownName.exec(file)?.[2] ?? Number.NaN);
        const isOutdated = file.startsWith(`${database}-`) && revision <= newest;
        const isForeign = /\.(idx|tmp)$/.test(file) && isAbandoned(path.join(folder, file));
        if (!kept.has(file) && (isOutdated || isForeign)) rmSync(path.join(folder, file), { force: true });
      }
    },
  };
}

const ownName = /^([0-9a-f]{12})-[0-9]+-([0-9]+)\.idx$/;

function isAbandoned(file: string): boolean {
  const found = statSync(file, { throwIfNoEntry: false });
  return found !== undefined && Date.now() - found.mtimeMs > abandonedAfterMs;
}
