/** Sources side by side: what each one says, what is served, and what comes back when one of them goes. */
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { ProviderRecord } from '../../src/lib/provider-record/index.ts';
import {
  listLoads,
  openStream,
  orderSources,
  readOpenRecords,
  readReport,
  readStatus,
  removeSource,
  rollBack,
  setExportRight,
  showRecords,
  findDirectoryFaults,
  type ImportRequest,
} from '../../src/service/directory/index.ts';

import type { DirectoryTables, LoadRow } from '../../src/service/directory/store/tables.ts';
import { claimSources } from '../../src/service/directory/store/claim-generation.ts';
import { beginLoad, snapshotsOf, startTestDirectory, toCsv, type TestDirectory } from './start-directory.ts';

let world: TestDirectory;
beforeEach(async () => {
  world = await startTestDirectory({ pollIntervalMs: 60_000 });
});
afterEach(() => world.close());

type Row = Readonly<Record<string, string>>;

/** So many people that a few are a small part of them. */
const crowd = Array.from({ length: 60 }, (_, index): Row => ({
  serv_direct_addr: `p${index}@d.example`,
  prov_last_name: `Name${String(index).padStart(2, '0')}`,
}));

const ana = { serv_direct_addr: 'ana@d.example', prov_npi: '1000000004' };

function into(sourceName: string, rows: readonly Row[], kind: ImportRequest['kind'] = 'full') {
  return world.load(toCsv(rows, ['action', 'key']), kind, { sourceName });
}

async function find(address: string, from = world): Promise<Record<string, unknown>[]> {
  await from.directory.refresh();
  const { body } = await from.search({ serv_direct_addr: address, sort_by: 'org_name' });
  return body.providers ?? [];
}

async function phoneOf(address: string): Promise<unknown> {
  const found = await find(address);
  assert.equal(found.length, 1, address);
  return found[0]?.['org_phone'];
}

async function activeLoad(): Promise<LoadRow> {
  const { active } = await readStatus(world.storage);
  return world.storage
    .tables<DirectoryTables>()
    .selectFrom('directory_load')
    .selectAll()
    .where('id', '=', active?.id ?? 0)
    .executeTakeFirstOrThrow();
}

async function blockCount(): Promise<number> {
  const blocks = world.storage.tables<DirectoryTables>().selectFrom('directory_block');
  return (await blocks.select('sequence').execute()).length;
}

