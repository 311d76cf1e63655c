import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import SqliteDatabase from 'better-sqlite3';
import { PlatformError } from '../errors.ts';
import { migrations } from './baseline/index.ts';
import { openStorage } from './open-storage.ts';

interface Tables {
  data_key: {
    id: string;
    master_key_id: string;
    wrapped_key: Uint8Array;
    is_current: number;
    created_at: number;
  };
}

const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-processes-'));
const children: ChildProcess[] = [];
after(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

const prelude = `
  const { openStorage } = await import(${JSON.stringify(path.join(import.meta.dirname, 'open-storage.ts'))});
  const key = (id, count) => ({ id, master_key_id: 'm', wrapped_key: new Uint8Array(1), is_current: 0, created_at: count });
  const storage = await openStorage({ file: process.argv[1], busyTimeoutMs: 20000 });
`;

function start(file: string, program: string): ChildProcess {
  const child = spawn(process.execPath, ['--input-type=module', '-e', prelude + program, file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  return child;
}

test('keeps committed rows after the process is killed, and no uncommitted ones', async () => {
  const file = path.join(folder, 'killed.db');
  const child = start(
    file,
    `await storage.migrate();
     for (let count = 1; ; count++) {
       await storage.transaction((tx) => tx.insertInto('data_key').values(key('k' + count, count)).execute());
       process.stdout.write(count + '\\n');
       if (count === 40) await storage.transaction(async (tx) => {
         await tx.insertInto('data_key').values(key('open', 0)).execute();
         process.stdout.write('open\\n');
         await new Promise(() => setTimeout(() => {}, 1e9));
       });
     }`,
  );
  let said = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    said += text;
    if (said.endsWith('open\n')) child.kill('SIGKILL');
  });
  const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
  assert.equal(signal, 'SIGKILL');

  const storage = await openStorage({ file });
  const rows = await storage.tables<Tables>().selectFrom('data_key').select('id').execute();
  assert.equal(rows.length, 40);
  assert.ok(!rows.some((row) => row.id === 'open'));
  await storage.close();
});

test('two processes migrate and count in one file without losing a step', async () => {
  const file = path.join(folder, 'shared.db');
  const program = `
    await storage.migrate();
    for (let round = 0; round < 100; round++) {
      await storage.transaction(async (tx) => {
        const row = await tx.selectFrom('data_key').selectAll().where('id', '=', 'counter').executeTakeFirst();
        await new Promise((resolve) => setImmediate(resolve));
        if (row === undefined) await tx.insertInto('data_key').values(key('counter', 1)).execute();
        else await tx.updateTable('data_key').set({ created_at: row.created_at + 1 }).where('id', '=', 'counter').execute();
      });
    }
    await storage.close();`;
  const codes = await Promise.all(
    [start(file, program), start(file, program)].map(
      async (child) => (await once(child, 'exit'))[0] as unknown,
    ),
  );
  assert.deepEqual(codes, [0, 0]);

  const storage = await openStorage({ file });
  const counter = await storage
    .tables<Tables>()
    .selectFrom('data_key')
    .select('created_at')
    .where('id', '=', 'counter')
    .executeTakeFirst();
  assert.equal(counter?.created_at, 200);
  await storage.close();
});

test('while another process holds the write lock the event loop runs, and waiting ends with a transient refusal', async () => {
  const file = path.join(folder, 'busy.db');
  const storage = await openStorage({ file, busyTimeoutMs: 200, migrations });
  await storage.migrate();
  const other = new SqliteDatabase(file);
  other.exec('begin immediate');
  let turns = 0;
  const ticking = setInterval(() => turns++, 5);
  const refused = storage.transaction(async () => {});
  await assert.rejects(
    refused,
    (error) => error instanceof PlatformError && error.code === 'PLATFORM_STORAGE_BUSY' && error.isTransient,
  );
  clearInterval(ticking);
  assert.ok(turns > 1, 'the event loop stood still');
  other.exec('commit');
  other.close();
  await storage.transaction(async () => {});
  await storage.close();
});
