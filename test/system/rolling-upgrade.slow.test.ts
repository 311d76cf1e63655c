/**
 * Two versions of the service over one database: a node of the next version comes, and migrates, while one of this version serves.
 *
 * The next version is this one with a further step of the schema. `OPENHISP_OLDER_TREE=FOLDER` takes the older node from another work
 * tree, for an upgrade between two versions that exist.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { requireNoFaults, startTraffic } from '../processes/traffic.ts';
import { startProcessWorld, type HispProcess } from '../processes/world.ts';
import { createTestDatabase, isPostgres } from '../support/storage.ts';
import { waitUntil } from '../support/processes.ts';

const skip = isPostgres ? false : 'several nodes need PostgreSQL';
const olderTree = process.env['OPENHISP_OLDER_TREE'];
const isReal = olderTree !== undefined;
const next: Readonly<Record<string, string>> = isReal ? {} : { OPENHISP_TEST_NEXT_SCHEMA: '1' };

test(
  'nodes of two versions serve side by side, an older one that starts again is refused, and nothing is lost',
  { skip },
  async (t) => {
    const folder = await mkdtemp(path.join(tmpdir(), 'openhisp-upgrade-'));
    const database = await createTestDatabase();
    const world = await startProcessWorld({
      folder,
      settings: (who) => ({
        'delivery.retryMinutes': '0.01,0.02,0.05',
        ...(who === 'sender' && {
          'storage.url': database.location.url ?? '',
          'vault.masterKeyFile': path.join(folder, 'shared.key'),
        }),
      }),
      program: (who) =>
        who === 'sender' && isReal ? path.join(olderTree, 'test/processes/hisp-process.ts') : undefined,
    });
    t.after(async () => {
      await world.close();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    });
    const countSteps = async (): Promise<number> => {
      const storage = await database.open();
      const db = storage.tables<{ schema_migration: { name: string } }>();
      const rows = await db.selectFrom('schema_migration').select('name').execute();
      await storage.close();
      return rows.length;
    };
    const older = world.sender;
    const newer: HispProcess[] = [];
    const traffic = startTraffic(world, { atOnce: 4, pauseMs: 300, secondNode: () => newer[0] });
    const acceptMore = async (count: number): Promise<void> => {
      const target = traffic.accepted + count;
      await waitUntil(() => traffic.accepted >= target, { what: 'more messages', timeoutMs: 120_000 });
    };
    await acceptMore(10);
    const steps = await countSteps();
    newer.push(await world.addSender(next));
    assert.ok((await countSteps()) > steps);
    // Both take sends, share the work, and read and write the new schema; mail for the sender comes to the older one.
    await acceptMore(30);
    assert.equal(older.process.exitCode, null);
    await older.kill();
    await assert.rejects(older.start(), /a HISP ended with/);
    // The upgrade is finished: its data folder is that of a node of the next version.
    await older.start(next);
    await acceptMore(10);
    const account = await traffic.finish();
    requireNoFaults(account);
  },
);
