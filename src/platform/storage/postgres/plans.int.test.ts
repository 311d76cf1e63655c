/** Plans of statements that come again, while a table grows that the server has not analyzed yet. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql, type Kysely } from 'kysely';
import { createTestDatabase, needsBothEngines, type TestDatabase } from '../../../../test/support/storage.ts';
import type { Migration } from '../migrate.ts';
import type { Storage } from '../storage.ts';

interface Tables {
  letter: { id: string; wire_id: string; sender: string };
}

/**
 * An empty table is taken for one of ten pages: with rows as wide as these it has few, and both indexes cost
 * the same.
 */
const parts = Array.from({ length: 20 }, (_, n) => `part_${n}`);
/** As of messages: each is found by its id on the wire, and those of one sender are listed. */
const letters: Migration = {
  name: '0001-letters',
  async up(db) {
    await parts
      .reduce(
        (table, name) => table.addColumn(name, 'text'),
        db.schema
          .createTable('letter')
          .addColumn('id', 'text', (column) => column.primaryKey())
          .addColumn('wire_id', 'text', (column) => column.notNull().unique())
          .addColumn('sender', 'text', (column) => column.notNull()),
      )
      .execute();
    await db.schema.createIndex('letter_sender').on('letter').columns(['sender']).execute();
    // Autovacuum would analyze it within a minute, or sooner.
    await sql`alter table letter set (autovacuum_enabled = false)`.execute(db);
  },
};

const { skip } = needsBothEngines();
let database: TestDatabase;
let storage: Storage;

before(async () => {
  if (skip !== false) return;
  database = await createTestDatabase('postgresql');
  storage = await database.open({ migrations: [letters] });
  await storage.migrate();
});
after(async () => {
  if (skip === false) await storage.close();
});

const sender = 'one@sender.example';

function find(tx: Kysely<Tables>, wireId: string) {
  return tx
    .selectFrom('letter')
    .select('id')
    .where('wire_id', '=', wireId)
    .where('sender', '=', sender)
    .execute();
}

async function store(count: number): Promise<void> {
  const filled = Object.fromEntries(parts.map((name) => [name, 'x'.repeat(32)]));
  const rows = Array.from({ length: count }, (_, n) => ({
    id: `i${n}`,
    wire_id: `w${n}`,
    sender,
    ...filled,
  }));
  await storage.transaction((tx: Kysely<Tables>) => tx.insertInto('letter').values(rows).execute());
}

/** The plan that the connection of a transaction keeps for {@link find}, or an empty text. */
async function keptPlan(tx: Kysely<Tables>): Promise<string> {
  const { rows: named } = await sql<{ name: string }>`
    select name from pg_prepared_statements where statement like 'select "id" from "letter"%'`.execute(tx);
  if (named[0] === undefined) return '';
  const { rows } = await sql
    .raw<{ 'QUERY PLAN': string }>(`explain execute ${named[0].name}('w1', '${sender}')`)
    .execute(tx);
  return rows.map((row) => row['QUERY PLAN']).join('\n');
}

for (const [kind, options, usesBefore, usesAfter] of [
  ['a separate commit', {}, 20, 300],
  ['a shared commit', { shareBy: 'a' }, 20, 300],
  ['a connection that was used for long', {}, 4300, 2100],
] as const)
  test(
    `a plan that was made while the table was empty does not stay when it grows (${kind})`,
    { skip },
    async () => {
      await sql`truncate letter`.execute(storage.tables());
      for (let n = 0; n < usesBefore; n++)
        await storage.transaction((tx: Kysely<Tables>) => find(tx, 'w1'), options);
      await store(2000);
      for (let n = 0; n < usesAfter; n++)
        await storage.transaction((tx: Kysely<Tables>) => find(tx, 'w1'), options);
      const plan = await storage.transaction(async (tx: Kysely<Tables>) => {
        assert.equal((await find(tx, 'w7')).length, 1);
        return keptPlan(tx);
      }, options);
      assert.match(plan, /letter_wire_id_key/);
    },
  );
