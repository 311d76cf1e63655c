/**
 * The storage port over SQLite: one writer, readers, shared commits, checkpoints of the log in a thread.
 * Used by `platform`.
 * Begin with `openSqliteStorage` here.
 */
import { PlatformError } from '../../errors.ts';
import { randomUUID } from 'node:crypto';
import { closeSync, openSync, rmSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { Kysely, SqliteAdapter, sql } from 'kysely';
import { createSteadyClock } from '../steady-clock.ts';
import { errorText, fileErrorText, type Clock } from '../../../core/index.ts';
import { migrateToLatest, type Migration } from '../migrate.ts';
import { prepareQuery } from '../prepare.ts';
import type { Storage } from '../storage.ts';
import { asTransaction, GatheringCollector } from '../transaction.ts';
import { insertOnSqlite } from './bulk-insert.ts';
import { translated } from './errors.ts';
import { createCheckpointer } from './checkpointer.ts';
import { createSqliteDialect, SqliteDriver } from './driver.ts';
import { openReader, openWriter } from './files.ts';
import { LogFlusher, type Sync } from './flusher.ts';
import { StablePlanCompiler } from './driver.ts';
import { SqliteWriter, type WriterCounts } from './writer.ts';

export interface SqliteOptions {
  /** The database file; its folder is created if missing. */
  readonly file: string;
  /** Longest wait for another process that holds the write lock. */
  readonly busyTimeoutMs?: number;
  readonly migrations: readonly Migration[];
  /** For tests; by default one that never jumps. */
  readonly clock?: Clock;
  /** See `StorageOptions.nodeId`. */
  readonly nodeId?: string;
  /** For tests of power loss; `fdatasync` by default. */
  readonly sync?: Sync;
  /** Called for failed checkpoints; the next commit retries. */
  readonly onProblem?: (text: string) => void;
}

/** SQLite's own texts do not name the file. */
function openNamed<Opened>(file: string, open: (file: string) => Opened): Opened {
  try {
    return translated(() => open(file));
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    const isDamaged = /^SQLITE_(?:CORRUPT|NOTADB)/.test((error.cause as { code: string }).code);
    const text = `${file} cannot be opened: ${errorText(error.cause)}`;
    throw new PlatformError(
      error.code,
      isDamaged ? `${text}. Keep the file, and restore a backup: docs/operations.md.` : text,
      { cause: error.cause },
    );
  }
}

/** The embedded engine: one file, one process that serves (Decision 0021). */
export async function openSqliteStorage(options: SqliteOptions): Promise<Storage> {
  const { file, busyTimeoutMs = 5000, migrations, onProblem = () => {} } = options;
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  const counts: WriterCounts = { transactions: 0, commits: 0, statements: 0 };
  const writing = openNamed(file, openWriter);
  const reading = openNamed(file, openReader);
  const flusher = new LogFlusher(file, options.sync);
  const checkpointer = createCheckpointer(file, onProblem);
  const driver = new SqliteDriver({ file, reader: reading, flusher, counts, writer: () => writer });
  const dialect = createSqliteDialect(driver);
  const writer = new SqliteWriter({
    file: writing,
    flusher,
    checkpointer,
    busyTimeoutMs,
    counts,
    onProblem,
    transactionDeps: {
      dialect,
      driver,
      compiler: new StablePlanCompiler(),
      adapter: new SqliteAdapter(),
    },
  });
  const db = new Kysely<unknown>({ dialect });
  const tasks = new Set<string>();
  const held = new Set<string>();
  const listeners = new Map<string, Set<() => void>>();
  let closing: Promise<void> | undefined;

  async function close(): Promise<void> {
    driver.close();
    await writer.idle();
    await flusher.flush().catch(() => {});
    await checkpointer.close();
    flusher.close();
    reading.handle.close();
    writing.handle.close();
  }

  const storage: Storage = {
    db,
    tables: <T>() => db as Kysely<T>,
    async transaction<T, R>(work: (tx: Kysely<T>) => Promise<R>) {
      driver.requireOpen();
      return writer.transaction((tx) => work(tx as unknown as Kysely<T>));
    },
    forUpdate: (query) => query,
    implied: (condition) => condition,
    isOneOf: (text, list) => sql`${text} in (select value from json_each(${JSON.stringify(list)}))`,
    isNoneOf: (text, list) => sql`${text} not in (select value from json_each(${JSON.stringify(list)}))`,
    afterCommit: (tx, work) => void asTransaction(tx).afterCommit.push(work),
    collector: (name, write) => new GatheringCollector(name, write),
    prepare: (build) => prepareQuery(db, build),
    async tryRunExclusive(task, work) {
      if (tasks.has(task)) return undefined;
      tasks.add(task);
      try {
        return { result: await work() };
      } finally {
        tasks.delete(task);
      }
    },
    async hold(name) {
      if (held.has(name)) return undefined;
      held.add(name);
      let isHeld = true;
      return {
        get isHeld() {
          return isHeld;
        },
        async release() {
          if (isHeld) held.delete(name);
          isHeld = false;
        },
      };
    },
    async listHeld(names) {
      return new Set(names.filter((name) => held.has(name)));
    },
    announce(tx, topic) {
      storage.afterCommit(tx, () => {
        for (const listener of listeners.get(topic) ?? []) listener();
      });
    },
    onAnnounced(topic, listener) {
      const known = listeners.get(topic) ?? new Set();
      listeners.set(topic, known.add(listener));
      return () => void known.delete(listener);
    },
    clock: options.clock ?? createSteadyClock(),
    setClock() {
      // No other process serves.
    },
    run: { nodeId: options.nodeId ?? randomUUID(), runId: randomUUID() },
    async bulkInsert(tx, insert) {
      const count = await insertOnSqlite(tx, writing, insert);
      writer.addWeight(count / 20);
      return count;
    },
    migrate: (onUpdate) => migrateToLatest(storage, { engine: 'sqlite', migrations, onUpdate }),
    async backup(copy) {
      closeSync(openSync(copy, 'wx', 0o600));
      try {
        await writing.handle.backup(copy);
      } catch (error) {
        // Half a copy must not pass for a backup.
        for (const suffix of ['', '-journal']) rmSync(`${copy}${suffix}`, { force: true });
        throw new PlatformError(
          'PLATFORM_STORAGE_UNAVAILABLE',
          `${copy} could not be written: ${fileErrorText(error)}`,
          { cause: error },
        );
      }
    },
    async verify() {
      driver.requireOpen();
      const rows = reading.prepare('pragma integrity_check(10)').all() as { integrity_check: string }[];
      const faults = rows.map((row) => row.integrity_check).filter((text) => text !== 'ok');
      if (faults.length > 0)
        throw new PlatformError('PLATFORM_STORAGE_FAILED', `the database is damaged: ${faults.join('; ')}`);
    },
    async check() {
      driver.requireOpen();
      reading.prepare('select 1').get();
      if (flusher.hasFailed) await flusher.flush();
    },
    counts: () => ({ ...counts, flushes: flusher.count }),
    close: () => (closing ??= close()),
  };
  return storage;
}