describe('two sources', () => {
  test('serve a record from the first and fill its blank fields from the other, and un-fill them', async () => {
    await into('npd', [{ ...ana, org_phone: '1', org_name: 'From NPD' }]);
    await into('directtrust', [{ ...ana, org_name: 'From DirectTrust' }, ...crowd]);
    const [record] = await find('ana@');
    assert.equal(record?.['org_name'], 'From DirectTrust');
    assert.equal(record?.['org_phone'], '1', 'filled from the other source');
    assert.equal((await readReport(world.storage)).sourceName, 'directtrust', 'a merge has no report');
    await into('npd', [{ ...ana, org_phone: '' }], 'incremental');
    assert.equal(await phoneOf('ana@'), '', 'no longer filled');
    await into('npd', [{ ...ana, org_phone: '2' }], 'incremental');
    assert.equal(await phoneOf('ana@'), '2');
    await into('directtrust', [{ ...ana, org_phone: '3' }], 'incremental');
    assert.equal(await phoneOf('ana@'), '3');
    const [last] = await find('ana@');
    assert.equal(last?.['id'], record?.['id'], 'it keeps its id through all of this');
    await into('directtrust', [{ ...ana, action: 'remove' }], 'incremental');
    assert.equal(await phoneOf('ana@'), '2', 'the other source has it still');
    assert.equal((await find('ana@'))[0]?.['id'], record?.['id']);
  });

  test('do not make an address of two offices, nor a name of two people', async () => {
    await into('directtrust', [
      { ...ana, prov_last_name: 'Smith', org_city: 'Otherwhere', org_state: 'MA', org_phone: '' },
      { serv_direct_addr: 'kim@d.example', org_city: 'Otherwhere', org_state: 'ma', org_zip: '00001' },
      ...crowd,
    ]);
    await into('npd', [
      {
        ...ana,
        prov_first_name: 'Bob',
        prov_last_name: 'Jones',
        org_addr_1: '1 Main St',
        org_city: 'Nowhere',
        org_state: 'MA',
        org_zip: '00002',
        org_phone: '5',
      },
      {
        serv_direct_addr: 'KIM@d.example',
        org_addr_1: '2 Oak Ave',
        org_city: 'OTHERWHERE',
        org_state: 'MA',
        org_zip: '00001-1234',
      },
    ]);
    const [record] = await find('ana@');
    const shown = ['prov_first_name', 'org_addr_1', 'org_zip', 'org_phone'].map((name) => record?.[name]);
    assert.deepEqual(shown, ['', '', '', '5']);
    assert.equal((await find('kim@'))[0]?.['org_addr_1'], '2 Oak Ave');
  });

  test('an increment of the second that the first overrides changes nothing, and makes no load to be served', async () => {
    await into('directtrust', [{ ...ana, org_phone: '1' }, ...crowd]);
    await into('npd', [ana]);
    const before = await activeLoad();
    const text = (await world.search({ limit: 1000 })).text;
    const report = await into('npd', [{ ...ana, org_phone: '9' }], 'incremental');
    assert.deepEqual([report.changed, report.recordCount], [1, 1]);
    assert.equal((await activeLoad()).id, before.id);
    assert.equal((await world.search({ limit: 1000 })).text, text);
    await removeSource(world, 'directtrust');
    assert.equal(await phoneOf('ana@'), '9', 'it was not lost');
  });

  test('a small increment of either is a small load over the merge, and no index is built', async () => {
    await into('directtrust', crowd);
    await into('npd', [{ ...ana, org_phone: '1' }]);
    await world.directory.refresh();
    const snapshots = await snapshotsOf(world);
    for (const [source, phone] of [
      ['npd', '2'],
      ['directtrust', '3'],
      ['npd', '4'],
    ] as const) {
      await into(source, [{ ...ana, org_phone: phone }], 'incremental');
      const { kind, parent_id: parent, record_count: count } = await activeLoad();
      assert.equal(count, 61);
      if (source === 'directtrust' || phone === '2')
        assert.deepEqual([kind, parent !== null], ['merged', true]);
    }
    assert.equal(await phoneOf('ana@'), '3');
    assert.deepEqual(await snapshotsOf(world), snapshots);
    const { faults, blockCount: blocks } = await findDirectoryFaults(world.storage, world.snapshotDir);
    assert.deepEqual(faults, []);
    assert.ok(blocks > 3);
  });

  test('a single source is served by its own load, before another comes and after it has gone', async () => {
    await into('directtrust', crowd);
    const alone = await activeLoad();
    assert.deepEqual([alone.kind, alone.source_name], ['full', 'directtrust']);
    await into('npd', [ana]);
    assert.equal((await activeLoad()).kind, 'merged');
    await removeSource(world, 'npd');
    assert.equal((await activeLoad()).id, alone.id);
    assert.deepEqual(await find('ana@'), []);
    await removeSource(world, 'directtrust');
    assert.deepEqual(await find('p1@'), []);
    assert.equal(await blockCount(), 0, 'nothing is left of them');
  });

  test('rows with keys of their file meet those of another source by address and NPI', async () => {
    await into('county', [
      // With a known place a row is read as bytes, without one as text.
      { ...ana, key: '17', org_name: 'North', org_zip: '02139', org_state: 'MA' },
      { ...ana, key: '18', org_name: 'South' },
      { serv_direct_addr: 'other@d.example', key: '19' },
    ]);
    await into('npd', [
      { ...ana, org_phone: '1' },
      { serv_direct_addr: 'new@d.example', key: '17', org_zip: '02139' },
      ...crowd,
    ]);
    assert.equal(await phoneOf('ana@'), '1', 'the first source says it once');
    await orderSources(world, ['county']);
    const both = await find('ana@');
    assert.deepEqual(
      both.map((record) => [record['org_name'], record['org_phone']]),
      [
        ['North', '1'],
        ['South', '1'],
      ],
    );
    await into('county', [{ serv_direct_addr: 'moved@d.example', key: '17' }], 'incremental');
    assert.equal((await find('moved@')).length, 1);
    assert.deepEqual(
      (await find('ana@')).map((record) => record['org_name']),
      ['South'],
    );
    assert.equal((await find('new@')).length, 1, 'the same key in another source is another record');
  });
});

