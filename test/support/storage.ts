/**
 * Databases for tests, of the engine that `OPENHISP_TEST_ENGINE` names (`sqlite` or `postgresql`). A test that uses them
 * never names the engine, and `tools/test.ts` runs it on both.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after } from 'node:test';
import pg from 'pg';
import { openStorage, type Storage, type StorageOptions } from '../../src/platform/index.ts';
import { startPostgres, type RunningPostgres } from './postgres.ts';

const engine = process.env['OPENHISP_TEST_ENGINE'] ?? 'sqlite';
if (engine !== 'sqlite' && engine !== 'postgresql')
  throw new Error(`OPENHISP_TEST_ENGINE: unknown engine ${engine}`);

/** For the few expectations that are one engine's alone. */
export const isPostgres = engine === 'postgresql';

/** An empty database of the engine under test. */
export interface TestDatabase {
  /** What `openStorage` takes, without functions: another process can get it as JSON. */
  readonly location: Pick<StorageOptions, 'file' | 'url'>;
  /** Opens it; several times for several nodes. Closed at the end of the test file at the latest. */
  open(options?: Partial<StorageOptions>): Promise<Storage>;
  /** Runs statements past the service, as an operator at the database's console would. */
  runRaw(sql: string): Promise<void>;
}

const opened: Storage[] = [];
const folders: string[] = [];
const databases: string[] = [];
let server: Promise<RunningPostgres | { readonly url: string; urlOf(database: string): string }> | undefined;

after(async () => {
  await Promise.allSettled(opened.map((storage) => storage.close()));
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  if (server === undefined) return;
  const running = await server;
  for (const name of databases)
    await administrate(running.url, `drop database if exists ${name} with (force)`);
  if ('stop' in running) await running.stop();
});

/** Makes an empty database that is removed at the end of the test file. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const location = isPostgres ? await createPostgresDatabase() : createSqliteFile();
  return {
    location,
    async open(options = {}) {
      const storage = await openStorage({ ...location, ...options });
      opened.push(storage);
      return storage;
    },
    runRaw: (sql) =>
      location.url === undefined ? runOnSqlite(location.file ?? '', sql) : administrate(location.url, sql),
  };
}

/** A fresh database with all migrations applied. */
export async function openTestStorage(options: Partial<StorageOptions> = {}): Promise<Storage> {
  const storage = await (await createTestDatabase()).open(options);
  await storage.migrate();
  return storage;
}

function createSqliteFile(): { file: string } {
  const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-storage-'));
  folders.push(folder);
  return { file: path.join(folder, 'test.db') };
}

async function createPostgresDatabase(): Promise<{ url: string }> {
  const given = process.env['OPENHISP_TEST_POSTGRES'];
  server ??= given === undefined ? startPostgres() : Promise.resolve(givenServer(given));
  const running = await server;
  const name = `test_${randomBytes(8).toString('hex')}`;
  databases.push(name);
  await administrate(running.url, `create database ${name} template template0`);
  return { url: running.urlOf(name) };
}

function givenServer(url: string): { readonly url: string; urlOf(database: string): string } {
  return {
    url,
    urlOf: (database) => {
      const address = new URL(url);
      address.pathname = `/${database}`;
      return address.href;
    },
  };
}

async function administrate(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

async function runOnSqlite(file: string, sql: string): Promise<void> {
  const { default: SqliteDatabase } = await import('better-sqlite3');
  const database = new SqliteDatabase(file);
  try {
    database.exec(sql);
  } finally {
    database.close();
  }
}
