import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import type { StateRow } from './tables.ts';

/**
 * Content of an index: one generation of one database, and the hosted records of this revision, or of a later
 * one.
 */
export interface SnapshotName {
  readonly loadId: number | null;
  readonly revision: number;
}

/** The node's snapshots of the directory: `<database>-<load>-<revision>.idx` in the folder for snapshots. */
export interface SnapshotFiles {
  pathOf(name: SnapshotName): string;
  /** The snapshots that are there, in no particular order. */
  list(): SnapshotName[];
  /**
   * Removes the snapshots of loads and revisions to come: they were written before an older copy of the
   * database was put back, and its next loads and revisions will bear the same numbers.
   */
  removeAfter(state: Pick<StateRow, 'revision' | 'next_load_id'>): void;
  /** Removes the snapshots of older loads and revisions, and files of interrupted writers. */
  keepOnly(name: SnapshotName): Promise<void>;
}

/** Younger files may still be written by another process. */
const abandonedAfterMs = 10 * 60_000;

export function openSnapshotFiles(folder: string, state: Pick<StateRow, 'secret'>): SnapshotFiles {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // A snapshot of another database with equal numbers must never be used.
  const database = createHash('sha256').update('snapshot').update(state.secret).digest('hex').slice(0, 12);
  const nameOf = ({ loadId, revision }: SnapshotName): string => `${database}-${loadId ?? 0}-${revision}.idx`;
  return {
    pathOf: (name) => path.join(folder, nameOf(name)),
    list: () => readdirSync(folder).flatMap((file) => parseName(file, database) ?? []),
    removeAfter({ revision, next_load_id: nextLoad }) {
      for (const file of readdirSync(folder)) {
        const found = parseName(file, database);
        if (found !== undefined && (found.revision > revision || (found.loadId ?? 0) >= nextLoad))
          rmSync(path.join(folder, file), { force: true });
      }
    },
    async keepOnly(name) {
      for (const file of readdirSync(folder)) {
        const found = parseName(file, database);
        const isOutdated = found !== undefined && isBefore(found, name);
        const isForeign = /\.(idx|tmp)$/.test(file) && isAbandoned(path.join(folder, file));
        // Removing hundreds of megabytes takes the disk a while.
        if (file !== nameOf(name) && (isOutdated || isForeign))
          await rm(path.join(folder, file), { force: true });
      }
    },
  };
}

const nameForm = /^([0-9a-f]{12})-([0-9]+)-([0-9]+)\.idx$/;

function parseName(file: string, database: string): SnapshotName | undefined {
  const [, owner, load, revision] = nameForm.exec(file) ?? [];
  if (owner !== database) return undefined;
  return { loadId: load === '0' ? null : Number(load), revision: Number(revision) };
}

// A running load has a higher number than every active one: its files are kept.
function isBefore(a: SnapshotName, b: SnapshotName): boolean {
  const [first, second] = [a.loadId ?? 0, b.loadId ?? 0];
  return first < second || (first === second && a.revision < b.revision);
}

function isAbandoned(file: string): boolean {
  const found = statSync(file, { throwIfNoEntry: false });
  return found !== undefined && Date.now() - found.mtimeMs > abandonedAfterMs;
}
