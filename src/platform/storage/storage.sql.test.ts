import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql, type Kysely } from 'kysely';
import { createTestDatabase, isPostgres, type TestDatabase } from '../../../test/support/storage.ts';
import { errorCode } from '../../core/index.ts';
import { refuseUpdate, type Migration } from './migrate.ts';
import { tablesOf, type Storage } from './storage.ts';
import { hasCode, ids, row, things, withThings, type ThingTables } from '../../../test/support/things.ts';

type Tables = ThingTables;

async function openEmpty(database?: TestDatabase): Promise<Storage> {
  const storage = await (database ?? (await createTestDatabase())).open({ migrations: [things] });
  await storage.migrate();
  return storage;
}

const withStorage = (work: (storage: Storage, db: Kysely<Tables>) => Promise<void>): Promise<void> =>
  withThings(openEmpty, work);

test('large integers come back as numbers, blobs as bytes', () =>
  withStorage(async (_storage, db) => {
    const sent = { id: 'a', size: 1_795_000_000_123, content: new Uint8Array([0, 255, 10]) };
    await db.insertInto('thing').values(sent).execute();
    const found = await db.selectFrom('thing').selectAll().executeTakeFirstOrThrow();
    assert.equal(found.size, sent.size);
    assert.deepEqual([...(found.content ?? [])], [0, 255, 10]);
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

test('outside a running transaction only committed data is visible', () =>
  withStorage(async (storage, db) => {
    await storage.transaction(async (tx: Kysely<Tables>) => {
      await tx.insertInto('thing').values(row('a')).execute();
      assert.deepEqual(await ids(tx), ['a']);
      assert.deepEqual(await ids(db), []);
    });
    assert.deepEqual(await ids(db), ['a']);
  }));

test('runs afterCommit work after the commit, and never after a rollback', () =>
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
    // In one call where they share a commit (SQLite), and otherwise in either order.
    const inOrder = written.toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1));
    assert.deepEqual(inOrder.flat(), ['a1', 'a2', 'c1', 'c2']);
    assert.deepEqual(await ids(db), ['a1', 'a2', 'c1', 'c2']);
  }));

test('the statements of a collector run under its lock: what one reads, no other changes', () =>
  withStorage(async (storage, db) => {
    const collector = storage.collector<string>('test', async (tx, items) => {
      const things = tablesOf<Tables>(tx);
      const { last } = await things
        .selectFrom('thing')
        .select((eb) => eb.fn.max('size').as('last'))
        .executeTakeFirstOrThrow();
      await nextTurn();
      for (const [index, id] of items.entries())
        await things
          .insertInto('thing')
          .values({ ...row(id), size: Number(last ?? 0) + index + 1 })
          .execute();
    });
    const names = Array.from({ length: 24 }, (_, index) => `t${index}`);
    await Promise.all(
      names.map((id, index) =>
        storage.transaction(async (tx) => collector.add(tx, id), index % 2 === 0 ? { shareBy: id } : {}),
      ),
    );
    const rows = await db.selectFrom('thing').select('size').orderBy('size').execute();
    assert.deepEqual(
      rows.map(({ size }) => Number(size)),
      names.map((_, index) => index + 1),
    );
  }));

test('a queued statement that fails is the failure of its transaction', () =>
  withStorage(async (storage, db) => {
    const insert = storage.prepare<Tables, { id: string }>((on, { id }) =>
      on.insertInto('thing').values({ ...row('x'), id }),
    );
    await db.insertInto('thing').values(row('taken')).execute();
    for (const options of [{}, { shareBy: 'm' }]) {
      const followed: string[] = [];
      const run = (id: string): Promise<void> =>
        storage.transaction(async (tx: Kysely<Tables>) => {
          storage.afterCommit(tx, () => followed.push(id));
          await tx
            .insertInto('thing')
            .values(row(`${id}-before`))
            .execute();
          insert.queue(tx, { id });
          insert.queue(tx, { id: `${id}-behind` });
        }, options);
      const [good, bad] = await Promise.allSettled([run('good'), run('taken')]);
      assert.equal(good?.status, 'fulfilled');
      assert.equal(bad?.status === 'rejected' && errorCode(bad.reason), 'PLATFORM_STORAGE_DUPLICATE');
      assert.deepEqual(followed, ['good']);
      assert.deepEqual(await ids(db), ['good', 'good-before', 'good-behind', 'taken']);
      await db.deleteFrom('thing').where('id', 'like', 'good%').execute();
    }
  }));

