import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { runCommand } from '../../../../test/support/run-command.ts';
import { sql } from 'kysely';
import { silentLog, systemClock } from '../../../core/index.ts';
import { createMigratedDatabase, isPostgres, type TestDatabase } from '../../../../test/support/storage.ts';
import { createContentStore, openVault, parseMasterKey } from '../../../platform/index.ts';
import { appendToCheckpointFile, createAudit } from '../../../service/audit/index.ts';
import { describeError } from '../describe-error.ts';
import { encryptedColumns, type VerifyFinding } from './verify-installation.ts';

const folders: string[] = [];
after(() => folders.forEach((folder) => rmSync(folder, { recursive: true, maxRetries: 5 })));

interface Installation {
  readonly database: TestDatabase;
  readonly dataDir: string;
  readonly checkpoints: string;
  run(...words: string[]): Promise<{ out: string; note: string; code: number }>;
  /** The faults reported by `verify --json`. */
  faults(): Promise<readonly VerifyFinding[]>;
}

async function install(): Promise<Installation> {
  const database = await createMigratedDatabase();
  const dataDir = mkdtempSync(path.join(tmpdir(), 'openhisp-verify-'));
  folders.push(dataDir);
  const { url, file } = database.location;
  const where = url === undefined ? { OPENHISP_STORAGE_FILE: file ?? '' } : { OPENHISP_STORAGE_URL: url };
  async function run(...words: string[]): Promise<{ out: string; note: string; code: number }> {
    const { out, note, exitCode } = await runCommand({ OPENHISP_DATA_DIR: dataDir, ...where }, words);
    return { out, note, code: exitCode ?? 0 };
  }
  // Its database file exists already where the test makes it.
  rmSync(file ?? '', { force: true });
  await run('init', '--exist-ok');
  await run('domain', 'add', 'direct.example.org');
  return {
    database,
    dataDir,
    checkpoints: path.join(dataDir, 'audit-checkpoints.jws'),
    run,
    async faults() {
      const { out, code } = await run('verify', '--json');
      const { intact, findings } = JSON.parse(out) as { intact: boolean; findings: VerifyFinding[] };
      const faults = findings.filter(({ isIntact }) => !isIntact);
      assert.deepEqual([intact, code], [faults.length === 0, faults.length === 0 ? 0 : 1]);
      for (const { text, advice } of faults) assert.ok(text !== '' && advice !== '');
      return faults;
    },
  };
}

const dropTriggers = ['audit_event_unchanged', 'audit_event_kept'].map(
  (name) => `drop trigger ${name}${isPostgres ? ' on audit_event' : ''}`,
);

test('a new installation has a first audit row and is intact; each check names its subject', async () => {
  const { run, faults } = await install();
  assert.deepEqual(await faults(), []);
  const { out, code } = await run('verify');
  assert.equal(code, 0);
  for (const check of ['database', 'audit', 'rows', 'vault', 'directory'])
    assert.match(out, new RegExp(`^ok +${check}: `, 'm'));
  const audited = await run('audit', 'verify');
  assert.match(audited.out, /^\d events, 1 to \d$/m);
  const first = (await run('audit', 'list', '--action', 'audit.begin')).out;
  assert.equal((JSON.parse(first) as { sequence: number }).sequence, 1);
});

test('finds and names rows changed in the database, and accepts them with a reason', async () => {
  const { database, run, faults } = await install();
  await database.runRaw("insert into hosted_domain (domain, created_at) values ('evil.example.org', 1)");
  const [fault, ...more] = await faults();
  assert.deepEqual(more, []);
  assert.match(fault?.text ?? '', /^hosted_domain:evil\.example\.org has no MAC/);
  await assert.rejects(run('verify', '--accept', 'hosted_domain:evil.example.org'), /--reason: missing\./);
  assert.equal((await faults()).length, 1);
  await run(
    'verify',
    '--accept',
    'hosted_domain:evil.example.org',
    '--reason',
    'added by the migration team',
  );
  assert.deepEqual(await faults(), []);
  assert.match((await run('audit', 'list', '--action', 'integrity.accept')).out, /migration team/);
  await assert.rejects(run('verify', '--accept', 'hosted_domain:none.example.org', '--reason', 'x'), {
    code: 'INTEGRITY_ROW_UNKNOWN',
    message: /no row none/,
  });
});

