/**
 * Two nodes over one queue, compared with a list: random work, lost leases, and writes of nodes that no
 * longer hold them.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fc } from '../../../test/support/fast-check.ts';
import { createMigratedDatabase } from '../../../test/support/storage.ts';
import { silentLog, createManualClock, type ManualClock } from '../../core/index.ts';
import { parseDirectAddress } from '../../lib/values/index.ts';
import { createLeases, createVault, isLeaseLost, type Leases, type Storage } from '../../platform/index.ts';
import type { ClaimedDestination, Destination, Settlement } from './queue-items.ts';
import { createQueue, type DeliveryQueue } from './queue.ts';
import type { DeliveryTables } from './tables.ts';

const leaseMs = 60_000;
const from = parseDirectAddress('sender@direct.own.example');
const domains = ['a.example', 'b.example', 'c.example'];

interface Node {
  readonly storage: Storage;
  readonly leases: Leases;
  readonly queue: DeliveryQueue;
  /** What it has claimed, whether or not it still holds the lease. */
  readonly claimed: ClaimedDestination[];
}

/** A row as it must be. */
type Row = Pick<Destination, 'lease_token' | 'lease_until' | 'next_attempt_at' | 'attempts'> & {
  readonly domain: string;
  readonly deliveryId: string;
};

let clock: ManualClock;
let nodes: readonly Node[];
let outcomes: string[];
let hasRoom = false;

before(async () => {
  const database = await createMigratedDatabase();
  clock = createManualClock(new Date('2026-06-01T12:00:00Z'));
  const vault = createVault(Buffer.alloc(32, 7));
  const open = async (): Promise<Node> => {
    const storage = await database.open({ clock, busyTimeoutMs: 60_000 });
    await storage.migrate();
    const leases = createLeases({ storage, table: 'delivery_destination', leaseMs });
    const claimed: ClaimedDestination[] = [];
    const queue = createQueue({
      storage,
      vault,
      clock,
      log: silentLog,
      leases,
      lifetimeMs: 3_600_000,
      onOutcome: async (tx, all) =>
        storage.afterCommit(
          tx,
          () => void outcomes.push(...all.map((one) => `${one.deliveryId} ${one.recipient}`)),
        ),
      hasRoom: () => hasRoom,
      onStored: (items) => void claimed.push(...items),
    });
    return { storage, leases, queue, claimed };
  };
  nodes = [await open(), await open()];
});
after(async () => {
  for (const { storage } of nodes) await storage.close();
});

const step = fc.record({
  does: fc.constantFrom('enqueue', 'claim', 'claim', 'send', 'postpone', 'renew', 'release', 'wait', 'stop'),
  node: fc.nat(1),
  pick: fc.nat(100),
  ms: fc.constantFrom(1, 1_000, leaseMs - 500, 2 * leaseMs),
} as const);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

test('whatever two nodes do and in which order: only the holder of a lease changes a row, and each recipient is decided once', () =>
  fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 50, size: 'max' }), async (steps) => {
      const world = await createWorld();
      for (const one of steps) {
        // No two times are the same, so that the order of claims is certain.
        clock.advance(1);
        await world.run(one);
        await world.compare();
      }
    }),
    { numRuns: 25 },
  ));