test('transactions that wait at the same time share a commit, in their order', () =>
  withStorage(async (storage, db) => {
    const seen: string[] = [];
    const before = storage.counts().commits;
    const names = ['d', 'a', 'c', 'b'];
    await Promise.all(
      names.map((id) =>
        storage.transaction(
          async (tx: Kysely<Tables>) => {
            storage.afterCommit(tx, () => seen.push(id));
            await tx.insertInto('thing').values(row(id)).execute();
          },
          { shareBy: id },
        ),
      ),
    );
    assert.equal(storage.counts().commits, before + 1);
    // SQLite runs one transaction at a time, so there is no order of locks to keep.
    assert.deepEqual(seen, isPostgres ? ['a', 'b', 'c', 'd'] : names);
    assert.deepEqual(await ids(db), ['a', 'b', 'c', 'd']);
  }));

test('a failing transaction does not roll back the others of its shared commit', () =>
  withStorage(async (storage, db) => {
    const written: string[] = [];
    const collector = storage.collector<string>('test', async (_tx, items) => void written.push(...items));
    const seen: string[] = [];
    const put = (id: string, fail: (tx: Kysely<Tables>) => Promise<unknown>) =>
      storage.transaction(
        async (tx: Kysely<Tables>) => {
          storage.afterCommit(tx, () => seen.push(id));
          collector.add(tx, id);
          await tx.insertInto('thing').values(row(id)).execute();
          await fail(tx);
          return id;
        },
        { shareBy: id },
      );
    const results = await Promise.allSettled([
      put('a', async () => {}),
      put('b', async () => Promise.reject(new Error('on purpose'))),
      put('c', async () => {}),
      put('d', async (tx) => tx.insertInto('thing').values(row('a')).execute()),
      put('e', async () => {}),
    ]);
    assert.deepEqual(
      results.map((result) => (result.status === 'fulfilled' ? result.value : String(result.reason.code))),
      ['a', 'undefined', 'c', 'PLATFORM_STORAGE_DUPLICATE', 'e'],
    );
    assert.deepEqual(seen.toSorted(), ['a', 'c', 'e']);
    assert.deepEqual(new Set(written), new Set(['a', 'c', 'e']));
    assert.deepEqual(await ids(db), ['a', 'c', 'e']);
  }));

test('groups of two nodes that lock the same rows never wait for each other', async () => {
  const database = await createTestDatabase();
  const one = await openEmpty(database);
  const other = isPostgres ? await database.open({ migrations: [things] }) : one;
  try {
    const names = Array.from({ length: 12 }, (_, index) => `row ${index}`);
    await one.tables<Tables>().insertInto('thing').values(names.map(row)).execute();
    let runs = 0;
    const grow = (storage: Storage, id: string) =>
      storage.transaction(
        async (tx: Kysely<Tables>) => {
          runs++;
          await tx
            .updateTable('thing')
            .set((eb) => ({ size: eb(eb.fn.coalesce('size', eb.lit(0)), '+', 1) }))
            .where('id', '=', id)
            .execute();
        },
        { shareBy: id },
      );
    for (let round = 0; round < 20; round++)
      await Promise.all([
        ...names.map((id) => grow(one, id)),
        ...names.toReversed().map((id) => grow(other, id)),
      ]);
    const rows = await one.tables<Tables>().selectFrom('thing').select('size').distinct().execute();
    assert.deepEqual(rows, [{ size: 40 }]);
    // After a deadlock they would have run again.
    assert.equal(runs, 20 * 2 * names.length);
  } finally {
    if (other !== one) await other.close();
    await one.close();
  }
});

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