describe('a change of the sources', () => {
  test('rolls back one of them and leaves the other', async () => {
    await into('directtrust', [{ ...ana, org_name: 'A1' }, ...crowd]);
    await into('npd', [{ ...ana, org_phone: '1' }]);
    await into('directtrust', [{ ...ana, org_name: 'A2' }]);
    await into('npd', [{ ...ana, org_phone: '2' }]);
    await assert.rejects(rollBack(world), { code: 'DIRECTORY_SOURCE_INVALID' });
    await rollBack(world, 'directtrust');
    const [record] = await find('ana@');
    assert.deepEqual([record?.['org_name'], record?.['org_phone']], ['A1', '2']);
    assert.equal((await find('p1@d')).length, 1);
    await rollBack(world, 'npd');
    assert.equal(await phoneOf('ana@'), '1');
    for (const source of ['directtrust', 'npd'])
      await assert.rejects(rollBack(world, source), { code: 'DIRECTORY_NOTHING_TO_ROLL_BACK' });
    await assert.rejects(rollBack(world, 'nobody'), { code: 'DIRECTORY_SOURCE_UNKNOWN' });
    const events = (await world.audit.find({})).filter(({ action }) => action === 'directory.rollback');
    assert.deepEqual(
      new Set(events.map(({ objects }) => objects['sourceName'])),
      new Set(['directtrust', 'npd']),
    );
  });

  test('restores records that a removed source had overridden', async () => {
    await into('npd', [{ ...ana, org_name: 'NPD' }]);
    await into('directtrust', [{ ...ana, org_name: 'DirectTrust' }]);
    await into('nppes', [{ ...ana, org_name: 'NPPES' }, { serv_direct_addr: 'only@d.example' }]);
    const names: unknown[] = [];
    for (const source of ['directtrust', 'npd']) {
      names.push((await find('ana@'))[0]?.['org_name']);
      await removeSource(world, source);
    }
    names.push((await find('ana@'))[0]?.['org_name']);
    assert.deepEqual(names, ['DirectTrust', 'NPD', 'NPPES']);
    assert.equal((await find('only@')).length, 1);
    await assert.rejects(removeSource(world, 'npd'), { code: 'DIRECTORY_SOURCE_UNKNOWN' });
  });

  test('of their order is merged again', async () => {
    await into('npd', [{ ...ana, org_name: 'NPD' }, ...crowd]);
    await into('nppes', [{ ...ana, org_name: 'NPPES' }]);
    await into('directtrust', [{ ...ana, prov_suffix: 'MD' }]);
    const order = async (): Promise<string[]> =>
      (await world.directory.status()).sources.map(({ name }) => name);
    assert.deepEqual(await order(), ['directtrust', 'npd', 'nppes']);
    const [before] = await find('ana@');
    await orderSources(world, ['nppes', 'npd']);
    assert.deepEqual(await order(), ['nppes', 'npd', 'directtrust']);
    const [after] = await find('ana@');
    assert.deepEqual([before?.['org_name'], after?.['org_name']], ['NPD', 'NPPES']);
    assert.deepEqual([after?.['id'], after?.['prov_suffix']], [before?.['id'], 'MD']);
    await assert.rejects(orderSources(world, ['npd', 'nobody']), { code: 'DIRECTORY_SOURCE_UNKNOWN' });
  });

  test('is refused while a load runs, and a load of one source while another one loads', async () => {
    const many = Array.from({ length: 9000 }, (_, index) => ({ serv_direct_addr: `m${index}@d.example` }));
    await into('npd', [ana]);
    await into('nppes', [ana]);
    const slow = await beginLoad(world, toCsv(many), 'directtrust');
    await assert.rejects(into('npd', [ana]), { code: 'DIRECTORY_LOAD_RUNNING' });
    await assert.rejects(removeSource(world, 'npd'), { code: 'DIRECTORY_LOAD_RUNNING' });
    assert.equal((await slow.finish()).loaded, 9000);
  });

  test('keeps three generations of each source and one merge', async () => {
    for (let round = 0; round < 4; round++)
      for (const source of ['npd', 'nppes']) await into(source, [{ ...ana, org_phone: String(round) }]);
    assert.ok((await blockCount()) <= 7, `${await blockCount()} blocks`);
  });

  test('a failed load changes nothing that is served, and leaves no source', async () => {
    await into('npd', [{ ...ana, org_phone: '1' }]);
    await into('nppes', [ana]);
    const before = await blockCount();
    await assert.rejects(into('county', []), { code: 'DIRECTORY_TOO_MANY_REFUSED' });
    await assert.rejects(into('npd', [{ serv_direct_addr: 'bad' }]), { code: 'DIRECTORY_TOO_MANY_REFUSED' });
    await assert.rejects(into('Not A Name', [ana]), { code: 'DIRECTORY_SOURCE_INVALID' });
    await assert.rejects(into('hosted', [ana]), { code: 'DIRECTORY_SOURCE_INVALID' });
    assert.equal(await phoneOf('ana@'), '1');
    assert.equal(await blockCount(), before);
    const { sources } = await world.directory.status();
    assert.deepEqual(
      sources.map(({ name }) => name),
      ['npd', 'nppes'],
    );
  });
});

