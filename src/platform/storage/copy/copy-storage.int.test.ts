import assert from 'node:assert/strict';
import { test } from 'node:test';
import SqliteDatabase from 'better-sqlite3';
import type { Kysely } from 'kysely';
import { createTestDatabase, needsBothEngines, type TestDatabase } from '../../../../test/support/storage.ts';
import { PlatformError, type PlatformErrorCode } from '../../errors.ts';
import type { Migration } from '../migrate.ts';
import type { Storage, StoredValue } from '../storage.ts';
import { compareStorage, copyStorage } from './copy-storage.ts';

// The name of the table that is referred to comes later in the alphabet.
const tables: Migration = {
  name: '0001-all-tables',
  async up(db) {
    await db.schema
      .createTable('parent')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .execute();
    await db.schema
      .createTable('child')
      .addColumn('id', 'integer', (column) => column.primaryKey())
      .addColumn('parent_id', 'text', (column) => column.notNull().references('parent.id'))
      .addColumn('text', 'text')
      .addColumn('bytes', 'bytea')
      .addColumn('at', 'bigint')
      .addColumn('weight', 'double precision')
      .execute();
  },
};

const children: readonly (readonly StoredValue[])[] = [
  [1, 'a', 'tab\t, line\n, back\\slash, \\N, é \u{1F600}', Buffer.from([0, 255, 10, 9]), 2 ** 52, 0.1 + 0.2],
  [2, 'a', '', Buffer.alloc(0), -1, -1e-300],
  [3, 'b', null, null, null, null],
  ...Array.from({ length: 200 }, (_, index): readonly StoredValue[] => [
    index + 10,
    'b',
    `text ${index}`,
    Buffer.alloc(5000, index),
    index,
    index / 7,
  ]),
];

interface World {
  readonly file: string;
  readonly source: TestDatabase;
  readonly target: TestDatabase;
  readonly to: Storage;
}

async function withWorld(work: (world: World) => Promise<void>): Promise<void> {
  const source = await createTestDatabase('sqlite');
  const target = await createTestDatabase('postgresql');
  const from = await source.open({ migrations: [tables] });
  const to = await target.open({ migrations: [tables] });
  try {
    await from.migrate();
    await to.migrate();
    await from.transaction(async (tx: Kysely<unknown>) => {
      await from.bulkInsert(tx, { table: 'parent', columns: ['id'], rows: [['a'], ['b']] });
      await from.bulkInsert(tx, {
        table: 'child',
        columns: ['id', 'parent_id', 'text', 'bytes', 'at', 'weight'],
        rows: children,
      });
    });
    await work({ file: source.location.file ?? '', source, target, to });
  } finally {
    await from.close();
    await to.close();
  }
}

const refusal =
  (code: PlatformErrorCode, text: RegExp) =>
  (error: unknown): boolean =>
    error instanceof PlatformError && error.code === code && text.test(error.message);

test(
  'every kind of value is copied, what others refer to first, and found to be the same',
  needsBothEngines(),
  () =>
    withWorld(async ({ file, to }) => {
      const copied = await copyStorage({ file, to });
      assert.deepEqual(
        copied.map(({ name, rowCount }) => [name, rowCount]),
        [
          ['parent', 2],
          ['child', children.length],
        ],
      );
      assert.deepEqual(await compareStorage({ file, to }), copied);
      const rows = await to
        .tables<{
          child: { id: number; text: string | null; bytes: Uint8Array | null; weight: number | null };
        }>()
        .selectFrom('child')
        .select(['id', 'text', 'bytes', 'weight'])
        .where('id', '<', 10)
        .orderBy('id')
        .execute();
      assert.deepEqual(
        rows.map(({ id, text, bytes, weight }) => [
          id,
          text,
          bytes === null ? null : Buffer.from(bytes),
          weight,
        ]),
        children.slice(0, 3).map(([id, , text, bytes, , weight]) => [id, text, bytes, weight]),
      );
    }),
);

test('a difference is found whichever database was changed', needsBothEngines(), () =>
  withWorld(async ({ file, source, target, to }) => {
    await copyStorage({ file, to });
    const changes: readonly (readonly [change: string, undo: string])[] = [
      ["update child set text = 'text 2' where id = 11", "update child set text = 'text 1' where id = 11"],
      ['update child set at = null where id = 10', 'update child set at = 0 where id = 10'],
      ["insert into parent (id) values ('c')", "delete from parent where id = 'c'"],
      ['update child set id = 9 where id = 10', 'update child set id = 10 where id = 9'],
    ];
    for (const [change, undo] of changes) {
      for (const changed of [source, target]) {
        await changed.runRaw(change);
        await assert.rejects(
          compareStorage({ file, to }),
          refusal('PLATFORM_STORAGE_COPY_DIFFERS', /^table (child|parent) differs/),
          change,
        );
        await changed.runRaw(undo);
      }
    }
    await compareStorage({ file, to });
  }),
);

test(
  'a target that is not empty, or has other tables, is refused and left as it is',
  needsBothEngines(),
  () =>
    withWorld(async ({ file, target, to }) => {
      await target.runRaw("insert into parent (id) values ('mine')");
      await assert.rejects(
        copyStorage({ file, to }),
        refusal('PLATFORM_STORAGE_COPY_REFUSED', /not empty: parent has rows/),
      );
      await target.runRaw('delete from parent; create table other (id text)');
      await assert.rejects(copyStorage({ file, to }), refusal('PLATFORM_STORAGE_COPY_REFUSED', /other\.id/));
      await target.runRaw('drop table other');
      await copyStorage({ file, to });
    }),
);

test('a copy that fails in its midst leaves the target empty and names the table', needsBothEngines(), () =>
  withWorld(async ({ file, source, to }) => {
    await source.runRaw("update child set text = 'a' || char(0) where id = 150");
    await assert.rejects(
      copyStorage({ file, to }),
      refusal('PLATFORM_STORAGE_COPY_REFUSED', /^table child: .*NUL/),
    );
    await source.runRaw("update child set text = 'a' where id = 150");
    await copyStorage({ file, to });
  }),
);

test('does not copy rows that are written during the copy', needsBothEngines(), () =>
  withWorld(async ({ file, to }) => {
    const copied = await copyStorage({
      file,
      to,
      onTable: ({ name }) => {
        if (name !== 'parent') return;
        const database = new SqliteDatabase(file);
        database.exec('delete from child where id > 100');
        database.close();
      },
    });
    assert.equal(copied[1]?.rowCount, children.length);
    await assert.rejects(
      compareStorage({ file, to }),
      refusal('PLATFORM_STORAGE_COPY_DIFFERS', /^table child/),
    );
  }),
);
