/**
 * The connection for locks and announcements, when its node stands still or its server answers late: no lock
 * is left that nobody holds.
 */
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../../../../test/support/processes.ts';
import { createTcpProxy, type TcpProxy } from '../../../../test/support/tcp-proxy.ts';
import { createTestDatabase, needsBothEngines } from '../../../../test/support/storage.ts';
import { PlatformError } from '../../errors.ts';
import type { Storage } from '../storage.ts';
import { openPostgresStorage, type PostgresOptions } from './open-postgres.ts';

const { skip } = needsBothEngines();
let url = '';
let proxy: TcpProxy;
let other: Storage;
const opened: Storage[] = [];

before(async () => {
  if (skip !== false) return;
  const database = await createTestDatabase('postgresql');
  url = database.location.url ?? '';
  proxy = await createTcpProxy(url);
});
after(() => (skip === false ? proxy.close() : undefined));
beforeEach(async () => {
  if (skip === false) other = await openPostgresStorage({ url, migrations: [] });
});
afterEach(async () => {
  if (skip !== false) return;
  proxy.relay();
  await Promise.all([...opened.splice(0), other].map((storage) => storage.close()));
});

/** A node behind the proxy. */
async function openNode(options: Partial<PostgresOptions>): Promise<Storage> {
  const storage = await openPostgresStorage({ url: proxy.url, migrations: [], ...options });
  opened.push(storage);
  return storage;
}

const isFree = async (task: string): Promise<boolean> =>
  (await other.tryRunExclusive(task, async () => true)) !== undefined;

test('a lock whose answer comes too late is held by nobody', { skip }, async () => {
  const node = await openNode({ promptMs: 600 });
  assert.ok(await node.tryRunExclusive('first', async () => true));
  proxy.stall({ at: 'pg_try_advisory_lock', when: 'answered' });
  await assert.rejects(
    node.tryRunExclusive('late', async () => true),
    (error) => error instanceof PlatformError && error.code === 'PLATFORM_STORAGE_UNAVAILABLE',
  );
  proxy.relay();
  await waitUntil(() => isFree('late'), { what: 'the lock', timeoutMs: 10_000 });
});

test(
  'the locks of a node that stands still are released, while its system keeps the connection',
  { skip },
  async () => {
    const node = await openNode({ silentMs: 1_500 });
    let isHeldAtEnd: boolean | undefined;
    const held = await node.hold('node a');
    const end = Promise.withResolvers<void>();
    const running = node.tryRunExclusive('task', async () => {
      await end.promise;
      isHeldAtEnd = held?.isHeld;
    });
    await waitUntil(async () => !(await isFree('task')), { what: 'the task' });
    await sleep(2_500);
    assert.ok(!(await isFree('task')), 'a node that works keeps its lock');
    proxy.stallNow();
    await waitUntil(() => isFree('task'), { what: 'the release of the task', timeoutMs: 15_000 });
    assert.ok((await other.hold('node a')) !== undefined);
    proxy.relay();
    await waitUntil(() => held?.isHeld === false, { what: 'the node to learn of it' });
    end.resolve();
    await assert.rejects(
      running,
      (error) => error instanceof PlatformError && error.code === 'PLATFORM_STORAGE_LOCK_LOST',
    );
    assert.equal(isHeldAtEnd, false);
  },
);