test('loads whose reports were changed in the database are listed with the others, without a report', async () => {
  await into('npd', [ana]);
  const loads = () => listLoads(world.storage, { limit: 10 });
  const { length } = (await loads()).loads;
  for (const text of ['', 'x', '[]', 'null', '{"refused":7}']) {
    const columns = { report: text, progress: text };
    await world.storage.tables<DirectoryTables>().updateTable('directory_load').set(columns).execute();
    const listed = (await loads()).loads;
    assert.equal(listed.length, length, text);
    assert.deepEqual([...new Set(listed.map((load) => load.report ?? load.progress))], [undefined], text);
    assert.equal((await readStatus(world.storage)).sources.length, 1, text);
  }
});

describe('hosted addresses', () => {
  test('come before all sources, as the operator wrote them, and uncover the merge when they go', async () => {
    await into('npd', [{ ...ana, org_phone: '1' }, ...crowd]);
    await into('directtrust', [{ ...ana, org_name: 'DirectTrust' }]);
    await world.directory.provision({
      directAddress: 'ana@d.example',
      npi: '1000000004',
      organization: 'Ours',
    });
    const [hosted] = await find('ana@');
    assert.deepEqual([hosted?.['org_name'], hosted?.['org_phone']], ['Ours', '']);
    await into('directtrust', [{ ...ana, org_name: 'Changed' }], 'incremental');
    assert.deepEqual((await find('ana@'))[0], hosted);
    const [shown] = await showRecords(world.storage, { id: Number(hosted?.['id']) });
    assert.equal(shown?.isOpen, false);
    assert.deepEqual(
      shown?.said.map(({ source }) => source),
      ['hosted', 'directtrust', 'npd'],
    );
    await world.directory.unprovision('ana@d.example');
    const [record] = await find('ana@');
    assert.deepEqual([record?.['org_name'], record?.['org_phone']], ['Changed', '1']);
  });

  test('with an NPI stand for the entries of sources without one, through loads, changes and restarts', async () => {
    const desk = { serv_direct_addr: 'desk@d.example' };
    const said = async (from = world): Promise<string[]> =>
      (await find('desk@', from)).map((row) => [row['prov_npi'], row['org_name']].join(' '));
    const host = (npi: string) =>
      world.directory.provision({ directAddress: 'Desk@d.example', npi, organization: 'Ours' });
    await into('npd', [{ ...desk, org_name: 'Theirs' }, ...crowd]);
    assert.deepEqual(await said(), [' Theirs']);
    await host('1000000004');
    assert.deepEqual(await said(), ['1000000004 Ours']);
    const [shown, ...others] = await showRecords(world.storage, { directAddress: 'desk@d.example' });
    assert.deepEqual([shown?.said.map(({ source }) => source), others], [['hosted', 'npd'], []]);
    for (const load of [
      () => into('npd', [{ ...desk, org_name: 'Later' }], 'incremental'),
      () => into('npd', [{ ...desk, org_name: 'Again' }, ...crowd]),
      () => into('directtrust', [{ ...desk, org_name: 'Closed' }]),
      () => into('npd', [{ ...desk, prov_npi: '1234567893' }], 'incremental'),
    ]) {
      await load();
      assert.ok((await said()).includes('1000000004 Ours'));
      assert.ok((await said()).every((text) => !text.startsWith(' ')));
    }
    assert.deepEqual(await said(), ['1000000004 Ours', '1234567893 ']);
    const restarted = await startTestDirectory({ sharesWith: world, snapshotFolder: 'other' });
    assert.deepEqual(await said(restarted), await said());
    await restarted.close();
    // Without an NPI it stands for those without one alone.
    await host('');
    await into('npd', [{ ...desk, prov_npi: '1234567893', action: 'remove' }], 'incremental');
    assert.deepEqual(await said(), [' Ours']);
    await host('1000000004');
    await world.directory.unprovision('desk@d.example');
    assert.deepEqual(await said(), [' Closed']);
  });
});

