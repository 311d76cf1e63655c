import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import Database from 'better-sqlite3';
import { runCommand } from '../../../../test/support/run-command.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-queue-'));
after(() => rmSync(folder, { recursive: true, maxRetries: 5 }));

const run = (...words: string[]) =>
  runCommand({ OPENHISP_DATA_DIR: folder, OPENHISP_OPERATOR: 'jo.miller' }, words);

test('queue fail ends all that waits, also more than one step takes', async () => {
  await run('init');
  const count = 10_001;
  const db = new Database(path.join(folder, 'openhisp.db'));
  const series = `with recursive series(n) as (select 1 union all select n + 1 from series where n < ${count})`;
  db.exec(`insert into delivery (id, kind, sender, sealed_message, created_at) ${series} select 'many' || n, 'mdn', '', x'00', 1 from series;
    insert into delivery_destination (id, delivery_id, domain, recipients, not_after, next_attempt_at, attempts,
      lease_until, last_reason, last_status_code, last_error)
    ${series} select 'many' || n, 'many' || n, 'many.example', '["dr@many.example"]', 9e12, 9e12, 0, 0, '', '', ''
    from series`);
  db.close();
  const ended = await run('queue', 'fail', 'many.example', '--json');
  assert.deepEqual(JSON.parse(ended.out), { failed: count, running: 0 }, ended.note);
  assert.match((await run('queue', 'fail', 'many.example')).out, /^no delivery to many\.example waits/);
});
