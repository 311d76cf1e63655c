import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql, type Kysely } from 'kysely';
import { PlatformError } from '../errors.ts';
import type { Migration } from './migrate.ts';
import { openStorage } from './open-storage.ts';
import { translated } from './sqlite/errors.ts';
import { openReader } from './sqlite/files.ts';
import { tablesOf, type Storage } from './storage.ts';

interface Tables {
  thing: { id: string; size: number | null; content: Uint8Array | null };
}

const things: Migration = {
  name: '0001-things',
  async up(db) {
    await db.schema
      .createTable('thing')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('size', 'bigint')
      .addColumn('content', 'bytea')
      .execute();
  },
};

const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-storage-'));
after(() => rmSync(folder, { recursive: true }));
let files = 0;

async function openEmpty(): Promise<Storage> {
  const storage = await openStorage({ file: path.join(folder, `${++files}.db`), migrations: [things] });
  await storage.migrate();
  return storage;
}

async function withStorage(work: (storage: Storage, db: Kysely<Tables>) => Promise<void>): Promise<void> {
  const storage = await openEmpty();
  try {
    await work(storage, storage.tables<Tables>());
  } finally {
    await storage.close();
  }
}

const ids = async (db: Kysely<Tables>): Promise<string[]> =>
  (await db.selectFrom('thing').select('id').orderBy('id').execute()).map((row) => row.id);
const row = (id: string): Tables['thing'] => ({ id, size: null, content: null });
const hasCode = (code: string) => (error: unknown) => error instanceof PlatformError && error.code === code;

test('large integers come back as numbers, blobs as bytes', () =>
  withStorage(async (_storage, db) => {
    const sent = { id: 'a', size: 1_795_000_000_123, content: new Uint8Array([0, 255, 10]) };
    await db.insertInto('thing').values(sent).execute();
    const found = await db.selectFrom('thing').selectAll().executeTakeFirstOrThrow();
    assert.equal(found.size, sent.size);
    assert.deepEqual([...(found.content ?? [])], [0, 255, 10]);
  }));

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

test('a transaction that throws leaves nothing behind', () =>
  withStorage(async (storage, db) => {
    const work = storage.transaction(async (tx: Kysely<Tables>) => {
      await tx.insertInto('thing').values(row('a')).execute();
      throw new Error('no');
    });
    await assert.rejects(work, /no/);
    assert.deepEqual(await ids(db), []);
  }));

test('outside of a running transaction only what was committed is seen', () =>
  withStorage(async (storage, db) => {
    await storage.transaction(async (tx: Kysely<Tables>) => {
      await tx.insertInto('thing').values(row('a')).execute();
      assert.deepEqual(await ids(tx), ['a']);
      assert.deepEqual(await ids(db), []);
    });
    assert.deepEqual(await ids(db), ['a']);
  }));

