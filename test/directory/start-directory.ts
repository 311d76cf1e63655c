import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import {
  createManualClock,
  silentLog,
  type Closable,
  type Log,
  type ManualClock,
} from '../../src/core/index.ts';
import { loadBuiltInGazetteer, type Gazetteer } from '../../src/lib/geo/index.ts';
import {
  createMetrics,
  hasDataKeys,
  joinNodes,
  loadConfig,
  loadMasterKeys,
  openVault,
  type Storage,
} from '../../src/platform/index.ts';
import { createMigratedDatabase, type TestDatabase } from '../support/storage.ts';
import { createAudit, type Audit } from '../../src/service/audit/index.ts';
import {
  openStream,
  createDirectory,
  openInput,
  recordFields,
  type AddressStates,
  type Directory,
  type DirectoryLimits,
  type ImportRequest,
  type LoadReport,
} from '../../src/service/directory/index.ts';
import { loadState, updateState } from '../../src/service/directory/store/state.ts';
import type { DirectoryTables } from '../../src/service/directory/store/tables.ts';
import { createOauth, type ClientLimits, type Oauth } from '../../src/service/oauth/index.ts';

/** A directory answer as tests read it. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: {
    status?: string;
    providers?: Record<string, unknown>[];
    totalCount?: string;
    code?: number;
    message?: string;
    errors?: { field: string; reason: string; detail: string }[];
    requestId?: string;
  };
}

/** The directory behind real HTTP on loopback, and a token for it. */
export interface ServedDirectory {
  readonly baseUrl: string;
  readonly token: string;
}

/** A directory with an empty database in its own folder. What is asked by HTTP starts that. */
export interface TestDirectory extends Closable {
  readonly directory: Directory;
  readonly storage: Storage;
  readonly audit: Audit;
  readonly oauth: Oauth;
  readonly clock: ManualClock;
  serve(): Promise<ServedDirectory>;
  readonly folder: string;
  readonly database: TestDatabase;
  readonly snapshotDir: string;
  /** GET of the search with these parameters, a text being a raw query string. */
  search(query: Record<string, string | number> | string, headers?: Record<string, string>): Promise<Reply>;
  get(path: string, headers?: Record<string, string>): Promise<Reply>;
  /** Imports CSV text in our own columns; any loss is accepted unless `into` says otherwise. */
  load(
    csv: string,
    kind?: 'full' | 'incremental',
    into?: Pick<ImportRequest, 'sourceName' | 'exportRight' | 'acceptLoss' | 'maxRefusedShare'>,
  ): Promise<LoadReport>;
  createToken(settings?: {
    scopes?: string[];
    limits?: ClientLimits;
    acceptsDataUse?: boolean;
    clientId?: string;
  }): Promise<string>;
}

export interface TestDirectoryOptions {
  readonly limits?: Partial<DirectoryLimits>;
  readonly gazetteer?: Gazetteer;
  readonly pollIntervalMs?: number;
  readonly searchThreads?: number;
  /** False leaves the directory as it is before its first index is there: the active generation is missing. */
  readonly isServing?: boolean;
  /** Another program over the same database and folders. */
  readonly sharesWith?: Pick<TestDirectory, 'folder' | 'database'>;
  /** Another folder for snapshots, inside the first. */
  readonly snapshotFolder?: string;
  readonly changesBeforeRebuild?: number;
  readonly pairsMergedSingly?: number;
  /** Joins the nodes over the database under this id. */
  readonly nodeId?: string;
  /** Lines of the directory; none are kept if absent. */
  readonly log?: Log;
  /** Verification states of addresses. */
  readonly states?: (storage: Storage) => AddressStates;
}

export const testGazetteer = loadBuiltInGazetteer;

/** Limits that no test meets by accident. */
const wideLimits: DirectoryLimits = { requestsPerSecond: 1e6, requestsBurst: 1e6, recordsPerDay: 1e9 };

