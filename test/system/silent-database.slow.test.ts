/** A PostgreSQL under a HISP that sends, behind a network that carries nothing and says nothing. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { breaksAndRecovers, settings } from '../processes/faulty.ts';
import { startProcessWorld } from '../processes/world.ts';
import { startPostgres } from '../support/postgres.ts';
import { createDatabaseAt, needsBothEngines } from '../support/storage.ts';
import { createTcpProxy } from '../support/tcp-proxy.ts';

test('a database that takes everything and answers nothing', needsBothEngines(), async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'openhisp-silent-'));
  const postgres = await startPostgres();
  const proxy = await createTcpProxy(await createDatabaseAt(postgres, 'sender'));
  t.after(async () => {
    await proxy.close();
    await postgres.stop();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  const world = await startProcessWorld({
    folder,
    settings: (who) => ({
      ...settings,
      'delivery.leaseSeconds': '5',
      ...(who === 'sender' && { 'storage.url': proxy.url }),
    }),
  });
  t.after(() => world.close());
  await breaksAndRecovers(
    world,
    () => proxy.stallNow(),
    async () => proxy.relay(),
  );
});
