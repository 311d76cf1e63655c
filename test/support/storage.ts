/**
 * Databases for tests, of the engine that `OPENHISP_TEST_ENGINE` names (`sqlite` or `postgresql`). A test that uses them
 * never names the engine, and `tools/test.ts` runs it on both.
 */
import { spawnSync } from 'node:child_process';
import { hash, randomBytes } from 'node:crypto';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { openStorage, type Storage, type StorageOptions } from '../../src/platform/index.ts';
import { baselineStatements, migrations } from '../../src/platform/storage/baseline/index.ts';
import { startPostgres, whyNoPostgres } from './postgres.ts';
import { findProgram } from './processes.ts';

const engine = process.env['OPENHISP_TEST_ENGINE'] ?? 'sqlite';
if (engine !== 'sqlite' && engine !== 'postgresql')
  throw new Error(`OPENHISP_TEST_ENGINE: unknown engine ${engine}`);

/** For the few expectations that are one engine's alone. */
export const isPostgres = engine === 'postgresql';

/**
 * Options for a test that needs both engines, or its own PostgreSQL server: its file runs once, with the tests on SQLite, where
 * there is a PostgreSQL.
 */
export function needsBothEngines(): { skip: string | false } {
  return { skip: isPostgres ? 'runs with the tests on SQLite' : (whyNoPostgres() ?? false) };
}

/** An empty database of the engine under test. */
export interface TestDatabase {
  /** Options of `openStorage` without functions, so that they can be passed to another process as JSON. */
  readonly location: Pick<StorageOptions, 'file' | 'url'>;
  /** Opens it; several times for several nodes. The caller closes it. */
  open(options?: Partial<StorageOptions>): Promise<Storage>;
  /** Runs statements past the service, as an operator at the database's console would. */
  runRaw(sql: string): Promise<void>;
  /** Every stored byte, for tests of what must not be readable. */
  readAll(): Promise<Buffer>;
}

interface Server {
  /** Address of the administrator's database. */
  readonly url: string;
  urlOf(database: string): string;
  kill?(): void;
}

const folders: string[] = [];
const databases: string[] = [];
let starting: Promise<Server> | undefined;
let server: Server | undefined;

// After the last hook of the test file has run; nothing can be awaited here.
process.once('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  if (server === undefined) return;
  if (server.kill !== undefined) return server.kill();
  const drops = databases.flatMap((name) => ['-c', `drop database if exists ${name} with (force)`]);
  spawnSync(findProgram('psql') ?? 'psql', ['-q', ...drops, server.url], { timeout: 20_000 });
});

/** Makes an empty database, by default of the engine under test. It is removed when the process ends. */
export async function createTestDatabase(
  of: 'sqlite' | 'postgresql' = isPostgres ? 'postgresql' : 'sqlite',
): Promise<TestDatabase> {
  const location: TestDatabase['location'] =
    of === 'postgresql' ? await createPostgresDatabase() : createSqliteFile();
  return testDatabaseAt(location);
}

/** A database that something else has made, of either engine. */
export function testDatabaseAt(location: TestDatabase['location']): TestDatabase {
  return {
    location,
    open: (options = {}) => openStorage({ ...location, ...options }),
    runRaw: (sql) =>
      location.url === undefined ? runOnSqlite(location.file ?? '', sql) : administrate(location.url, sql),
    readAll: () => (location.url === undefined ? readFiles(location.file ?? '') : readTables(location.url)),
  };
}

/**
 * A database of the engine under test with all migrations applied: a copy of one that was migrated once, which costs a fraction. A test
 * of the migrations starts from `createTestDatabase`.
 */
export async function createMigratedDatabase(): Promise<TestDatabase> {
  return testDatabaseAt(isPostgres ? await createMigratedPostgres() : await createMigratedFile());
}

/** A fresh database with all migrations applied. */
export async function openTestStorage(options: Partial<StorageOptions> = {}): Promise<Storage> {
  const database = await (options.migrations === undefined ? createMigratedDatabase() : createTestDatabase());
  const storage = await database.open(options);
  await storage.migrate();
  return storage;
}

function createSqliteFile(): { file: string } {
  const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-storage-'));
  folders.push(folder);
  return { file: path.join(folder, 'test.db') };
}