export async function startTestDirectory(options: TestDirectoryOptions = {}): Promise<TestDirectory> {
  const folder = options.sharesWith?.folder ?? (await mkdtemp(path.join(tmpdir(), 'openhisp-directory-')));
  const snapshotDir = path.join(folder, options.snapshotFolder ?? 'directory');
  const clock = createManualClock(new Date());
  const database = options.sharesWith?.database ?? (await createMigratedDatabase());
  const storage = await database.open();
  await storage.migrate();
  // As a command opens it, so that both may add to the audit chain.
  const keys = loadMasterKeys(
    loadConfig({}, undefined, { dataDir: folder }).vault,
    !(await hasDataKeys(storage)),
  );
  const vault = await openVault({ storage, ...keys, clock });
  const audit = createAudit({ storage, vault, clock, log: silentLog });
  const oauth = createOauth({ storage, vault, clock, audit });
  if (options.isServing === false) await breakState(storage);
  const nodes =
    options.nodeId === undefined
      ? undefined
      : await joinNodes({ storage, log: silentLog, id: options.nodeId, version: '0' });
  const directory = await createDirectory({
    storage,
    ...(nodes && { nodes }),
    clock,
    log: options.log ?? silentLog,
    audit,
    gazetteer: options.gazetteer ?? testGazetteer(),
    snapshotDir,
    limits: { ...wideLimits, ...options.limits },
    pollIntervalMs: options.pollIntervalMs ?? 50,
    searchThreads: options.searchThreads ?? 1,
    states: options.states?.(storage),
    ...(options.changesBeforeRebuild === undefined
      ? {}
      : { changesBeforeRebuild: options.changesBeforeRebuild }),
    ...(options.pairsMergedSingly === undefined ? {} : { pairsMergedSingly: options.pairsMergedSingly }),
  });
  if (options.isServing !== false) await directory.refresh();
  let serving: ReturnType<typeof listen> | undefined;
  // Loaded, compiled and started only for tests that ask by HTTP: it takes a second of processor time.
  async function listen() {
    const { createHttpApp } = await import('../../src/app/http/index.ts');
    const { directoryRoutes } = await import('../../src/app/http/directory/index.ts');
    const { fhirRoutes } = await import('../../src/app/http/fhir/index.ts');
    const { createDocumentCheck } = await import('../support/document-check.ts');
    const app = await createHttpApp({
      config: loadConfig({}, undefined, { dataDir: folder }).http,
      log: silentLog,
      oauth,
      audit,
      metrics: createMetrics(),
      routes: [
        directoryRoutes({ directory }),
        fhirRoutes({ fhir: directory.fhir, version: '0', publicUrl: undefined }),
      ],
    });
    const baseUrl = await app.listen({ host: '127.0.0.1', port: 0 });
    return {
      app,
      baseUrl,
      token: await issueToken(baseUrl),
      checkAnswer: createDocumentCheck(app.swagger()),
    };
  }
  const serve = () => (serving ??= listen());

  async function get(pathAndQuery: string, headers: Record<string, string> = {}): Promise<Reply> {
    const { baseUrl, token, checkAnswer } = await serve();
    const response = await fetch(`${baseUrl}${pathAndQuery}`, {
      headers: { authorization: `Bearer ${token}`, ...headers },
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    const { status, headers: answered } = response;
    checkAnswer({ method: 'GET', path: pathAndQuery, status, headers: answered, bytes });
    const text = bytes.toString();
    return {
      status,
      headers: answered,
      text,
      body: JSON.parse(text) as Reply['body'],
    };
  }

  async function issueToken(
    baseUrl: string,
    settings: Parameters<TestDirectory['createToken']>[0] = {},
  ): Promise<string> {
    const scopes = settings.scopes ?? ['provider-directory'];
    const credentials = await oauth.clients.create({
      name: 'test client',
      scopes,
      ...(settings.clientId === undefined ? {} : { clientId: settings.clientId }),
      ...(settings.limits === undefined ? {} : { limits: settings.limits }),
      ...(settings.acceptsDataUse === false ? {} : { dataUseAcceptedAt: clock.now() }),
    });
    const basic = Buffer.from(`${credentials.clientId}:${credentials.clientSecret}`).toString('base64');
    const response = await fetch(`${baseUrl}/oauth2/direct/v1/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${basic}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', scope: scopes.join(' ') }),
    });
    return ((await response.json()) as { access_token: string }).access_token;
  }

  return {
    directory,
    storage,
    audit,
    oauth,
    clock,
    serve,
    folder,
    database,
    snapshotDir,
    get,
    createToken: async (settings) => issueToken((await serve()).baseUrl, settings),
    search: (query, headers) => get(`/provider-directory/v2/providers${toQuery(query)}`, headers),
    async load(csv, kind = 'full', into = {}) {
      const file = path.join(folder, 'input.csv');
      await writeFile(file, csv);
      return directory.importFiles({ files: await openInput(file), kind, acceptLoss: true, ...into });
    },
    async close() {
      await (await serving)?.app.close();
      await directory.close();
      await nodes?.close();
      await audit.close();
      await storage.close();
      if (options.sharesWith === undefined) await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

async function breakState(storage: Storage): Promise<void> {
  await loadState(storage);
  await updateState(storage.tables<DirectoryTables>(), { active_load_id: 99 });
}

function toQuery(query: Record<string, string | number> | string): string {
  if (typeof query === 'string') return query === '' ? '' : `?${query}`;
  const entries = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]);
  return entries.length === 0 ? '' : `?${new URLSearchParams(entries).toString()}`;
}

/** CSV in our own columns from records that name only what matters; the Direct address is made up if missing. */
export function toCsv(
  records: readonly Readonly<Record<string, string | number>>[],
  extraColumns: readonly string[] = [],
): string {
  const columns = [...recordFields.map((field) => field.wireName as string), 'lat', 'lng', ...extraColumns];
  const rows = records.map((record, index) => {
    const full: Record<string, string | number> = {
      serv_direct_addr: `p${index + 1}@direct.test.example`,
      ...record,
    };
    return columns.map((column) => `"${String(full[column] ?? '').replaceAll('"', '""')}"`).join(',');
  });
  return `${columns.join(',')}\n${rows.join('\n')}\n`;
}

/** The names of a directory's snapshots: they change only when an index has been built. */
export async function snapshotsOf({ snapshotDir }: Pick<TestDirectory, 'snapshotDir'>): Promise<string[]> {
  return (await readdir(snapshotDir)).filter((file) => file.endsWith('.idx')).toSorted();
}

/** Begins a full load whose last octets come only with `finish`: from here to there it runs. */
export async function beginLoad(
  { directory }: TestDirectory,
  csv: string,
  sourceName: string,
  observer = directory,
): Promise<{ finish(): ReturnType<typeof directory.importFiles> }> {
  const held = Promise.withResolvers<void>();
  async function* parts(): AsyncGenerator<Buffer> {
    yield Buffer.from(csv.slice(0, -10));
    await held.promise;
    yield Buffer.from(csv.slice(-10));
  }
  const loading = directory.importFiles({
    files: openStream(Readable.from(parts())),
    kind: 'full',
    sourceName,
  });
  const failed = loading.then(() => assert.fail('the load did not wait'));
  const isRunning = async (): Promise<void> => {
    while ((await observer.status()).running === undefined)
      await new Promise((resolve) => setTimeout(resolve, 5));
  };
  await Promise.race([isRunning(), failed]);
  failed.catch(() => {});
  return {
    finish() {
      held.resolve();
      return loading;
    },
  };
}
