/**
 * What a node says that cannot follow the directory because the database is away: one line, not one per look.
 */
import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { silentLog, type Log } from '../../../core/index.ts';
import type { Storage } from '../../../platform/index.ts';
import { followDirectory } from './current-index.ts';

test('the directory that is followed', async () => {
  const lines: string[] = [];
  const log: Log = { ...silentLog, error: (_fields, text) => void lines.push(text) };
  let asked = 0;
  const storage = {
    tables() {
      asked++;
      throw new Error('away');
    },
  } as unknown as Storage;
  const current = followDirectory({
    storage,
    log,
    nodeId: 'n',
    snapshotDir: tmpdir(),
    searchThreads: 0,
    pollIntervalMs: 5,
    changesBeforeRebuild: 1,
  });
  await sleep(300);
  await current.close();
  assert.ok(asked > 2, `${asked} looks`);
  assert.deepEqual(lines, ['a worker could not bring the index up to date']);
});