test('a second row with the same key is reported as a duplicate, and the transaction can continue', () =>
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

test('a stream sees the state at its start and delays no other query', () =>
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

test('a database of a newer program is refused, and says how to go on', async () => {
  const database = await createTestDatabase();
  await (await openEmpty(database)).close();
  const older = await database.open({ migrations: [] });
  await assert.rejects(older.migrate(), (error: unknown) => {
    assert.ok(hasCode('PLATFORM_STORAGE_NEWER')(error));
    assert.match(
      String(error),
      /last step 0001-things\).*Install the newer version again, or restore the backup/,
    );
    return true;
  });
  await older.close();
});

test('a database whose first step is another one is refused, and says how to go on', async () => {
  const database = await createTestDatabase();
  await (await openEmpty(database)).close();
  const later = await database.open();
  await assert.rejects(later.migrate(), (error: unknown) => {
    assert.ok(hasCode('PLATFORM_STORAGE_EARLIER')(error));
    assert.match(String(error), /before the first release.*Start afresh with an empty database/);
    return true;
  });
  await later.close();
  const same = await openEmpty(database);
  assert.deepEqual(await ids(same.tables<Tables>()), []);
  await same.close();
});

test('each step of an update is told before it runs, and the end; a new database tells nothing', async () => {
  const database = await createTestDatabase();
  const told: string[] = [];
  const first = await database.open({ migrations: [things] });
  await first.migrate((text) => told.push(text));
  assert.equal(told.length, 0);
  await first.close();
  const longer = ['0002-longer', '0003-longest'].map((name): Migration => ({
    name,
    up: async () => void told.push(name),
  }));
  const second = await database.open({ migrations: [things, ...longer] });
  await assert.rejects(second.migrate(refuseUpdate), hasCode('PLATFORM_STORAGE_OUTDATED'));
  assert.equal(told.length, 0, 'a command of a newer version changes nothing');
  await second.migrate((text) => told.push(text));
  const end = told.pop();
  assert.deepEqual(told, [
    'the database schema is being updated: step 1 of 2, 0002-longer',
    '0002-longer',
    'the database schema is being updated: step 2 of 2, 0003-longest',
    '0003-longest',
  ]);
  assert.match(String(end), /^the database schema was updated in [0-9.]+ s$/);
  await second.migrate((text) => assert.fail(text));
  await second.close();
});

test('a migration that fails leaves the schema as it was', async () => {
  const broken: Migration = {
    name: '0002-broken',
    up: async (db) => db.schema.createTable('thing').execute(),
  };
  const database = await createTestDatabase();
  const storage = await database.open({ migrations: [things, broken] });
  await assert.rejects(storage.migrate());
  await storage.close();
  const repaired = await openEmpty(database);
  assert.deepEqual(await ids(repaired.tables<Tables>()), []);
  await repaired.close();
});

test('a closed storage says so', async () => {
  const storage = await openEmpty();
  await storage.check();
  await storage.close();
  await storage.close();
  await assert.rejects(async () => storage.check(), hasCode('PLATFORM_STORAGE_CLOSED'));
  await assert.rejects(async () => ids(storage.tables<Tables>()), hasCode('PLATFORM_STORAGE_CLOSED'));
});

test('work that one node must do alone is refused to a second caller until it has ended', () =>
  withStorage(async (storage) => {
    const gate = Promise.withResolvers<string>();
    const first = storage.tryRunExclusive('task', () => gate.promise);
    const other = await storage.tryRunExclusive('other task', async () => 'other');
    assert.deepEqual(other, { result: 'other' });
    assert.equal(await storage.tryRunExclusive('task', async () => 'second'), undefined);
    gate.resolve('first');
    assert.deepEqual(await first, { result: 'first' });
    assert.deepEqual(await storage.tryRunExclusive('task', async () => 'third'), { result: 'third' });
    await assert.rejects(
      storage.tryRunExclusive('task', async () => {
        throw new Error('on purpose');
      }),
      /on purpose/,
    );
    assert.deepEqual(await storage.tryRunExclusive('task', async () => 'fourth'), { result: 'fourth' });
  }));

test('an announcement reaches its listeners after the commit, and not after a rollback', () =>
  withStorage(async (storage) => {
    const received: string[] = [];
    const end = storage.onAnnounced('topic', () => received.push('topic'));
    storage.onAnnounced('other', () => received.push('other'));
    await storage.transaction(async (tx) => {
      storage.announce(tx, 'topic');
      assert.ok(!received.includes('topic'));
    });
    assert.equal(received.filter((topic) => topic === 'topic').length, 1);
    await assert.rejects(
      storage.transaction(async (tx) => {
        storage.announce(tx, 'other');
        throw new Error('on purpose');
      }),
    );
    end();
    await storage.transaction(async (tx) => storage.announce(tx, 'topic'));
    assert.deepEqual(received, ['topic']);
  }));

test('text is ordered by its bytes', () =>
  withStorage(async (storage, db) => {
    const words = ['b', 'B', 'a', 'A', '_', 'é', 'z', '-a', 'a b', 'ab', '\u{1F600}', '\uFF5E'];
    await storage.transaction((tx: Kysely<Tables>) =>
      storage.bulkInsert(tx, { table: 'thing', columns: ['id'], rows: words.map((word) => [word]) }),
    );
    assert.deepEqual(
      await ids(db),
      words.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
    );
  }));

test('a text with the character NUL is refused', () =>
  withStorage(async (storage, db) => {
    await assert.rejects(
      async () => db.insertInto('thing').values(row('a\0b')).execute(),
      hasCode('PLATFORM_STORAGE_TEXT_INVALID'),
    );
    const many = Array.from({ length: 100 }, (_, index) => [index === 60 ? 'a\0b' : `${index}`]);
    await assert.rejects(
      storage.transaction((tx: Kysely<Tables>) =>
        storage.bulkInsert(tx, { table: 'thing', columns: ['id'], rows: many }),
      ),
      hasCode('PLATFORM_STORAGE_TEXT_INVALID'),
    );
    assert.deepEqual(await ids(db), []);
  }));

test('every kind of value comes back from a bulk insert as it went in', () =>
  withStorage(async (storage, db) => {
    const texts = [
      '',
      '\\N',
      '\\.',
      'a\tb',
      'a\nb',
      'a\r\nb',
      'back\\slash',
      '"quoted"',
      '\u{1F600}',
      'x'.repeat(100_000),
    ];
    const many = Array.from({ length: 50 }, (_, index) => `${index}`);
    const blobs = [new Uint8Array(), new Uint8Array([0, 1, 92, 255]), null];
    const rows = [...texts, ...many].map(
      (id, index) => [id, index % 2 === 0 ? null : -index, blobs[index % 3] ?? null] as const,
    );
    for (const list of [rows, rows.slice(0, 5).map(([id, ...rest]) => [`few ${id}`, ...rest] as const)]) {
      await storage.transaction((tx: Kysely<Tables>) =>
        storage.bulkInsert(tx, { table: 'thing', columns: ['id', 'size', 'content'], rows: list }),
      );
      for (const [id, size, content] of list) {
        const found = await db.selectFrom('thing').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
        assert.deepEqual([found.size, found.content && [...found.content]], [size, content && [...content]]);
      }
    }
  }));

test('a condition takes a list that is longer than the number of parameters', () =>
  withStorage(async (storage, db) => {
    await db.insertInto('thing').values(['a', 'é"\\', 'c'].map(row)).execute();
    const some = Array.from({ length: 70_000 }, (_, index) => `none ${index}`);
    const find = (isWanted: 'isOneOf' | 'isNoneOf', list: readonly string[]) =>
      db
        .selectFrom('thing')
        .select('id')
        .where((eb) => storage[isWanted](eb.ref('id'), list))
        .orderBy('id')
        .execute()
        .then((rows) => rows.map(({ id }) => id));
    assert.deepEqual(await find('isOneOf', [...some, 'é"\\', 'a']), ['a', 'é"\\']);
    assert.deepEqual(await find('isNoneOf', [...some, 'é"\\', 'a']), ['c']);
    assert.deepEqual(await find('isOneOf', []), []);
    assert.deepEqual(await find('isNoneOf', []), ['a', 'c', 'é"\\']);
  }));

test('the shared clock continues with the time and never goes back', () =>
  withStorage(async (storage) => {
    let last = storage.clock.now().getTime();
    assert.ok(Math.abs(last - Date.now()) < 60_000);
    for (let count = 0; count < 1000; count++) {
      const now = storage.clock.now().getTime();
      assert.ok(now >= last);
      last = now;
    }
  }));
