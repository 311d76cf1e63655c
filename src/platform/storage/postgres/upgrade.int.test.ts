/** A newer node changes tables while one serves that knows nothing of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql, type Kysely } from 'kysely';
import { createTestDatabase, needsBothEngines } from '../../../../test/support/storage.ts';
import type { Migration } from '../migrate.ts';
import { things } from '../../../../test/support/things.ts';

interface Tables {
  thing: { id: string; size: number };
}

const wider: Migration = {
  name: '0002-wider',
  async up(db) {
    await db.schema
      .alterTable('thing')
      .addColumn('added', 'text', (column) => column.notNull().defaultTo(''))
      .execute();
  },
};

test(
  'statements that the serving node has prepared run again after a column was added',
  needsBothEngines(),
  async (t) => {
    const database = await createTestDatabase('postgresql');
    const older = await database.open({ migrations: [things] });
    t.after(() => older.close());
    await older.migrate();
    const db = older.tables<Tables>();
    await db.insertInto('thing').values({ id: 'a', size: 0 }).execute();
    const read = () => db.selectFrom('thing').selectAll().execute();
    const grow = () =>
      db
        .updateTable('thing')
        .set((eb) => ({ size: eb('size', '+', 1) }))
        .returningAll()
        .execute();
    const growIn = () =>
      older.transaction((tx: Kysely<Tables>) =>
        tx
          .updateTable('thing')
          .set((eb) => ({ size: eb('size', '+', 1) }))
          .where('id', '=', 'a')
          .returningAll()
          .execute(),
      );
    // Prepared at the second use, by each of several connections.
    for (let time = 0; time < 3; time++)
      await Promise.all([read(), read(), read(), read(), grow(), grow(), growIn(), growIn()]);
    const newer = await database.open({ migrations: [things, wider] });
    t.after(() => newer.close());
    await newer.migrate();
    await Promise.all([read(), read(), read(), read(), grow(), grow(), growIn(), growIn()]);
    assert.deepEqual(await read(), [{ id: 'a', size: 16, content: null, added: '' }]);
  },
);

test(
  'a migration that waits for a table in use lets the nodes that serve go first',
  needsBothEngines(),
  async (t) => {
    const database = await createTestDatabase('postgresql');
    const older = await database.open({ migrations: [things] });
    t.after(() => older.close());
    await older.migrate();
    const problems: string[] = [];
    const newer = await database.open({
      migrations: [things, wider],
      onProblem: (text) => problems.push(text),
    });
    t.after(() => newer.close());
    let isDumped = false;
    // As pg_dump does.
    const dump = older.transaction(async (tx) => {
      await sql`lock table thing in access share mode`.execute(tx);
      while (!isDumped) await sql`select pg_sleep(0.1)`.execute(tx);
    });
    await sleep(200);
    const migrating = newer.migrate();
    let longestMs = 0;
    const startedAt = performance.now();
    while (performance.now() - startedAt < 6_000) {
      const askedAt = performance.now();
      await older.tables<Tables>().selectFrom('thing').select('id').execute();
      longestMs = Math.max(longestMs, performance.now() - askedAt);
      await sleep(50);
    }
    isDumped = true;
    await dump;
    assert.deepEqual(await migrating, ['0002-wider']);
    assert.ok(longestMs < 4_000, `a read waited for ${Math.round(longestMs)} ms`);
    assert.match(problems.join(), /the schema cannot be updated while other sessions use its tables/);
  },
);
