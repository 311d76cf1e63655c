/** A database whose records were stored before blocks and hosted rows carried a version. */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { zstdCompressSync } from 'node:zlib';
import { readLines } from '../../src/service/directory/records/block.ts';
import type { DirectoryTables } from '../../src/service/directory/store/tables.ts';
import { startTestDirectory, toCsv, type TestDirectory } from './start-directory.ts';

let world: TestDirectory;
let later: TestDirectory;

before(async () => {
  world = await startTestDirectory();
  await world.load(toCsv([{ serv_direct_addr: 'one@d.example', prov_npi: '1234567893', org_phone: '5551' }]));
  await world.load(toCsv([{ serv_direct_addr: 'two@d.example', prov_last_name: 'Núñez' }]), 'incremental');
  await world.directory.provision({ directAddress: 'hosted@d.example', lastName: 'Hosted' });
  await world.directory.provision({ directAddress: 'blank@d.example', npi: '1000000004' });
  await forgetVersions(world);
  // Without a snapshot everything is read from what is stored.
  await rm(world.snapshotDir, { recursive: true });
  later = await startTestDirectory({ sharesWith: world });
});
after(async () => {
  await later.close();
  await world.close();
});

/** Without the field that the second version has before the coordinates. */
function asFirstVersion(line: string): string {
  return line === '' ? '' : line.split('\t').toSpliced(-3, 1).join('\t');
}

async function forgetVersions({ storage }: TestDirectory): Promise<void> {
  const db = storage.tables<DirectoryTables>();
  for (const block of await db.selectFrom('directory_block').selectAll().execute()) {
    assert.equal(block.records[0], 2);
    const lines = readLines(block).map(asFirstVersion);
    await db
      .updateTable('directory_block')
      .set({ records: zstdCompressSync(Buffer.from(lines.join('\n'))) })
      .where('load_id', '=', block.load_id)
      .where('sequence', '=', block.sequence)
      .execute();
  }
  for (const row of await db.selectFrom('directory_provisioned').selectAll().execute()) {
    assert.match(row.record, /^v2\t/);
    await db
      .updateTable('directory_provisioned')
      .set({ record: asFirstVersion(row.record.slice('v2\t'.length)) })
      .where('address_key', '=', row.address_key)
      .execute();
  }
}

async function found(query: Record<string, string>): Promise<unknown[]> {
  const { body } = await later.search({ ...query, sort_by: 'serv_direct_addr' });
  return (body.providers ?? []).map((record) => record['serv_direct_addr']);
}

describe('records stored without a version', () => {
  test('are served as before, loaded and hosted ones', async () => {
    assert.deepEqual(await found({}), [
      'blank@d.example',
      'hosted@d.example',
      'one@d.example',
      'two@d.example',
    ]);
    assert.deepEqual(await found({ org_phone: '5551' }), ['one@d.example']);
    assert.deepEqual(await found({ prov_last_name: 'nunez' }), ['two@d.example']);
    assert.deepEqual(await found({ prov_npi: '1000000004' }), ['blank@d.example']);
  });

  test('change, go and come as any others', async () => {
    const rows = [
      { serv_direct_addr: 'two@d.example', prov_last_name: 'Changed', action: 'change' },
      { serv_direct_addr: 'one@d.example', prov_npi: '1234567893', action: 'remove' },
    ];
    const report = await later.load(toCsv(rows, ['action']), 'incremental');
    assert.deepEqual([report.changed, report.removed], [1, 1]);
    assert.equal(await later.directory.unprovision('hosted@d.example'), true);
    await later.directory.refresh();
    assert.deepEqual(await found({}), ['blank@d.example', 'two@d.example']);
    assert.deepEqual(await found({ prov_last_name: 'changed' }), ['two@d.example']);
  });
});