test('a file of checkpoints that is named must be one: a comparison with nothing would pass', async () => {
  const { run, dataDir, database, checkpoints } = await install();
  const server = await openServer(database, checkpoints);
  await server.checkpoint();
  await server.close();
  const file = (name: string, text?: string) => {
    const named = path.join(dataDir, name);
    if (text !== undefined) writeFileSync(named, text);
    return named;
  };
  const key = file('key.json', (await run('audit', 'public-key')).out);
  const copy = file('copy.jws', readFileSync(checkpoints, 'utf8'));
  const commands = (named: string) => [
    ['verify', '--checkpoints', named],
    ['audit', 'verify', '--checkpoints', named],
    ['audit', 'verify-checkpoints', named, '--public-key', key],
  ];
  for (const words of commands(copy)) assert.equal((await run(...words)).code, 0, words.join(' '));
  for (const [named, reason] of [
    [file('missing.jws'), /missing\.jws: not found/],
    [file('empty.jws', '\n'), /empty\.jws: the file has no checkpoint/],
    [file('other.jws', '127.0.0.1 localhost\n'), /other\.jws: not a file of audit checkpoints/],
  ] as const)
    for (const words of commands(named)) {
      const { note, code } = await run(...words).catch((error: unknown) => ({
        note: describeError(error),
        code: 1,
      }));
      assert.equal(code, 1, words.join(' '));
      assert.match(note, reason, words.join(' '));
    }
  const { note } = await run('audit', 'verify-checkpoints', copy, '--public-key', copy);
  assert.match(note, /copy\.jws: not an Ed25519 public key as a JWK/);
});

test('an audit chain with rows missing at the front, at the end, or without any: exit 1', async () => {
  for (const cut of ['sequence = 1', 'sequence > 1', 'sequence > 0']) {
    const { database, run, faults, checkpoints } = await install();
    await run('domain', 'add', 'second.example.org');
    const server = await openServer(database, checkpoints);
    await server.checkpoint();
    await server.close();
    assert.equal((await run('audit', 'verify')).code, 0);
    for (const statement of [...dropTriggers, `delete from audit_event where ${cut}`])
      await database.runRaw(statement);
    assert.equal((await run('audit', 'verify')).code, 1, cut);
    const [fault] = await faults();
    assert.equal(fault?.check, 'audit', cut);
  }
});

test('a database that was put back to before its last checkpoint is found by the file; restart continues', async () => {
  const { database, run, checkpoints } = await install();
  const server = await openServer(database, checkpoints);
  await server.checkpoint();
  const [{ sequence }] = await listEvents(run);
  await run('domain', 'add', 'second.example.org');
  await server.checkpoint();
  await server.close();
  const [first = ''] = readFileSync(checkpoints, 'utf8').split('\n');
  for (const statement of [
    ...dropTriggers,
    `delete from audit_event where sequence > ${sequence}`,
    `update audit_checkpoint set statement = '${first}'`,
  ])
    await database.runRaw(statement);
  const verified = await run('audit', 'verify');
  assert.equal(verified.code, 1);
  assert.match(verified.note, new RegExp(`audit events after ${sequence} are missing`));
  const restarted = await run('audit', 'restart', '--reason', 'restored from the backup of Monday');
  assert.match(restarted.out, /audit-checkpoints\.jws\.\d+T\d+Z: keep them/);
  assert.equal((await run('audit', 'verify')).code, 0);
  const [event] = await listEvents(run);
  assert.equal(event.action, 'audit.restart');
  assert.equal(event.objects['reason'], 'restored from the backup of Monday');
});