test('a write of somebody else waits for the running transaction', () =>
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

test('transactions that come together share one commit, and one that fails takes none along', () =>
  withStorage(async (storage, db) => {
    const before = storage.counts();
    const results = await Promise.allSettled(
      ['a', 'b', 'c', 'd'].map((id) =>
        storage.transaction(async (tx: Kysely<Tables>) => {
          await tx.insertInto('thing').values(row(id)).execute();
          if (id === 'b') throw new Error('on purpose');
          return id;
        }),
      ),
    );
    assert.deepEqual(
      results.map((result) => (result.status === 'fulfilled' ? result.value : 'failed')),
      ['a', 'failed', 'c', 'd'],
    );
    assert.deepEqual(await ids(db), ['a', 'c', 'd']);
    const after = storage.counts();
    assert.equal(after.commits - before.commits, 1);
    assert.ok(after.flushes - before.flushes >= 1);
  }));

test('what follows a commit runs after it, and not at all after a rollback', () =>
  withStorage(async (storage, db) => {
    const seen: string[] = [];
    await Promise.allSettled([
      storage.transaction(async (tx: Kysely<Tables>) => {
        storage.afterCommit(tx, () => seen.push('kept'));
        await tx.insertInto('thing').values(row('a')).execute();
        seen.push('working');
      }),
      storage.transaction(async (tx: Kysely<Tables>) => {
        storage.afterCommit(tx, () => seen.push('never'));
        throw new Error('on purpose');
      }),
    ]);
    assert.deepEqual(seen, ['working', 'kept']);
    assert.deepEqual(await ids(db), ['a']);
  }));

test('collected items of a commit are written together at its end, without those of a rollback', () =>
  withStorage(async (storage, db) => {
    const written: (readonly string[])[] = [];
    const collector = storage.collector<string>('test', async (tx, items) => {
      written.push(items);
      for (const id of items) await tablesOf<Tables>(tx).insertInto('thing').values(row(id)).execute();
    });
    await Promise.allSettled(
      ['a', 'b', 'c'].map((id) =>
        storage.transaction(async (tx) => {
          collector.add(tx, `${id}1`);
          await nextTurn();
          collector.add(tx, `${id}2`);
          if (id === 'b') throw new Error('on purpose');
        }),
      ),
    );
    assert.deepEqual(written.flat(), ['a1', 'a2', 'c1', 'c2']);
    assert.deepEqual(await ids(db), ['a1', 'a2', 'c1', 'c2']);
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

test('a transaction that was kept and used after its end is refused', () =>
  withStorage(async (storage) => {
    let kept: Kysely<Tables> | undefined;
    await storage.transaction(async (tx: Kysely<Tables>) => {
      kept = tx;
    });
    await assert.rejects(
      async () => kept?.insertInto('thing').values(row('late')).execute(),
      hasCode('PLATFORM_STORAGE_FAILED'),
    );
  }));

test('a prepared query takes its values when it runs, inside a transaction and outside', () =>
  withStorage(async (storage, db) => {
    const insert = storage.prepare<Tables, { id: string; size: number }>((query, { id, size }) =>
      query.insertInto('thing').values({ id, size, content: null }),
    );
    const find = storage.prepare<Tables, { least: number }, { id: string }>((query, { least }) =>
      query.selectFrom('thing').select('id').where('size', '>=', least).orderBy('id'),
    );
    await storage.transaction(async (tx) => {
      assert.equal(await insert.run(tx, { id: 'a', size: 1 }), 1);
      assert.deepEqual(await find.all(tx, { least: 1 }), [{ id: 'a' }]);
    });
    assert.equal(await insert.run(db, { id: 'b', size: 2 }), 1);
    assert.deepEqual(await find.first(db, { least: 2 }), { id: 'b' });
    assert.equal(await find.first(db, { least: 3 }), undefined);
  }));

test('a write or a transaction that would wait for its own transaction is refused at once', () =>
  withStorage(async (storage, db) => {
    await storage.transaction(async (tx: Kysely<Tables>) => {
      await tx.insertInto('thing').values(row('a')).execute();
      const nested = async (): Promise<void> => {};
      await assert.rejects(
        async () => db.insertInto('thing').values(row('b')).execute(),
        hasCode('PLATFORM_STORAGE_NESTED'),
      );
      await assert.rejects(async () => storage.transaction(nested), hasCode('PLATFORM_STORAGE_NESTED'));
    });
    await db.insertInto('thing').values(row('c')).execute();
    assert.deepEqual(await ids(db), ['a', 'c']);
  }));

test('a second row of the same key is told as such and the transaction can go on elsewhere', () =>
  withStorage(async (_storage, db) => {
    await db.insertInto('thing').values(row('a')).execute();
    await assert.rejects(
      async () => db.insertInto('thing').values(row('a')).execute(),
      hasCode('PLATFORM_STORAGE_DUPLICATE'),
    );
    await assert.rejects(
      async () => sql`select * from nowhere`.execute(db),
      hasCode('PLATFORM_STORAGE_FAILED'),
    );
    await db.insertInto('thing').values(row('b')).execute();
  }));

test('many rows go in by one call, from a list or from a stream, and are part of the transaction', () =>
  withStorage(async (storage, db) => {
    const list = Array.from({ length: 2500 }, (_, index) => [`a${index}`, index]);
    async function* stream(): AsyncIterable<[string, number]> {
      for (let index = 0; index < 1500; index++) yield [`b${index}`, index];
    }
    await storage.transaction(async (tx: Kysely<Tables>) => {
      const columns = ['id', 'size'];
      assert.equal(await storage.bulkInsert(tx, { table: 'thing', columns, rows: list }), 2500);
      assert.equal(await storage.bulkInsert(tx, { table: 'thing', columns, rows: stream() }), 1500);
      assert.equal(await storage.bulkInsert(tx, { table: 'thing', columns, rows: [] }), 0);
    });
    assert.equal((await ids(db)).length, 4000);
    await assert.rejects(storage.bulkInsert(db, { table: 'thing', columns: ['id'], rows: [] }), TypeError);
  }));

test('a stream sees the state at its beginning and holds up nobody', () =>
  withStorage(async (storage, db) => {
    await storage.transaction((tx: Kysely<Tables>) =>
      storage.bulkInsert(tx, {
        table: 'thing',
        columns: ['id'],
        rows: Array.from({ length: 30 }, (_, index) => [`${index}`]),
      }),
    );
    let count = 0;
    for await (const _ of db.selectFrom('thing').selectAll().stream(10)) {
      if (count++ === 0) await db.insertInto('thing').values(row('new')).execute();
    }
    assert.equal(count, 30);
    assert.equal((await ids(db)).length, 31);
  }));

test('SEC-09: a backup is a whole database of its own, and never overwrites a file', () =>
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

test('a database of a newer program is refused', async () => {
  const storage = await openEmpty();
  const file = path.join(folder, `${files}.db`);
  await storage.close();
  const older = await openStorage({ file, migrations: [] });
  await assert.rejects(older.migrate(), hasCode('PLATFORM_STORAGE_NEWER'));
  await older.close();
});

test('a migration that fails leaves the schema as it was', async () => {
  const broken: Migration = {
    name: '0002-broken',
    up: async (db) => db.schema.createTable('thing').execute(),
  };
  const storage = await openStorage({
    file: path.join(folder, `${++files}.db`),
    migrations: [things, broken],
  });
  await assert.rejects(storage.migrate());
  const tables = await sql<{ name: string }>`select name from sqlite_master where type = 'table'`.execute(
    storage.db,
  );
  assert.deepEqual(tables.rows, []);
  await storage.close();
});

test('a closed storage says so', async () => {
  const storage = await openEmpty();
  await storage.check();
  await storage.close();
  await storage.close();
  await assert.rejects(async () => storage.check(), hasCode('PLATFORM_STORAGE_CLOSED'));
  await assert.rejects(async () => ids(storage.tables<Tables>()), hasCode('PLATFORM_STORAGE_CLOSED'));
});

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