describe('the values that a record shows', () => {
  test('shows the source of each value, the values of each source, and whether all of them are open', async () => {
    await into('npd', [
      { ...ana, org_phone: '1', prov_last_name: 'Smith' },
      { serv_direct_addr: 'open@d.example', org_name: 'Open' },
    ]);
    await into('nppes', [{ ...ana, prov_spec_text: 'Cardiology' }]);
    const [open] = await showRecords(world.storage, { directAddress: 'ANA@d.example' });
    assert.equal(open?.isOpen, true, 'both sources are open');
    assert.deepEqual(open?.values.prov_spec_text, { value: 'Cardiology', source: 'nppes' });
    await into('directtrust', [{ ...ana, org_name: 'Closed' }]);
    const [record] = await showRecords(world.storage, { directAddress: 'ana@d.example' });
    assert.equal(record?.isOpen, false);
    assert.deepEqual(
      Object.entries(record?.values ?? {}).map(([name, { source }]) => [name, source]),
      [
        ['prov_npi', 'directtrust'],
        ['prov_last_name', 'npd'],
        ['serv_direct_addr', 'directtrust'],
        ['org_name', 'directtrust'],
        ['prov_spec_text', 'nppes'],
        ['org_phone', 'npd'],
      ],
    );
    assert.deepEqual(
      record?.said.map(({ source, exportRight, values }) => [source, exportRight, values.org_phone]),
      [
        ['directtrust', 'closed', undefined],
        ['npd', 'open', '1'],
        ['nppes', 'open', undefined],
      ],
    );
    const [served] = await find('ana@');
    assert.equal(record?.id, served?.['id']);
    assert.equal((await showRecords(world.storage, { id: record?.id ?? 0 })).length, 1);
    assert.equal((await showRecords(world.storage, { directAddress: 'open@d.example' }))[0]?.isOpen, true);
    assert.deepEqual(await showRecords(world.storage, { directAddress: 'nobody@d.example' }), []);
  });

  test('a record of an open source that a closed one completes is not open', async () => {
    await into('npd', [{ ...ana, org_name: 'Open' }]);
    await into('county', [{ ...ana, org_phone: 'closed' }]);
    assert.equal((await showRecords(world.storage, { directAddress: 'ana@d.example' }))[0]?.isOpen, false);
    await into('county', [{ ...ana, org_name: 'says nothing that is shown' }]);
    assert.equal((await showRecords(world.storage, { directAddress: 'ana@d.example' }))[0]?.isOpen, true);
  });
});

async function openRecords(): Promise<ProviderRecord[]> {
  const records: ProviderRecord[] = [];
  await readOpenRecords(
    world.storage,
    await claimSources(world.storage, undefined),
    async (some) => void records.push(...some),
  );
  return records.toSorted((a, b) => a.id - b.id);
}

describe('the open records', () => {
  test('are the merge over the open sources: nothing of a closed one is in them', async () => {
    await into('directtrust', [
      { ...ana, org_name: 'Secret', org_phone: 'secret' },
      { serv_direct_addr: 'secret@d.example' },
      ...crowd,
    ]);
    await into('nppes', [{ ...ana, prov_suffix: 'MD' }]);
    await into('npd', [{ ...ana, org_phone: '1' }, { serv_direct_addr: 'open@d.example' }]);
    await world.directory.provision({ directAddress: 'hosted@d.example', lastName: 'Secret' });
    const records = await openRecords();
    assert.deepEqual(
      records.map(({ directAddress, organization, phone, suffix }) => [
        directAddress,
        organization,
        phone,
        suffix,
      ]),
      [
        ['ana@d.example', '', '1', 'MD'],
        ['open@d.example', '', '', ''],
      ],
    );
    assert.ok(!JSON.stringify(records).toLowerCase().includes('secret'));
    const [served] = await find('ana@');
    assert.equal(records[0]?.id, served?.['id'], 'under the id of the served record');
  });

  test('follow the rights, which change without a merge', async () => {
    await into('npd', [{ ...ana, org_phone: '1' }]);
    await into('county', [{ ...ana, org_name: 'County' }]);
    const before = await activeLoad();
    assert.equal((await openRecords())[0]?.organization, '');
    await setExportRight(world, 'county', 'open');
    assert.equal((await openRecords())[0]?.organization, 'County');
    await setExportRight(world, 'npd', 'closed');
    assert.equal((await openRecords())[0]?.phone, '');
    await setExportRight(world, 'county', 'closed');
    assert.deepEqual(await openRecords(), []);
    assert.equal((await activeLoad()).id, before.id);
    await world.load(toCsv([ana]), 'full', { sourceName: 'county', exportRight: 'open' });
    assert.equal((await openRecords()).length, 1);
  });

  test('of a trust organization do not come in under the name of an open source', async () => {
    const csv = 'service_direct_address,organization_name\nana@d.example,Members only\n';
    await assert.rejects(world.load(csv, 'full', { sourceName: 'npd' }), {
      code: 'DIRECTORY_SOURCE_INVALID',
    });
    await world.load(csv, 'full', { sourceName: 'directtrust' });
    assert.deepEqual(await openRecords(), []);
  });
});

