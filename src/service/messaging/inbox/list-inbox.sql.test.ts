/** Listing reads what waits, however many copies were acknowledged. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { CompiledQuery, type Kysely } from 'kysely';
import { explainStatement, watchStatements } from '../../../../test/support/statements.ts';
import { isPostgres, openTestStorage } from '../../../../test/support/storage.ts';
import type { ClientIdentity } from '../../oauth/index.ts';
import type { MessagingTables } from '../tables.ts';
import { listInbox } from './list-inbox.ts';

const count = 20_000;

test('an inbox is read by an index of what waits', async (t) => {
  const storage = await openTestStorage();
  t.after(() => storage.close());
  const db = storage.tables<MessagingTables>();
  const message = {
    id: 'm',
    sender: 'b@b.example',
    wire_id: '',
    sealed_message: Buffer.of(1),
    requests_final_delivery: 0,
    attachment_count: 0,
    size_bytes: 1,
    received_at: 1,
  };
  await db.insertInto('inbox_message').values(message).execute();
  await storage.transaction((tx: Kysely<MessagingTables>) =>
    storage.bulkInsert(tx, {
      table: 'inbox_copy',
      columns: ['id', 'message_id', 'address', 'address_key', 'domain', 'acknowledged_at', 'received_at'],
      rows: Array.from({ length: count }, (_, at) => {
        const acknowledgedAt = at % 5_000 === 0 ? null : at;
        return [randomUUID(), 'm', 'a@a.example', 'a@a.example', 'a.example', acknowledgedAt, at];
      }),
    }),
  );
  if (isPostgres) await db.executeQuery(CompiledQuery.raw('analyze'));
  const { watched, take } = watchStatements(storage);
  for (const [own, query] of [
    [['a@a.example'], {}],
    [['@a.example'], {}],
    [['a@a.example', '@z.example'], {}],
    [['@a.example'], { toDirectAddress: 'a@a.example' }],
  ] as const) {
    const client = { clientId: 'c', directAddresses: own } as unknown as ClientIdentity;
    const first = await listInbox({ storage: watched }, client, { ...query, limit: 2 });
    const next = await listInbox({ storage: watched }, client, {
      ...query,
      limit: 2,
      cursor: first.nextCursor,
    });
    assert.deepEqual(
      [...first.messages, ...next.messages].map(({ receivedAt }) => receivedAt.getTime()),
      [0, 5_000, 10_000, 15_000],
    );
    for (const statement of take()) {
      const plan = (await explainStatement(storage, statement, isPostgres)).join('\n');
      // PostgreSQL knows that few wait at all.
      assert.match(plan, isPostgres ? /inbox_copy_(waiting|domain|unack)/ : /inbox_copy_(waiting|domain) /);
      assert.doesNotMatch(plan, /inbox_copy_(address|domain_time|received)\b|Seq Scan on inbox_copy/);
      if (!isPostgres) assert.doesNotMatch(plan, /inbox_copy_unacknowledged/);
    }
  }
});
