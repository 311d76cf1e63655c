import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { sql, type Kysely } from 'kysely';
import type { PlatformError } from '../../errors.ts';
import { openStorage } from '../open-storage.ts';
import { translated } from './errors.ts';
import { openReader } from './files.ts';
import type { Storage } from '../storage.ts';
import { hasCode, ids, row, things, withThings, type ThingTables } from '../../../../test/support/things.ts';

type Tables = ThingTables;

const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-storage-'));
after(() => rmSync(folder, { recursive: true, maxRetries: 5 }));
let files = 0;

async function openEmpty(): Promise<Storage> {
  const storage = await openStorage({ file: path.join(folder, `${++files}.db`), migrations: [things] });
  await storage.migrate();
  return storage;
}

const withStorage = (work: (storage: Storage, db: Kysely<Tables>) => Promise<void>): Promise<void> =>
  withThings(openEmpty, work);

test('the file can be read by its owner alone, is written ahead, and every commit is flushed', () =>
  withStorage(async (_storage, db) => {
    assert.equal(statSync(path.join(folder, `${files}.db`)).mode & 0o777, 0o600);
    const mode = await sql<{ journal_mode: string }>`pragma journal_mode`.execute(db);
    const sync = await sql<{ synchronous: number }>`pragma synchronous`.execute(db);
    const keys = await sql<{ foreign_keys: number }>`pragma foreign_keys`.execute(db);
    assert.deepEqual(
      [mode.rows[0]?.journal_mode, sync.rows[0]?.synchronous, keys.rows[0]?.foreign_keys],
      ['wal', 1, 1],
    );
  }));

test('what changes nothing waits for no disk, and what changes a row or the schema does', () =>
  withStorage(async (storage, db) => {
    const flushesOf = async (work: () => Promise<unknown>): Promise<number> => {
      const before = storage.counts().flushes;
      await work();
      return storage.counts().flushes - before;
    };
    const claim = () =>
      db.updateTable('thing').set({ size: 1 }).where('id', '=', 'a').returning('id').execute();
    await db.insertInto('thing').values(row('b')).execute();
    assert.equal(await flushesOf(claim), 0);
    assert.equal(await flushesOf(() => db.insertInto('thing').values(row('a')).execute()), 1);
    assert.equal(await flushesOf(claim), 1);
    assert.equal(await flushesOf(() => sql`create table other (id text)`.execute(db)), 1);
  }));

test('a write of another caller waits for the running transaction', () =>
  withStorage(async (storage, db) => {
    const order: string[] = [];
    let proceed = (): void => {};
    const gate = new Promise<void>((resolve) => (proceed = resolve));
    const transaction = storage.transaction(async (tx: Kysely<Tables>) => {
      await tx.insertInto('thing').values(row('a')).execute();
      await gate;
      order.push('transaction');
    });
    const single = db
      .insertInto('thing')
      .values(row('b'))
      .execute()
      .then(() => order.push('single'));
    const second = storage.transaction(async () => void order.push('second'));
    proceed();
    await Promise.all([transaction, single, second]);
    assert.equal(order[0], 'transaction');
    assert.deepEqual(order.slice(1).sort(), ['second', 'single']);
  }));

test('a collector that fails fails every transaction of its commit', () =>
  withStorage(async (storage, db) => {
    const collector = storage.collector<string>('test', async () => {
      throw new Error('full');
    });
    const results = await Promise.allSettled(
      ['a', 'b'].map((id) =>
        storage.transaction(async (tx: Kysely<Tables>) => {
          await tx.insertInto('thing').values(row(id)).execute();
          if (id === 'a') collector.add(tx, id);
        }),
      ),
    );
    assert.deepEqual(
      results.map((result) => result.status),
      ['rejected', 'rejected'],
    );
    assert.deepEqual(await ids(db), []);
    await db.insertInto('thing').values(row('c')).execute();
    assert.deepEqual(await ids(db), ['c']);
  }));

test('SEC-09: a backup is a complete, separate database, and never overwrites a file', () =>
  withStorage(async (storage, db) => {
    await db.insertInto('thing').values(row('a')).execute();
    const file = path.join(folder, 'copy.db');
    await storage.backup(file);
    await db.insertInto('thing').values(row('b')).execute();
    assert.equal(statSync(file).mode & 0o777, 0o600);
    await assert.rejects(storage.backup(file), /EEXIST/);
    const copy = await openStorage({ file, migrations: [things] });
    assert.deepEqual(await ids(copy.tables<Tables>()), ['a']);
    await copy.close();
  }));

test('a database that cannot be written is unavailable, which is transient', async () => {
  await (await openEmpty()).close();
  const reader = openReader(path.join(folder, `${files}.db`));
  const write = (): unknown => translated(() => reader.handle.exec("insert into thing (id) values ('a')"));
  assert.throws(
    write,
    (error) => hasCode('PLATFORM_STORAGE_UNAVAILABLE')(error) && (error as PlatformError).isTransient,
  );
  reader.handle.close();
});

test('a file that is no database, or in a folder that cannot be, is refused', async () => {
  await assert.rejects(openStorage({ file: path.join(folder, '1.db', 'x.db') }));
});

test('a backup that fails leaves no file that could pass for one', async () => {
  const storage = await openEmpty();
  await storage.close();
  const copy = path.join(folder, 'failed-copy.db');
  await assert.rejects(storage.backup(copy), {
    code: 'PLATFORM_STORAGE_UNAVAILABLE',
    message: new RegExp(`^${copy} could not be written: `),
  });
  assert.ok(!existsSync(copy));
});
