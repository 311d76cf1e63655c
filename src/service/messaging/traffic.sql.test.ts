import assert from 'node:assert/strict';
import { it } from 'node:test';
import { silentLog } from '../../core/index.ts';
import { openTestStorage } from '../../../test/support/storage.ts';
import { createTraffic, readTraffic, type TrafficTables } from './traffic.ts';

const minuteMs = 60_000;

it('counts by minute are added up, and those older than eight days are deleted', async () => {
  const storage = await openTestStorage();
  const db = storage.tables<TrafficTables>();
  const now = Math.floor(Date.now() / minuteMs);
  const old = { node_id: 'gone', accepted: 1, received: 0, processed: 0, failed: 0, durations: '[]' };
  await db
    .insertInto('traffic_minute')
    .values([
      { ...old, minute: now - 9 * 1440 },
      { ...old, minute: now - 7 * 1440 },
    ])
    .execute();
  for (let node = 0; node < 2; node++) {
    const traffic = createTraffic({ storage, log: silentLog });
    traffic.note('accepted');
    traffic.note('processed', 0.2);
    await traffic.close();
  }
  const left = await db.selectFrom('traffic_minute').select('minute').orderBy('minute').execute();
  assert.equal(Number(left[0]?.minute), now - 7 * 1440);
  const points = await readTraffic(storage, new Date(), { hours: 1, stepMinutes: 60 });
  assert.deepEqual(
    [0, 0].map((_, at) =>
      points.reduce((sum, point) => sum + (at === 0 ? point.accepted : point.processed), 0),
    ),
    [2, 2],
  );
  await storage.close();
});