let migratedFile: Promise<string> | undefined;

async function createMigratedFile(): Promise<{ file: string }> {
  migratedFile ??= makeMigratedFile();
  const { file } = createSqliteFile();
  copyFileSync(await migratedFile, file);
  return { file };
}

async function makeMigratedFile(): Promise<string> {
  const location = createSqliteFile();
  await migrateAt(location);
  return location.file;
}

async function migrateAt(location: TestDatabase['location']): Promise<void> {
  const storage = await openStorage(location);
  await storage.migrate();
  await storage.close();
}

async function findServer(): Promise<Server> {
  const given = process.env['OPENHISP_TEST_POSTGRES'];
  starting ??= given === undefined ? startPostgres() : Promise.resolve(givenServer(given));
  return (server = await starting);
}

async function createPostgresDatabase(template = 'template0'): Promise<{ url: string }> {
  const running = await findServer();
  const name = `test_${randomBytes(8).toString('hex')}`;
  databases.push(name);
  await administrate(running.url, `create database ${name} template ${template}`);
  return { url: running.urlOf(name) };
}

let migratedName: Promise<string> | undefined;

async function createMigratedPostgres(): Promise<{ url: string }> {
  const running = await findServer();
  migratedName ??= findMigratedTemplate(running);
  return createPostgresDatabase(await migratedName);
}

/** The migrated database of a server that all processes of a run share; the first one that needs it makes it. */
async function findMigratedTemplate(running: Server): Promise<string> {
  const steps = [...baselineStatements('postgresql'), ...migrations.map(({ up }) => String(up))].join();
  const name = `migrated_${hash('sha256', steps).slice(0, 16)}`;
  await withClient(running.url, async (client) => {
    // Held until the connection ends.
    await client.query('select pg_advisory_lock(7301)');
    const { rowCount } = await client.query('select from pg_database where datname = $1', [name]);
    if (rowCount !== 0) return;
    // One that was left half made has this name.
    await client.query(`drop database if exists ${name}_new with (force)`);
    await client.query(`create database ${name}_new template template0`);
    await migrateAt({ url: running.urlOf(`${name}_new`) });
    await client.query(`alter database ${name}_new rename to ${name}`);
  });
  return name;
}

/** Makes an empty database on a server that the test has started and will end. Returns its address. */
export async function createDatabaseAt(
  postgres: Pick<Server, 'url' | 'urlOf'>,
  name: string,
): Promise<string> {
  await administrate(postgres.url, `create database ${name} template template0`);
  return postgres.urlOf(name);
}

function givenServer(url: string): Server {
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
  await withClient(url, (client) => client.query(sql));
}

async function withClient<R>(url: string, work: (client: pg.Client) => Promise<R>): Promise<R> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function readFiles(file: string): Promise<Buffer> {
  const parts = [file, `${file}-wal`].filter((name) => existsSync(name)).map((name) => readFileSync(name));
  return Buffer.concat(parts);
}

async function readTables(url: string): Promise<Buffer> {
  return withClient(url, async (client) => {
    const { rows: tables } = await client.query<{ name: string }>(
      `select tablename as name from pg_tables where schemaname = 'public' order by 1`,
    );
    const parts: Buffer[] = [];
    for (const { name } of tables) {
      const { rows } = await client.query<Record<string, unknown>>(`select * from "${name}"`);
      for (const value of rows.flatMap((row) => Object.values(row)))
        parts.push(Buffer.isBuffer(value) ? value : Buffer.from(`${String(value)}\n`));
    }
    return Buffer.concat(parts);
  });
}

/** Waits without holding the event loop: the transaction that it waits for may be one of this process. */
async function runOnSqlite(file: string, sql: string): Promise<void> {
  const { default: SqliteDatabase } = await import('better-sqlite3');
  const database = new SqliteDatabase(file, { timeout: 0 });
  const untilMs = performance.now() + 10_000;
  try {
    for (;;) {
      try {
        database.exec(sql);
        return;
      } catch (error) {
        const isBusy = error instanceof SqliteDatabase.SqliteError && error.code.startsWith('SQLITE_BUSY');
        if (!isBusy || performance.now() > untilMs) throw error;
        await sleep(10);
      }
    }
  } finally {
    database.close();
  }
}