describe('two nodes', () => {
  test('serve the same after each load of each of them', async () => {
    const other = await startTestDirectory({
      sharesWith: world,
      snapshotFolder: 'other-node',
      pollIntervalMs: 60_000,
    });
    const load = (
      node: TestDirectory,
      sourceName: string,
      rows: readonly Row[],
      kind?: 'full' | 'incremental',
    ) => node.load(toCsv(rows, ['action', 'key']), kind, { sourceName });
    const assertSame = async (): Promise<string> => {
      const texts: string[] = [];
      for (const node of [world, other]) {
        await node.directory.refresh();
        texts.push((await node.search({ limit: 1000 })).text);
      }
      assert.equal(texts[0], texts[1]);
      return texts[0] ?? '';
    };
    try {
      await load(world, 'npd', [{ ...ana, org_phone: '1' }, ...crowd]);
      await assertSame();
      await load(other, 'directtrust', [{ ...ana, org_name: 'DirectTrust' }]);
      assert.match(await assertSame(), /DirectTrust/);
      await load(world, 'directtrust', [{ ...ana, org_name: 'Changed' }], 'incremental');
      assert.match(await assertSame(), /Changed/);
      await orderSources(other, ['npd']);
      await assertSame();
      await rollBack(world, 'directtrust');
      await assertSame();
      await removeSource(other, 'npd');
      assert.doesNotMatch(await assertSame(), /p1@d/);
    } finally {
      await other.close();
    }
  });
});

describe('two nodes at once', () => {
  test('load one source once, and do not remove it meanwhile', async () => {
    // Nodes of a SQLite database are processes of one machine, whose lock is a file in the folder of the snapshots.
    const isServer = world.database.location.url !== undefined;
    const other = await startTestDirectory({
      sharesWith: world,
      ...(isServer && { snapshotFolder: 'other-node' }),
      pollIntervalMs: 60_000,
    });
    try {
      await into('county', [{ ...ana, org_phone: '1' }]);
      await into('state', [{ ...ana, org_name: 'State' }]);
      for (let round = 0; round < 3; round++) {
        const phones = [`2${round}`, `3${round}`];
        const results = await Promise.allSettled(
          [world, other].map(({ directory }, at) => {
            const text = toCsv([...crowd, { ...ana, org_phone: phones[at] ?? '' }]);
            const files = openStream(Readable.from([Buffer.from(text)]));
            return directory.importFiles({ files, kind: 'full', sourceName: 'county' });
          }),
        );
        const refused = results.filter((one) => one.status === 'rejected');
        for (const { reason } of refused)
          assert.equal((reason as { code?: string }).code, 'DIRECTORY_LOAD_RUNNING');
        const won = phones.filter((_, at) => results[at]?.status === 'fulfilled');
        assert.ok(won.length > 0);
        assert.ok(won.includes(String(await phoneOf('ana@'))));
      }
      const csv = toCsv([{ ...ana, org_phone: '4' }, ...crowd]);
      const loading = await beginLoad(world, csv, 'county', other.directory);
      await assert.rejects(removeSource(other, 'county'), { code: 'DIRECTORY_LOAD_RUNNING' });
      await assert.rejects(rollBack(other, 'county'), { code: 'DIRECTORY_LOAD_RUNNING' });
      await loading.finish();
      assert.equal(await phoneOf('ana@'), '4');
      await removeSource(other, 'county');
      assert.equal(await phoneOf('ana@'), '');
      const { sources, running } = await world.directory.status();
      assert.deepEqual([sources.map(({ name }) => name), running], [['state'], undefined]);
    } finally {
      await other.close();
    }
  });
});
