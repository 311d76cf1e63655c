import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { findDirectoryFaults } from '../../src/service/directory/index.ts';
import type { DirectoryTables } from '../../src/service/directory/store/tables.ts';
import { startTestDirectory, toCsv, type TestDirectory } from './start-directory.ts';

let world: TestDirectory;

before(async () => {
  world = await startTestDirectory();
  await world.load(
    toCsv([{ serv_direct_addr: 'one@d.example', prov_last_name: 'Núñez', org_phone: '5551' }]),
  );
});
after(() => world.close());

const faults = async (): Promise<readonly string[]> =>
  (await findDirectoryFaults(world.storage, world.snapshotDir)).faults;

test('a directory as it was stored is whole', async () => {
  const report = await findDirectoryFaults(world.storage, world.snapshotDir);
  assert.deepEqual(report, { blockCount: 1, recordCount: 1, snapshotCount: 1, faults: [] });
});

test('a snapshot with a changed byte is found', async () => {
  const name = readdirSync(world.snapshotDir).find((file) => file.endsWith('.idx')) ?? '';
  const file = path.join(world.snapshotDir, name);
  const bytes = readFileSync(file);
  writeFileSync(file, bytes.with(-1, (bytes.at(-1) ?? 0) ^ 1));
  assert.deepEqual(await faults(), [`The directory snapshot ${file} is damaged.`]);
  writeFileSync(file, bytes);
});

test('a snapshot of another version, as an upgrade leaves it, is no fault', async () => {
  const name = readdirSync(world.snapshotDir).find((file) => file.endsWith('.idx')) ?? '';
  const file = path.join(world.snapshotDir, name);
  const bytes = readFileSync(file);
  const other = Buffer.from(bytes);
  other.writeUInt32LE(other.readUInt32LE(8) - 1, 8);
  writeFileSync(file, other);
  const report = await findDirectoryFaults(world.storage, world.snapshotDir);
  assert.deepEqual(report, { blockCount: 1, recordCount: 1, snapshotCount: 0, faults: [] });
  writeFileSync(file, bytes);
});

test('a record that was changed in its block, and a block that cannot be read, are found', async () => {
  const db = world.storage.tables<DirectoryTables>();
  const block = await db.selectFrom('directory_block').selectAll().executeTakeFirstOrThrow();
  const keys = Uint8Array.from(block.keys);
  keys[12] = (keys[12] ?? 0) ^ 1;
  for (const change of [{ keys }, { records: block.records.slice(0, -2) }, { record_count: 2 }]) {
    await db.updateTable('directory_block').set(change).execute();
    assert.deepEqual(await faults(), [
      `Block ${block.sequence} of directory load ${block.load_id} is damaged.`,
    ]);
    await db.updateTable('directory_block').set(block).execute();
  }
  assert.deepEqual(await faults(), []);
});