test('after a restore, also on a machine without checkpoints, nothing uses what was numbered since the backup', async () => {
  const { database, dataDir, run } = await install();
  const { out } = await run(
    'client',
    'create',
    'EHR',
    '--address',
    '@direct.example.org',
    '--scope',
    'messaging.api',
  );
  await run('edge', 'create', /hisp-\w+/.exec(out)?.[0] ?? '', 'ann@direct.example.org');
  await database.runRaw("update edge_mailbox set uid_validity = 1000 where name = 'INBOX'");
  const storage = await database.open();
  const validities = async (): Promise<readonly number[]> => {
    const { rows } = await sql<{ at: number }>`select uid_validity as at from edge_mailbox`.execute(
      storage.db,
    );
    return rows.map(({ at }) => Number(at)).toSorted((one, other) => one - other);
  };
  const [restored, ...others] = await validities();
  await run('address', 'add', 'ann@direct.example.org', '--last-name', 'Lee');
  const { rows } = await sql<{
    revision: number;
    secret: Uint8Array;
  }>`select revision, secret from directory_state`.execute(storage.db);
  const nextId = async (): Promise<number> => {
    const found = await sql<{ id: number }>`select next_record_id as id from directory_state`.execute(
      storage.db,
    );
    return Number(found.rows[0]?.id);
  };
  const before = await nextId();
  const [{ revision, secret }] = rows as [(typeof rows)[0]];
  const id = createHash('sha256').update('snapshot').update(secret).digest('hex').slice(0, 12);
  const fileOf = (load: number, more: number): string =>
    path.join(dataDir, 'directory', `${id}-${load}-${Number(revision) + more}.idx`);
  const kept = fileOf(0, 0);
  const later = [fileOf(0, 1), fileOf(7, 0)];
  mkdirSync(path.join(dataDir, 'directory'), { recursive: true });
  for (const file of [kept, ...later]) writeFileSync(file, '');
  assert.equal(restored, 1000);
  const restarted = await run('audit', 'restart', '--reason', 'a new machine');
  assert.match(restarted.out, /There are no checkpoints in .*audit-checkpoints\.jws/);
  const renewed = await validities();
  assert.ok(Math.min(...renewed) > Date.now() / 1000 - 60 && Math.max(...renewed) > Math.max(...others));
  // With one more change the directory would be served from it, with addresses that are not stored.
  assert.deepEqual(
    [kept, ...later].map((file) => existsSync(file)),
    [true, false, false],
  );
  // Clients keep the ids of records: none of the lost time is given to another.
  assert.ok((await nextId()) - before > 10_000_000);
  await storage.close();
});

test('a database whose audit chain has lost its key is opened by nothing, and not by a restart either', async () => {
  const { database, run, checkpoints } = await install();
  const server = await openServer(database, checkpoints);
  await server.checkpoint();
  await server.close();
  await database.runRaw('delete from audit_chain');
  await assert.rejects(run('domain', 'list'), /checkpoints of an audit chain.*openhisp audit restart/);
  const { out, code } = await run('verify', '--json');
  assert.equal(code, 1);
  assert.match(out, /checkpoints of an audit chain, but the database has none/);
  await assert.rejects(
    run('audit', 'restart', '--reason', 'x'),
    /names the key of the audit chain was deleted/,
  );
  assert.ok(readFileSync(checkpoints, 'utf8').startsWith('ey'));
});

test('checkpoints are verified offline by the public key alone', async () => {
  const { database, run, dataDir, checkpoints } = await install();
  const server = await openServer(database, checkpoints);
  await server.checkpoint();
  await run('domain', 'add', 'second.example.org');
  await server.checkpoint();
  await server.close();
  const key = path.join(dataDir, 'audit-key.json');
  writeFileSync(key, (await run('audit', 'public-key')).out);
  const good = await run('audit', 'verify-checkpoints', checkpoints, '--public-key', key);
  assert.equal(good.code, 0);
  assert.ok((JSON.parse(good.out) as { last: { sequence: number } }).last.sequence > 1);
  const lines = readFileSync(checkpoints, 'utf8');
  appendFileSync(checkpoints, lines.split('\n')[0] ?? '');
  assert.equal((await run('audit', 'verify-checkpoints', checkpoints, '--public-key', key)).code, 1);
  writeFileSync(
    checkpoints,
    lines.replace(/\.(.)/, (_all, one: string) => `.${one === 'e' ? 'f' : 'e'}`),
  );
  assert.equal((await run('audit', 'verify-checkpoints', checkpoints, '--public-key', key)).code, 1);
  const other = await install();
  writeFileSync(key, (await other.run('audit', 'public-key')).out);
  writeFileSync(checkpoints, lines);
  assert.equal((await run('audit', 'verify-checkpoints', checkpoints, '--public-key', key)).code, 1);
});

