import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startTestDirectory, toCsv, type TestDirectory } from './start-directory.ts';
import { createDeadline } from '../support/time-scale.ts';

let world: TestDirectory;
before(async () => {
  world = await startTestDirectory();
});
after(() => world.close());

describe('hosted addresses', () => {
  const hosted = {
    directAddress: 'Front.Desk@direct.hosted.example',
    organization: 'Hosted Clinic',
    city: 'Boston',
    state: 'MA',
    zip: '02114',
  };

  async function untilCount(count: number): Promise<void> {
    const deadline = createDeadline(10_000);
    while ((await world.search({ serv_direct_addr: 'direct.hosted' })).body.totalCount !== String(count)) {
      assert.ok(!deadline.isOver(), 'the directory has not caught up');
      await sleep(20);
    }
  }

  test('appear by themselves, survive loads, change and disappear', async () => {
    await world.load(toCsv([{ serv_direct_addr: 'one@d.example' }]));
    await world.directory.provision(hosted);
    await untilCount(1);
    const first = (await world.search({ serv_direct_addr: 'direct.hosted' })).body.providers?.[0];
    assert.equal(first?.['serv_direct_addr'], 'Front.Desk@direct.hosted.example');
    assert.equal(typeof first['lat'], 'number', 'coordinates come from the gazetteer');
    assert.equal(await world.directory.isListed('front.DESK@direct.hosted.example'), true);
    assert.equal(await world.directory.isListed('desk@direct.hosted.example'), false);
    await world.load(
      toCsv([
        { serv_direct_addr: 'two@d.example', prov_npi: '1234567893', prov_last_name: 'Lee' },
        { serv_direct_addr: 'front.desk@direct.hosted.example', org_name: 'Outdated' },
      ]),
    );
    await untilCount(1);
    assert.deepEqual(
      world.directory.findNames('1234567893').map(({ directAddress, lastName }) => [directAddress, lastName]),
      [['two@d.example', 'Lee']],
    );
    assert.deepEqual(world.directory.findNames('1245319599'), []);
    await world.directory.provision({
      ...hosted,
      directAddress: 'front.desk@direct.hosted.example',
      organization: 'Renamed Clinic',
    });
    const deadline = createDeadline(10_000);
    for (;;) {
      const [record] = (await world.search({ serv_direct_addr: 'direct.hosted' })).body.providers ?? [];
      if (record?.['org_name'] === 'Renamed Clinic') {
        assert.equal(record['id'], first['id'], 'a hosted address keeps its id');
        break;
      }
      assert.ok(!deadline.isOver());
      await sleep(20);
    }
    await world.load(toCsv([{ serv_direct_addr: 'two@d.example' }]));
    assert.equal(await world.directory.unprovision('FRONT.DESK@direct.hosted.example'), true);
    assert.equal(await world.directory.unprovision('FRONT.DESK@direct.hosted.example'), false);
    await untilCount(0);
  });

  test('are checked like the rows of a load', async () => {
    await assert.rejects(world.directory.provision({ directAddress: 'nobody' }), {
      code: 'DIRECTORY_RECORD_INVALID',
    });
    await assert.rejects(world.directory.provision({ ...hosted, npi: '123' }), {
      code: 'DIRECTORY_RECORD_INVALID',
    });
    await assert.rejects(world.directory.unprovision('nobody'), { code: 'VALUE_DIRECT_ADDRESS_INVALID' });
  });
});

describe('while a new directory is swapped in', () => {
  test('every answer comes wholly from the old or wholly from the new one', async () => {
    const generation = (name: string, count: number): string =>
      toCsv(
        Array.from({ length: count }, (_, index) => ({
          serv_direct_addr: `${name}${index}@d.example`,
          org_name: name,
          org_state: 'MA',
          org_zip: '02139',
        })),
      );
    const sizes: Readonly<Record<string, number>> = { alpha: 1500, beta: 2500 };
    await world.load(generation('alpha', 1500));
    let isLoading = true;
    const seen = new Map<string, number>();
    const asking = Array.from({ length: 4 }, async (_, index) => {
      while (isLoading) {
        const query =
          index % 2 === 0
            ? { limit: 1000, offset: 700, sort_by: 'serv_direct_addr' }
            : { limit: 1000, radius: 1000, org_zip: '02139' };
        const { body, status } = await world.search(query);
        assert.equal(status, 200);
        const names = new Set(body.providers?.map((record) => String(record['org_name'])));
        assert.equal(names.size, 1, 'one generation in an answer');
        const [name = ''] = names;
        assert.equal(body.totalCount, String(sizes[name]), 'the count belongs to the same generation');
        seen.set(name, (seen.get(name) ?? 0) + 1);
      }
    });
    for (const name of ['beta', 'alpha', 'beta']) await world.load(generation(name, sizes[name] ?? 0));
    isLoading = false;
    await Promise.all(asking);
    assert.ok((seen.get('alpha') ?? 0) > 0 && (seen.get('beta') ?? 0) > 0);
  });
});
