/** Runs in a worker thread: moves the write-ahead log into the database file. */
import { serveTasks } from '../../../core/threads/index.ts';
import SqliteDatabase from 'better-sqlite3';

export interface CheckpointTask {
  readonly file: string;
}

let opened: SqliteDatabase.Database | undefined;

export interface CheckpointResult {
  /** Pages of 4 kB that were in the log when the checkpoint began. */
  readonly logPages: number;
}

function checkpoint({ file }: CheckpointTask): CheckpointResult {
  if (opened === undefined) {
    opened = new SqliteDatabase(file, { timeout: 0 });
    // NORMAL flushes the log before pages are moved and the database afterwards.
    opened.pragma('synchronous = NORMAL');
    opened.pragma('wal_autocheckpoint = 0');
  }
  const [row] = opened.pragma('wal_checkpoint(PASSIVE)') as readonly { log: number }[];
  return { logPages: row?.log ?? 0 };
}

serveTasks(checkpoint, () => []);