test('finds a changed or truncated encrypted value or chunk', async () => {
  const { database, dataDir, faults } = await install();
  const storage = await database.open();
  const masterKey = parseMasterKey(readFileSync(path.join(dataDir, 'master.key'), 'utf8'));
  const vault = await openVault({ storage, masterKey, clock: systemClock });
  const contents = createContentStore({ storage, vault, clock: systemClock });
  const large = await contents.write(Buffer.alloc(3_000_000, 7), 'inbox:large');
  const small = await contents.write(Buffer.from('x'), 'inbox:small');
  await storage.transaction((tx) => contents.keepIn(tx, large));
  const columns = await sql<{ name: string; type: string }>`${
    isPostgres
      ? sql`select column_name::text as name, data_type::text as type from information_schema.columns where table_schema = current_schema() and table_name = 'inbox_message' and is_nullable = 'NO'`
      : sql`select name, type from pragma_table_info('inbox_message') where "notnull" = 1 or pk = 1`
  }`.execute(storage.db);
  for (const [id, stored] of [
    ['large', large],
    ['small', small],
  ] as const) {
    const names = columns.rows.map(({ name }) => name);
    const values = columns.rows.map(({ name, type }): unknown => {
      if (name === 'id') return id;
      if (name === 'sealed_message') return stored;
      return /int/i.test(type) ? 1 : 'x';
    });
    await sql`insert into inbox_message (${sql.join(names.map((name) => sql.ref(name)))})
      values (${sql.join(values)})`.execute(storage.db);
  }
  assert.deepEqual(await faults(), []);
  await sql`delete from content_part where position = 1`.execute(storage.db);
  await sql`update inbox_message set sealed_message = ${vault.encrypt(Buffer.from('x'), 'inbox:other')} where id = 'small'`.execute(
    storage.db,
  );
  await storage.close();
  assert.deepEqual(
    (await faults()).map(({ check, text }) => `${check} ${text}`),
    [
      'vault inbox_message:large sealed_message cannot be decrypted (PLATFORM_CONTENT_MISSING).',
      'vault inbox_message:small sealed_message cannot be decrypted (PLATFORM_SEAL_BROKEN).',
    ],
  );
});

test('examines every encrypted column of the schema', async () => {
  const { database } = await install();
  const storage = await database.open();
  const { rows } = await sql<{ place: string }>`${
    isPostgres
      ? sql`select table_name || '.' || column_name as place from information_schema.columns
          where table_schema = current_schema() and column_name like 'sealed\\_%'`
      : sql`select t.name || '.' || c.name as place from sqlite_schema t, pragma_table_info(t.name) c
          where t.type = 'table' and c.name like 'sealed\\_%' escape '\\'`
  }`.execute(storage.db);
  await storage.close();
  assert.deepEqual(
    rows.map(({ place }) => place).sort(),
    encryptedColumns.map(({ table, column }) => `${table}.${column}`).sort(),
  );
});

test(
  'a damaged database file is found',
  { skip: isPostgres ? 'PostgreSQL examines its own files' : false },
  async () => {
    const { database, faults } = await install();
    const file = database.location.file ?? '';
    const bytes = readFileSync(file);
    // Past the header and the schema: a page of some table or index.
    for (let at = 4096 * 20 + 8; at < bytes.length; at += 4096 * 3) bytes.fill(0xff, at, at + 60);
    writeFileSync(file, bytes);
    assert.ok((await faults()).length > 0);
  },
);

interface Listed {
  readonly sequence: number;
  readonly action: string;
  readonly objects: Readonly<Record<string, string>>;
}

async function listEvents(run: Installation['run']): Promise<readonly [Listed, ...Listed[]]> {
  const { out } = await run('audit', 'list');
  return out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Listed) as [Listed, ...Listed[]];
}

/** Does the periodic work of a running server: a checkpoint in the database and in the file. */
async function openServer(
  database: TestDatabase,
  checkpoints: string,
): Promise<{ checkpoint(): Promise<void>; close(): Promise<void> }> {
  const storage = await database.open();
  const masterKey = parseMasterKey(readFileSync(path.join(path.dirname(checkpoints), 'master.key'), 'utf8'));
  const vault = await openVault({ storage, masterKey, clock: systemClock });
  const audit = createAudit({ storage, vault, clock: systemClock, log: silentLog });
  return {
    async checkpoint() {
      await audit.signCheckpoint();
      await appendToCheckpointFile(checkpoints, (await audit.lastCheckpoint())?.statement ?? '');
    },
    async close() {
      await audit.close();
      await storage.close();
    },
  };
}