async function createWorld() {
  const [first] = nodes;
  assert.ok(first !== undefined);
  const db = first.storage.tables<DeliveryTables>();
  for (const table of ['delivery_destination', 'delivery', 'delivery_attempt'] as const)
    await db.deleteFrom(table).execute();
  for (const { claimed } of nodes) claimed.length = 0;
  outcomes = [];
  const rows = new Map<string, Row>();
  const decided: string[] = [];
  let deliveries = 0;
  const nowMs = (): number => clock.now().getTime();

  const isHolder = ({ id, token }: ClaimedDestination): boolean => rows.get(id)?.lease_token === token;

  async function enqueue({ queue, storage }: Node, { pick }: Step): Promise<void> {
    hasRoom = pick % 2 === 0;
    const deliveryId = `d${++deliveries}`;
    const to = domains.slice(0, 1 + (pick % 3)).map((domain) => parseDirectAddress(`x@${domain}`));
    await storage.transaction((tx) =>
      queue.enqueue(tx, {
        deliveryId,
        kind: 'message',
        from,
        recipients: to,
        message: Buffer.from('Subject: x\r\n\r\nhello\r\n'),
      }),
    );
    const stored = await db
      .selectFrom('delivery_destination')
      .select(['id', 'domain', 'lease_token'])
      .where('delivery_id', '=', deliveryId)
      .execute();
    assert.equal(stored.length, to.length);
    for (const { id, domain, lease_token } of stored) {
      assert.equal(lease_token !== null, hasRoom);
      rows.set(id, {
        domain,
        deliveryId,
        lease_token,
        lease_until: hasRoom ? nowMs() + leaseMs : 0,
        next_attempt_at: nowMs(),
        attempts: 0,
      });
    }
  }

  async function claim({ queue, claimed }: Node, { pick }: Step): Promise<void> {
    const limit = 1 + (pick % 3);
    const excluded = pick % 5 === 0 ? domains.slice(0, 1) : [];
    const only = pick % 7 === 0 ? domains.slice(1) : undefined;
    const expected = [...rows]
      .filter(([, row]) => row.next_attempt_at <= nowMs() && row.lease_until <= nowMs())
      .filter(([, { domain }]) => !excluded.includes(domain) && (only?.includes(domain) ?? true))
      .toSorted(([, a], [, b]) => a.next_attempt_at - b.next_attempt_at)
      .slice(0, limit);
    const items = await queue.claim(limit, excluded, only);
    // Rows of one message have one time.
    assert.deepEqual(
      items.map(({ id }) => rows.get(id)?.next_attempt_at),
      expected.map(([, row]) => row.next_attempt_at),
    );
    for (const item of items) {
      const row = rows.get(item.id);
      assert.ok(row !== undefined && row.lease_until <= nowMs(), 'nobody holds it');
      assert.ok(!excluded.includes(item.party) && (only?.includes(item.party) ?? true));
      rows.set(item.id, { ...row, lease_token: item.token, lease_until: nowMs() + leaseMs });
      claimed.push(item);
    }
  }

  async function settle({ queue }: Node, item: ClaimedDestination, { does, ms }: Step): Promise<void> {
    const nextAttemptAt = nowMs() + ms;
    const settlement: Settlement = {
      decisions:
        does === 'send' ? item.recipients.map((recipient) => ({ recipient, outcome: 'sent' as const })) : [],
      nextAttemptAt,
      attempt: {
        host: '',
        address: '',
        tls: '',
        reply: '',
        code: '',
        certificates: '',
        sentHash: '',
        startedAt: clock.now(),
        durationMs: 1,
      },
    };
    const mayWrite = isHolder(item);
    const error: unknown = await queue.settle(item, settlement).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    assert.equal(error === undefined, mayWrite);
    if (!mayWrite) return assert.ok(isLeaseLost(error));
    if (does === 'send') {
      rows.delete(item.id);
      decided.push(...item.recipients.map((recipient) => `${item.deliveryId} ${recipient}`));
      return;
    }
    const row = rows.get(item.id);
    assert.ok(row !== undefined);
    rows.set(item.id, {
      ...row,
      lease_token: null,
      lease_until: 0,
      next_attempt_at: nextAttemptAt,
      attempts: item.attempts + 1,
    });
  }

  async function renew({ leases, claimed }: Node): Promise<void> {
    const lost = await leases.renew(claimed);
    // Of an item that it claimed twice, the newer token counts.
    const held = claimed.filter(isHolder);
    const heldIds = new Set(held.map(({ id }) => id));
    assert.deepEqual(new Set(lost), new Set(claimed.map(({ id }) => id).filter((id) => !heldIds.has(id))));
    for (const { id } of held) {
      const row = rows.get(id);
      if (row !== undefined) rows.set(id, { ...row, lease_until: nowMs() + leaseMs });
    }
  }

  async function release({ leases }: Node, item: ClaimedDestination, { pick, ms }: Step): Promise<void> {
    const nextAttemptAt = pick % 2 === 0 ? nowMs() + ms : undefined;
    const mayWrite = isHolder(item);
    await leases.release([item], nextAttemptAt);
    const row = rows.get(item.id);
    if (!mayWrite || row === undefined) return;
    const next_attempt_at = nextAttemptAt ?? row.next_attempt_at;
    rows.set(item.id, { ...row, lease_token: null, lease_until: 0, next_attempt_at });
  }

  return {
    async run(one: Step): Promise<void> {
      const node = nodes[one.node];
      assert.ok(node !== undefined);
      const { does, ms, pick } = one;
      if (does === 'enqueue') return enqueue(node, one);
      if (does === 'claim') return claim(node, one);
      if (does === 'wait') return clock.advance(ms);
      if (does === 'renew') return renew(node);
      // It stood still for longer than its leases, and knows nothing of that.
      if (does === 'stop') return clock.advance(2 * leaseMs);
      const item = node.claimed[pick % Math.max(1, node.claimed.length)];
      if (item === undefined) return;
      if (does === 'release') return release(node, item, one);
      return settle(node, item, one);
    },
    async compare(): Promise<void> {
      const stored = await db
        .selectFrom('delivery_destination')
        .select(['id', 'domain', 'delivery_id', 'lease_token', 'lease_until', 'next_attempt_at', 'attempts'])
        .execute();
      const found = stored.map(
        ({ id, delivery_id: deliveryId, ...row }) => [id, { deliveryId, ...row }] as const,
      );
      assert.deepEqual(new Map(found), rows);
      const messages = await db.selectFrom('delivery').select('id').execute();
      assert.deepEqual(
        new Set(messages.map(({ id }) => id)),
        new Set([...rows.values()].map(({ deliveryId }) => deliveryId)),
        'a message is kept as long as a destination is',
      );
      assert.deepEqual(outcomes, decided);
      assert.equal(new Set(outcomes).size, outcomes.length);
    },
  };
}
