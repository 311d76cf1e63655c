import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectLines } from '../../../test/support/collect-lines.ts';
import { openTestStorage } from '../../../test/support/storage.ts';
import { insertDelivery } from '../../../test/support/stored-rows.ts';
import { createManualClock } from '../../core/index.ts';
import { createMetrics } from '../../platform/index.ts';
import type { DeliveryTables } from '../../service/delivery/index.ts';
import { createHoldWatch } from './watch-holds.ts';

const minuteMs = 60_000;

test('a hold is urgent when mail fails within the hour under it, or after a day without an end', async () => {
  const clock = createManualClock(new Date('2026-06-01T00:00:00Z'));
  const storage = await openTestStorage({ clock });
  const db = storage.tables<DeliveryTables>();
  const metrics = createMetrics();
  const { log, lines } = collectLines();
  const watch = createHoldWatch({ storage, clock, log, metrics });
  const look = async (): Promise<string[]> => {
    await watch.run();
    const [, holds] = /^openhisp_queue_holds (\d+)$/m.exec(await metrics.text()) ?? [];
    const [, urgent] = /^openhisp_queue_holds_urgent (\d+)$/m.exec(await metrics.text()) ?? [];
    return [`${holds} holds, ${urgent} urgent`, ...watch.degraded().map(({ detail }) => detail)];
  };
  const at = clock.now().getTime();
  const hold = (domain: string, endsAt: number | null) =>
    db
      .insertInto('delivery_hold')
      .values({ domain, reason: 'upgrade', author: 'operator:jo', ends_at: endsAt, created_at: at })
      .execute();
  const queue = (domain: string, attempts: number) =>
    insertDelivery(storage, { atMs: at, id: domain, domain, attempts, not_after: at + 90 * minuteMs });
  await hold('a.example', null);
  await hold('b.example', at + 60 * minuteMs);
  await queue('a.example', 1);
  await queue('b.example', 1);
  assert.deepEqual(await look(), ['2 holds, 0 urgent']);
  assert.deepEqual(lines, []);
  clock.advance(30 * minuteMs);
  // The hold of b ends before its mail does.
  const warning =
    '1 delivery to a.example waits, and the first fails at 2026-06-01T01:30:00.000Z unless the hold is released. a.example is on hold since 2026-06-01T00:00:00.000Z until somebody releases it, by jo: upgrade';
  assert.deepEqual(await look(), ['2 holds, 1 urgent', warning]);
  assert.deepEqual(lines, [`warn ${warning}`]);
  await db.deleteFrom('delivery_destination').execute();
  assert.deepEqual(await look(), ['2 holds, 0 urgent']);
  clock.advance(24 * 60 * minuteMs);
  assert.equal((await look())[0], '2 holds, 1 urgent');
  await storage.close();
});
