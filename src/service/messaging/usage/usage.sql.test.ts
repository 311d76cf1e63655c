import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  alice,
  anna,
  bob,
  carol,
  mallory,
  sendBody,
  startTestMessaging,
  type TestMessaging,
} from '../../../../test/messaging/start-messaging.ts';
import { createRandom } from '../../../../test/support/fast-check.ts';
import { rounds } from '../../../../test/support/rounds.ts';
import { defaultSettings, type Storage } from '../../../platform/index.ts';
import { runHousekeeping } from '../housekeeping.ts';
import type { MessagingDependencies } from '../ports.ts';
import { countUsage } from './count-usage.ts';
import { monthsBefore, readUsage } from './read-usage.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const keepMessagesMs = defaultSettings.messaging.messageDays * dayMs;

describe('usage', () => {
  let world: TestMessaging;
  const random = createRandom('usage');
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
  before(async () => {
    world = await startTestMessaging();
  });
  after(() => world.close());

  const count = (storage: Storage = world.storage) =>
    countUsage({ storage, clock: world.clock }, keepMessagesMs);
  /** Ends the process at the nth transaction of a count, as far as the database can tell. */
  const killedAt = (nth: number): Storage => {
    let begun = 0;
    return {
      ...world.storage,
      tables: () => world.storage.tables(),
      transaction: (async (work: (tx: never) => Promise<unknown>) =>
        await world.storage.transaction(async (tx) => {
          const result = await work(tx as never);
          if (++begun === nth) throw new Error('killed');
          return result;
        })) as Storage['transaction'],
    } as Storage;
  };
  const read = (by: Parameters<typeof readUsage>[1]['by'], limit = 1000) =>
    readUsage(world.storage, { from: '2000-01', to: '2999-12', by, limit });

  async function sendOne(): Promise<void> {
    const isOther = random() < 0.3;
    const to = pick([[bob], [carol], [bob, carol]]);
    await world.messaging.send(
      isOther ? world.otherClient : world.clinic,
      sendBody({
        fromDirectAddress: isOther ? mallory : pick([alice, anna]),
        toDirectAddress: to,
        messageBody: 'x'.repeat(1 + Math.floor(random() * 3000)),
      }),
      {},
    );
    const deliveryId = world.deliveries.at(-1)?.deliveryId ?? '';
    for (const recipient of to) {
      const fate = random();
      if (fate < 0.4) await world.report({ deliveryId, recipient, outcome: 'failed', reason: 'untrusted' });
      else if (fate < 0.7) await world.report({ deliveryId, recipient, outcome: 'sent' });
    }
  }

  /** The rows of acceptance in the audit trail, by day and client. */
  async function audited(): Promise<Map<string, { messages: number; recipients: number; octets: number }>> {
    await world.audit.flush();
    const sums = new Map<string, { messages: number; recipients: number; octets: number }>();
    for (let before: number | undefined; ;) {
      const rows = await world.audit.find({ action: 'message.accept', limit: 500, before });
      for (const { recordedAt, actor, objects } of rows) {
        const key = `${recordedAt.toISOString().slice(0, 10)} ${actor ?? ''}`;
        const sum = sums.get(key) ?? { messages: 0, recipients: 0, octets: 0 };
        sums.set(key, {
          messages: sum.messages + 1,
          recipients: sum.recipients + String(objects['to']).split(' ').length,
          octets: sum.octets + Number(objects['bytes']),
        });
      }
      before = rows.at(-1)?.sequence;
      if (rows.length < 500) return sums;
    }
  }

  it('of random traffic equals the audit trail and the states, whenever it is counted and killed', async () => {
    for (let round = 0; round < rounds(120, 40); round++) {
      await sendOne();
      world.clock.advance(Math.floor(random() * 9 * hourMs));
      if (random() < 0.2) await count(killedAt(1 + Math.floor(random() * 4))).catch(() => undefined);
      if (random() < 0.2) await count();
    }
    await count();
    const { rows, countedAt } = await read(['day', 'client']);
    assert.equal(countedAt?.getTime(), world.clock.now().getTime());
    assert.deepEqual(
      new Map(
        rows.map(({ day, clientId, messages, recipients, octets }) => [
          `${day} ${clientId}`,
          { messages, recipients, octets },
        ]),
      ),
      new Map([...(await audited())].toSorted(([a], [b]) => (a < b ? -1 : 1))),
    );
    const states = await world.db
      .selectFrom('message_recipient')
      .select((eb) => ['state', eb.fn.countAll().as('count')])
      .groupBy('state')
      .execute();
    const of = (...names: readonly string[]): number =>
      states.filter(({ state }) => names.includes(state)).reduce((sum, row) => sum + Number(row.count), 0);
    const [sum] = (await read([])).rows;
    assert.deepEqual(
      [sum?.delivered, sum?.failed, sum?.waiting],
      [of('processed', 'dispatched'), of('failed', 'expired'), of('queued', 'sent')],
    );
  });

  it('is told apart by month, client and domain, and cut where it is asked to be', async () => {
    const { rows } = await read(['month', 'client', 'domain']);
    assert.deepEqual([...new Set(rows.map(({ domain }) => domain))], ['direct.alpha.example']);
    assert.equal(new Set(rows.map(({ clientId }) => clientId)).size, 2);
    const cut = await read(['day'], 2);
    assert.deepEqual([cut.rows.length, cut.isCut], [2, true]);
    const [month = ''] = rows.map((row) => row.month);
    const one = await readUsage(world.storage, { from: month, to: month, by: ['month'], limit: 9 });
    assert.deepEqual(
      one.rows.map((row) => row.month),
      [month],
    );
    for (const wrong of [
      { from: '2026-13', to: '2026-12' },
      { from: '2026-02', to: '2026-01' },
    ])
      await assert.rejects(readUsage(world.storage, { ...wrong, by: ['month'], limit: 9 }), /2026|month/);
  });

  it('counts a day no more that is over and decided, and again when one of its recipients changes', async () => {
    const undecided = await world.db
      .selectFrom('message_recipient')
      .select('id')
      .where('state', 'in', ['queued', 'sent'])
      .execute();
    assert.ok(undecided.length > 0);
    await world.db
      .updateTable('message_recipient')
      .set({ state: 'failed', deadline_at: null })
      .where('state', 'in', ['queued', 'sent'])
      .execute();
    world.clock.advance(2 * dayMs);
    await count();
    const [sum] = (await read([])).rows;
    assert.equal(sum?.waiting, 0);
    const final = await world.db.selectFrom('usage_count').selectAll().orderBy('day').execute();
    assert.deepEqual(
      final.slice(0, -2).filter((row) => row.is_final !== 1),
      [],
    );
    world.clock.advance(hourMs);
    await count();
    const again = await world.db
      .selectFrom('usage_count')
      .selectAll()
      .where('counted_at', '=', world.clock.now().getTime())
      .execute();
    assert.ok(again.length <= 2, 'today, and yesterday while its grace lasts');
  });

  it('outlives the messages, and is deleted after 36 months', async () => {
    const [before] = (await read([])).rows;
    world.clock.advance(keepMessagesMs - 3 * dayMs);
    const deps = { ...world, log: { warn: () => undefined } } as unknown as MessagingDependencies;
    // Day by day: each deletes a part of the messages.
    for (let day = 0; day < 60; day++) {
      world.clock.advance(dayMs);
      await count();
      await runHousekeeping(deps);
    }
    assert.equal((await world.db.selectFrom('message').select('id').execute()).length, 0);
    assert.deepEqual((await read([])).rows, [before]);
    world.clock.advance(1100 * dayMs);
    await count();
    assert.deepEqual((await read(['day'])).rows, []);
    assert.deepEqual(await world.db.selectFrom('usage_count').selectAll().execute(), []);
    assert.equal(monthsBefore(new Date('2026-01-31T00:00:00Z'), 1), '2025-12');
  });
});
