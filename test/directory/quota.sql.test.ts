/** The daily quota of records: kept by requests that run at once, while counts are stored, and over an outage of the database. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createManualClock, silentLog, type Log } from '../../src/core/index.ts';
import type { Storage } from '../../src/platform/index.ts';
import { createQuotaLedger, readUsedToday } from '../../src/service/directory/guard/quota-ledger.ts';
import { openTestStorage } from '../support/storage.ts';
import { startTestDirectory, toCsv } from './start-directory.ts';

const clock = createManualClock(new Date('2026-11-23T12:00:00Z'));
let storage: Storage;
before(async () => {
  storage = await openTestStorage();
});
after(() => storage.close());

test('requests that run at once exceed the quota by less than one page', async () => {
  const world = await startTestDirectory();
  try {
    const rows = Array.from({ length: 100 }, (_, at) => ({
      serv_direct_addr: `r${at}@d.example`,
      org_name: `Clinic ${at}`,
    }));
    await world.load(toCsv(rows));
    const token = await world.createToken({ limits: { directoryRecordsPerDay: 250 } });
    // The first searches for organizations wait together until these are found.
    const replies = await Promise.all(
      Array.from({ length: 20 }, () =>
        world.get('/fhir/Organization?_count=100', { authorization: `Bearer ${token}` }),
      ),
    );
    const shown = replies.filter(({ status }) => status === 200);
    assert.equal(shown.length, 3);
    const refused = replies.filter(({ status }) => status !== 200);
    assert.deepEqual(new Set(refused.map(({ status }) => status)), new Set([429]));
    for (const { headers } of refused) assert.ok(Number(headers.get('retry-after')) > 0);
    const { status } = await world.search({ limit: 1 }, { authorization: `Bearer ${token}` });
    assert.equal(status, 429);
  } finally {
    await world.close();
  }
});

test('a count never falls while it is stored', async () => {
  const seen: number[] = [];
  const note = async (): Promise<void> => void seen.push(await ledger.used('falling'));
  const watched: Storage = {
    ...storage,
    tables() {
      // The stored count is being read.
      if (isStoring) void note();
      return storage.tables();
    },
    async transaction(work) {
      const result = await storage.transaction(work);
      await note();
      return result;
    },
  };
  let isStoring = false;
  const ledger = createQuotaLedger({ storage: watched, clock, flushMs: 60_000, log: silentLog });
  await ledger.add('falling', 900, 1000);
  isStoring = true;
  await ledger.close();
  assert.deepEqual(seen, [900, 900]);
  assert.equal((await readUsedToday(storage, ['falling'], clock.now())).get('falling'), 900);
});

test('what another node has stored counts, also for a client that this node has seen before', async () => {
  const time = createManualClock(new Date('2026-11-23T13:00:00Z'));
  let isAway = false;
  const faulty: Storage = {
    ...storage,
    tables() {
      if (isAway) throw new Error('the database is away');
      return storage.tables();
    },
  };
  const shared = { clock: time, flushMs: 1000, log: silentLog, liveNodes: () => 2 };
  const [one, other] = [faulty, storage].map((own) => createQuotaLedger({ ...shared, storage: own }));
  assert.ok(one && other);
  assert.equal(await one.used('both'), 0);
  assert.ok(await one.add('both', 5, 1000));
  assert.ok(await other.add('both', 1000, 1000));
  await other.close();
  time.advance(1000);
  isAway = true;
  assert.equal(await one.used('both'), 5);
  isAway = false;
  assert.deepEqual(await Promise.all([one.used('both'), one.used('both')]), [1005, 1005]);
  assert.equal(await one.add('both', 1, 1000), false);
  await one.close();
  assert.equal((await readUsedToday(storage, ['both'], time.now())).get('both'), 1005);
});

test('a count that is read while it is stored counts once', async () => {
  const time = createManualClock(new Date('2026-11-23T14:00:00Z'));
  const watched: Storage = {
    ...storage,
    async transaction(work) {
      const result = await storage.transaction(work);
      time.advance(1000);
      assert.equal(await ledger.used('stored'), 900);
      return result;
    },
  };
  const shared = { clock: time, flushMs: 1000, log: silentLog, liveNodes: () => 2 };
  const ledger = createQuotaLedger({ ...shared, storage: watched });
  await ledger.add('stored', 900, 1000);
  await ledger.close();
  time.advance(1000);
  assert.equal(await ledger.used('stored'), 900);
  await ledger.close();
});

test('counts that cannot be stored are reported once and kept; those that were stored are not stored again', async () => {
  const lines: string[] = [];
  const log: Log = { ...silentLog, error: (_fields, text) => void lines.push(text) };
  let fault: 'none' | 'store' | 'read' = 'none';
  const refuse = (what: typeof fault): void => {
    if (fault === what) throw new Error('the database is away');
  };
  const faulty: Storage = {
    ...storage,
    tables() {
      refuse('read');
      return storage.tables();
    },
    async transaction(work) {
      refuse('store');
      return storage.transaction(work);
    },
  };
  const ledger = createQuotaLedger({ storage: faulty, clock, flushMs: 60_000, log });
  const clients = ['one', 'two', 'three'];
  for (const client of clients) await ledger.add(client, 10, 1000);
  fault = 'store';
  await ledger.close();
  await ledger.close();
  assert.deepEqual(lines, ['a worker could not store the quotas']);
  for (const client of clients) assert.equal(await ledger.used(client), 10);
  fault = 'read';
  await ledger.close();
  for (const client of clients) assert.equal(await ledger.used(client), 10);
  fault = 'none';
  await ledger.close();
  for (const client of clients) {
    assert.equal(await ledger.used(client), 10);
    assert.equal((await readUsedToday(storage, [client], clock.now())).get(client), 10);
  }
});
