/** Hosted addresses and small increments: found at once, without a new index, as if there were one. */
import assert from 'node:assert/strict';
import { copyFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { openStream, rollBack } from '../../src/service/directory/index.ts';
import { deleteRemovals } from '../../src/service/directory/store/clear-loads.ts';
import { loadState, updateState } from '../../src/service/directory/store/state.ts';
import type { DirectoryTables } from '../../src/service/directory/store/tables.ts';
import { snapshotsOf, startTestDirectory, toCsv, type TestDirectory } from './start-directory.ts';
import { createDeadline } from '../support/time-scale.ts';

const people = Array.from({ length: 60 }, (_, index) => ({
  serv_direct_addr: `p${index}@d.example`,
  prov_npi: index % 2 === 0 ? '1000000004' : '',
  prov_last_name: `Name${String(index).padStart(2, '0')}`,
  org_zip: '02139',
}));

let world: TestDirectory;
before(async () => {
  world = await startTestDirectory();
});
after(() => world.close());

type Shown = Record<string, unknown>;

async function find(address: string, from = world): Promise<Shown[]> {
  const { body } = await from.search({ serv_direct_addr: address, sort_by: 'org_name' });
  assert.equal(body.totalCount, String(body.providers?.length));
  return body.providers ?? [];
}

async function namesOf(address: string, from = world): Promise<unknown[]> {
  return (await find(address, from)).map((record) => record['org_name']);
}

async function until(isDone: () => Promise<boolean>, what: string): Promise<void> {
  const deadline = createDeadline(20_000);
  while (!(await isDone())) {
    assert.ok(!deadline.isOver(), what);
    await sleep(20);
  }
}

/** Fails if an index was built again by what `work` does. */
async function withoutRebuild(work: () => Promise<void>): Promise<void> {
  const snapshots = await snapshotsOf(world);
  await work();
  assert.deepEqual(await snapshotsOf(world), snapshots);
}

const columns = ['action', 'key'];

describe('a hosted address', () => {
  test('is found, changed and gone, and the record of the load comes back', async () => {
    await world.load(toCsv(people));
    const [loaded] = await find('p4@d.example');
    await withoutRebuild(async () => {
      const hosted = { directAddress: 'P4@d.example', npi: '1000000004', organization: 'Hosted' };
      await world.directory.provision(hosted);
      await until(async () => (await namesOf('p4@d.example')).join() === 'Hosted', 'found');
      const [record] = await find('p4@d.example');
      assert.notEqual(record?.['id'], loaded?.['id']);
      await world.directory.provision({ ...hosted, organization: 'Renamed' });
      await until(async () => (await namesOf('p4@d.example')).join() === 'Renamed', 'changed');
      assert.equal((await find('p4@d.example'))[0]?.['id'], record?.['id'], 'it keeps its id');
      await world.directory.unprovision('p4@d.example');
      await until(async () => (await namesOf('p4@d.example')).join() === '', 'gone');
      assert.deepEqual(await find('p4@d.example'), [loaded]);
      await world.directory.provision(hosted);
      await world.directory.refresh();
      assert.equal((await find('p4@d.example'))[0]?.['id'], record?.['id'], 'also after a break');
      await world.directory.unprovision('p4@d.example');
    });
  });

  test('with another NPI stands next to the record of the load, and instead of it once they agree', async () => {
    await world.load(toCsv(people));
    await withoutRebuild(async () => {
      await world.directory.provision({ directAddress: 'p6@d.example', organization: 'Beside' });
      await world.directory.refresh();
      assert.deepEqual(await namesOf('p6@d.example'), ['Beside', '']);
      await world.directory.provision({
        directAddress: 'p6@d.example',
        npi: '1000000004',
        organization: 'Instead',
      });
      await world.directory.refresh();
      assert.deepEqual(await namesOf('p6@d.example'), ['Instead']);
      await world.directory.provision({ directAddress: 'p6@d.example', organization: 'Beside' });
      await world.directory.refresh();
      assert.deepEqual(await namesOf('p6@d.example'), ['Beside', '']);
    });
    await world.directory.unprovision('p6@d.example');
  });

  test('that the index has already is uncovered by taking it out, and stays over an increment', async () => {
    await world.directory.provision({
      directAddress: 'p8@d.example',
      npi: '1000000004',
      organization: 'Over all',
    });
    await world.load(toCsv(people));
    await withoutRebuild(async () => {
      const own = { ...people[8], org_name: 'From a load' };
      await world.load(toCsv([own, { serv_direct_addr: 'p60@d.example' }]), 'incremental');
      assert.deepEqual(await namesOf('p8@d.example'), ['Over all']);
      assert.equal((await find('p60@d.example')).length, 1);
      await world.load(toCsv([{ ...own, action: 'remove' }], columns), 'incremental');
      assert.deepEqual(await namesOf('p8@d.example'), ['Over all']);
      await world.load(toCsv([own]), 'incremental');
      await world.directory.unprovision('p8@d.example');
      await world.directory.refresh();
      assert.deepEqual(await namesOf('p8@d.example'), ['From a load']);
    });
  });

  test('is found by its NPI, and counted in the status', async () => {
    await world.load(toCsv(people));
    const servedBefore = (await world.directory.status()).served;
    await world.directory.provision({ directAddress: 'npi@d.example', npi: '1999999992' });
    await world.directory.refresh();
    const { body } = await world.get('/provider-directory/v2/providers/prov_npi/1999999992');
    assert.equal(body.providers?.length, 1);
    const { served, provisionedCount } = await world.directory.status();
    assert.equal(served?.recordCount, 61);
    assert.ok((served?.memoryBytes ?? 0) > (servedBefore?.memoryBytes ?? Infinity));
    assert.equal(provisionedCount, 1);
    await world.directory.unprovision('npi@d.example');
    assert.equal((await world.directory.status()).provisionedCount, 0);
  });
});

describe('a small increment', () => {
  const changes = [
    { serv_direct_addr: 'new@d.example', org_name: 'New' },
    { ...people[1], org_name: 'Changed' },
    { ...people[2], action: 'remove' },
  ];

  test('adds, changes and removes; a second one builds on it; a rollback reverts it', async () => {
    await world.load(toCsv(people));
    const before = await world.search({ limit: 1000 });
    await withoutRebuild(async () => {
      await world.load(toCsv(changes, columns), 'incremental');
      const first = await world.search({ limit: 1000 });
      assert.equal(first.body.totalCount, '60');
      assert.deepEqual(await namesOf('p1@d.example'), ['Changed']);
      assert.deepEqual(await namesOf('p2@d.example'), []);
      await world.load(
        toCsv(
          [
            { ...people[2], org_name: 'Again' },
            { ...people[1], action: 'remove' },
          ],
          columns,
        ),
        'incremental',
      );
      assert.deepEqual(await namesOf('p2@d.example'), ['Again']);
      assert.deepEqual(await namesOf('p1@d.example'), []);
      await rollBack(world);
      await world.directory.refresh();
      assert.equal((await world.search({ limit: 1000 })).text, first.text);
      await rollBack(world);
      await world.directory.refresh();
      assert.equal((await world.search({ limit: 1000 })).text, before.text);
    });
  });

  test('is there after a restart, from the older snapshot; a removed snapshot is made again', async () => {
    await world.load(toCsv(people));
    await world.directory.provision({ directAddress: 'hosted@d.example' });
    await world.load(toCsv(changes, columns), 'incremental');
    const expected = (await world.search({ limit: 1000 })).text;
    await withoutRebuild(async () => {
      const again = await startTestDirectory({ sharesWith: world });
      assert.equal((await again.search({ limit: 1000 })).text, expected);
      await again.close();
    });
    const anew = await startTestDirectory({ sharesWith: world, snapshotFolder: 'anew' });
    assert.equal((await anew.search({ limit: 1000 })).text, expected);
    assert.equal((await snapshotsOf(anew)).length, 1);
    await anew.close();
    await world.directory.unprovision('hosted@d.example');
  });

  test('of another process is noticed', async () => {
    await world.load(toCsv(people));
    const other = await startTestDirectory({ sharesWith: world });
    await withoutRebuild(async () => {
      await other.load(toCsv(changes, columns), 'incremental');
      await other.directory.provision({ directAddress: 'elsewhere@d.example' });
      await until(async () => (await find('elsewhere@d.example')).length === 1, 'noticed');
      assert.deepEqual(await namesOf('p1@d.example'), ['Changed']);
    });
    await other.directory.unprovision('elsewhere@d.example');
    await other.close();
  });

  test('is copied with the older ones into one load once they are large together', async () => {
    await world.load(toCsv(people));
    const [before] = await find('p50@d.example');
    for (let round = 0; round < 4; round++) {
      const rows = people.slice(round * 8, round * 8 + 8);
      await world.load(toCsv(rows.map((row) => ({ ...row, org_name: 'Changed' }))), 'incremental');
    }
    const { active } = await world.directory.status();
    const row = await world.storage
      .tables<DirectoryTables>()
      .selectFrom('directory_load')
      .select('parent_id')
      .where('id', '=', active?.id ?? 0)
      .executeTakeFirstOrThrow();
    assert.equal(row.parent_id, null);
    assert.equal((await world.search({ org_name: 'Changed' })).body.totalCount, '32');
    assert.equal(active?.recordCount, 60);
    assert.deepEqual(await find('p50@d.example'), [before]);
  });

  test('may take away and release the key of another record', async () => {
    await world.load(
      toCsv(
        people.map((row, index) => ({ ...row, key: `k${index}` })),
        columns,
      ),
    );
    const [before] = await find('p3@d.example');
    await withoutRebuild(async () => {
      const moved = { ...people[3], serv_direct_addr: 'moved@d.example', key: 'k3' };
      await world.load(toCsv([moved], columns), 'incremental');
      assert.deepEqual(await find('p3@d.example'), []);
      assert.equal((await find('moved@d.example'))[0]?.['id'], before?.['id']);
      await world.load(toCsv([{ ...moved, action: 'remove' }], columns), 'incremental');
      await world.load(toCsv([{ ...people[3], key: 'k3' }], columns), 'incremental');
      assert.deepEqual(await find('moved@d.example'), []);
      assert.equal((await find('p3@d.example')).length, 1);
    });
  });
});

describe('more changes than a limit', () => {
  test('lead to a new index in the background; all are found meanwhile and afterwards', async () => {
    const own = await startTestDirectory({ changesBeforeRebuild: 4 });
    try {
      await own.load(toCsv(people));
      const [first = ''] = await snapshotsOf(own);
      for (let count = 1; count <= 40; count++) {
        await own.directory.provision({ directAddress: `many${count}@hosted.example`, zip: '02139' });
        if (count % 3 !== 0) continue;
        await own.directory.refresh();
        const { body } = await own.search({ serv_direct_addr: 'hosted.example', limit: 1000 });
        assert.equal(body.totalCount, String(count));
      }
      await until(async () => !(await snapshotsOf(own)).includes(first), 'a new index');
      await own.directory.refresh();
      assert.equal((await own.search({ serv_direct_addr: 'many' })).body.totalCount, '40');
      assert.equal((await own.directory.status()).served?.recordCount, 100);
    } finally {
      await own.close();
    }
  });

  test('in one increment are indexed before it is activated', async () => {
    const own = await startTestDirectory({ changesBeforeRebuild: 4 });
    try {
      await own.load(toCsv(people));
      const [first = ''] = await snapshotsOf(own);
      const rows = Array.from({ length: 5 }, (_, index) => ({ serv_direct_addr: `more${index}@d.example` }));
      await own.load(toCsv(rows), 'incremental');
      assert.equal((await own.search({ serv_direct_addr: 'more' })).body.totalCount, '5');
      assert.ok(!(await snapshotsOf(own)).includes(first));
    } finally {
      await own.close();
    }
  });

  test('a hosted record that changes while a load runs is not lost', async () => {
    const own = await startTestDirectory({ pollIntervalMs: 60_000 });
    try {
      await own.directory.provision({ directAddress: 'gone@hosted.example' });
      await own.directory.refresh();
      let hasChanged = false;
      async function* text(): AsyncGenerator<Buffer> {
        yield Buffer.from(toCsv(people));
        await own.directory.provision({ directAddress: 'meanwhile@hosted.example' });
        await own.directory.unprovision('gone@hosted.example');
        hasChanged = true;
        yield Buffer.from('');
      }
      await own.directory.importFiles({ files: openStream(Readable.from(text())), kind: 'full' });
      assert.ok(hasChanged);
      const { body } = await own.search({ serv_direct_addr: 'hosted.example' });
      assert.deepEqual(
        body.providers?.map((record) => record['serv_direct_addr']),
        ['meanwhile@hosted.example'],
      );
    } finally {
      await own.close();
    }
  });
});

describe('when the changes are unknown', () => {
  test('an index from before they were recorded is not used', async () => {
    const own = await startTestDirectory();
    await own.load(toCsv(people));
    await own.directory.provision({ directAddress: 'lost@hosted.example' });
    await own.load(toCsv(people));
    // As after the oldest removals were cleared away: the row is gone without a trace.
    const tables = own.storage.tables<DirectoryTables>();
    await tables.deleteFrom('directory_provisioned').execute();
    const { revision } = await loadState(own.storage);
    await updateState(tables, { revision: revision + 1, recorded_since: revision + 1 });
    await own.directory.refresh();
    const again = await startTestDirectory({ sharesWith: own });
    for (const one of [own, again])
      assert.equal((await one.search({ serv_direct_addr: 'lost@' })).body.totalCount, '0');
    await again.close();
    await own.close();
  });
});

describe('an older copy of the database, put back', () => {
  test('is not served with an index from its lost future', async () => {
    const own = await startTestDirectory({ pollIntervalMs: 60_000 });
    try {
      await own.load(toCsv(people));
      const [name = ''] = await snapshotsOf(own);
      const { revision } = await loadState(own.storage);
      const future = name.replace(/-[0-9]+\.idx$/, `-${revision + 2}.idx`);
      await copyFile(path.join(own.snapshotDir, name), path.join(own.snapshotDir, future));
      const again = await startTestDirectory({ sharesWith: own });
      assert.deepEqual(await snapshotsOf(again), [name]);
      for (const address of ['a@hosted.example', 'b@hosted.example', 'c@hosted.example'])
        await again.directory.provision({ directAddress: address });
      await again.directory.refresh();
      assert.equal((await again.search({ serv_direct_addr: 'hosted' })).body.totalCount, '3');
      await again.close();
    } finally {
      await own.close();
    }
  });
});

describe('removed hosted addresses', () => {
  test('are forgotten in time, and with them every index that may still hold them', async () => {
    const own = await startTestDirectory({ pollIntervalMs: 60_000 });
    try {
      for (const name of ['a', 'b', 'c'])
        await own.directory.provision({ directAddress: `${name}@hosted.example` });
      await own.load(toCsv(people));
      const [first = ''] = await snapshotsOf(own);
      for (const name of ['a', 'b', 'c']) await own.directory.unprovision(`${name}@hosted.example`);
      await deleteRemovals(own.storage, 1);
      const tables = own.storage.tables<DirectoryTables>();
      const left = await tables.selectFrom('directory_provisioned').select('address_key').execute();
      assert.deepEqual(left, [{ address_key: 'c@hosted.example' }]);
      await own.directory.refresh();
      assert.equal((await own.search({ serv_direct_addr: 'hosted' })).body.totalCount, '0');
      assert.ok(!(await snapshotsOf(own)).includes(first), 'an index has been built');
    } finally {
      await own.close();
    }
  });
});

describe('while changes come in', () => {
  test('every answer comes wholly from before or wholly from after one of them', async () => {
    await world.load(toCsv(people));
    const flip = (name: string): string =>
      toCsv(people.slice(0, 4).map((row) => ({ ...row, org_name: name })));
    await world.load(flip('alpha'), 'incremental');
    let isLoading = true;
    const seen = new Set<unknown>();
    const asking = Array.from({ length: 3 }, async (_, index) => {
      while (isLoading) {
        const query =
          index === 0
            ? { limit: 1000, radius: 1000, org_zip: '02139' }
            : { limit: 50, offset: index, sort_by: 'prov_last_name' };
        const { body, status } = await world.search(query);
        assert.equal(status, 200);
        assert.equal(body.totalCount, '60');
        const names = new Set(body.providers?.map((record) => record['org_name']));
        names.delete('');
        assert.equal(names.size, 1, 'one state in an answer');
        for (const name of names) seen.add(name);
      }
    });
    for (let round = 0; round < 6; round++)
      await world.load(flip(round % 2 === 0 ? 'beta' : 'alpha'), 'incremental');
    isLoading = false;
    await Promise.all(asking);
    assert.deepEqual(seen, new Set(['alpha', 'beta']));
  });
});
