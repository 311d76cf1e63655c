import assert from 'node:assert/strict';
import { copyFileSync, existsSync, fdatasync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import type { Kysely } from 'kysely';
import { PlatformError } from '../../errors.ts';
import type { Migration } from '../migrate.ts';
import { openSqliteStorage } from './open-sqlite.ts';
import type { Sync } from './flusher.ts';

interface Tables {
  thing: { id: number; content: string };
}

const migrations: readonly Migration[] = [
  {
    name: '0001-things',
    async up(db) {
      await db.schema
        .createTable('thing')
        .addColumn('id', 'integer', (column) => column.primaryKey())
        .addColumn('content', 'text', (column) => column.notNull())
        .execute();
    },
  },
];

const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-durability-'));
after(() => rmSync(folder, { recursive: true, maxRetries: 5 }));

/** The database and its log as they were when a flush began: what is on disk for sure once it has ended. */
function copyFiles(file: string, to: string): void {
  mkdirSync(path.dirname(to), { recursive: true });
  for (const suffix of ['', '-wal']) if (existsSync(file + suffix)) copyFileSync(file + suffix, to + suffix);
}

test('a loss of power takes nothing that was acknowledged: only writes up to the last flush are left', async () => {
  const file = path.join(folder, 'running', 'hisp.db');
  let copies = 0;
  let onDisk = '';
  const sync: Sync = (descriptor, done) => {
    const copy = path.join(folder, `copy-${++copies}`, 'hisp.db');
    copyFiles(file, copy);
    fdatasync(descriptor, (error) => {
      if (error === null) onDisk = copy;
      done(error);
    });
  };
  const storage = await openSqliteStorage({ file, migrations, sync });
  await storage.migrate();
  const acknowledged: number[] = [];
  const moments: { readonly copy: string; readonly count: number }[] = [];
  let ids = 0;
  const write = async (): Promise<void> => {
    for (let turn = 0; turn < 40; turn++) {
      const id = ++ids;
      await storage.transaction(async (tx: Kysely<Tables>) => {
        await tx
          .insertInto('thing')
          .values({ id, content: 'x'.repeat(id % 9000) })
          .execute();
      });
      acknowledged.push(id);
      moments.push({ copy: onDisk, count: acknowledged.length });
    }
  };
  await Promise.all(Array.from({ length: 8 }, write));
  await storage.close();
  assert.equal(acknowledged.length, 320);

  const latest = new Map(moments.map((moment) => [moment.copy, moment.count]));
  assert.ok(latest.size > 3, 'all was one flush');
  for (const [copy, count] of latest) {
    const survivor = await openSqliteStorage({ file: copy, migrations });
    const rows = await survivor.tables<Tables>().selectFrom('thing').select('id').execute();
    const found = new Set(rows.map(({ id }) => id));
    assert.deepEqual(
      acknowledged.slice(0, count).filter((id) => !found.has(id)),
      [],
      copy,
    );
    await survivor.close();
  }
});

test('a failed flush fails all waiting transactions and all later ones', async () => {
  let isBroken = false;
  const sync: Sync = (descriptor, done) => {
    if (isBroken) setImmediate(() => done(new Error('I/O error')));
    else fdatasync(descriptor, done);
  };
  const storage = await openSqliteStorage({ file: path.join(folder, 'broken.db'), migrations, sync });
  await storage.migrate();
  isBroken = true;
  const insert = (id: number): Promise<unknown> =>
    storage.tables<Tables>().insertInto('thing').values({ id, content: '' }).execute();
  const refused = (error: unknown): boolean =>
    error instanceof PlatformError && error.code === 'PLATFORM_STORAGE_UNAVAILABLE';
  await assert.rejects(insert(1), refused);
  isBroken = false;
  await assert.rejects(insert(2), refused);
  await assert.rejects(storage.check(), refused);
  await storage.close();
});

test('the log begins again under steady writing instead of growing forever', async () => {
  const file = path.join(folder, 'steady.db');
  const storage = await openSqliteStorage({ file, migrations });
  await storage.migrate();
  const content = 'x'.repeat(20_000);
  const endAt = performance.now() + 6000;
  let written = 0;
  const write = async (): Promise<void> => {
    while (performance.now() < endAt || written < 20_000) {
      const id = ++written;
      await storage.transaction(async (tx: Kysely<Tables>) => {
        await tx.insertInto('thing').values({ id, content }).execute();
      });
    }
  };
  await Promise.all(Array.from({ length: 4 }, write));
  const writtenBytes = written * content.length;
  const logBytes = statSync(`${file}-wal`).size;
  assert.ok(logBytes < writtenBytes * 0.6, `${logBytes} bytes of log after ${writtenBytes} written`);
  await storage.close();
});
