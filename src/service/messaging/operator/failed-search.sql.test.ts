import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CompiledQuery } from 'kysely';
import { loneFailure, recipientOf } from '../../../../test/support/many-messages.ts';
import { withManyMessages } from '../../../../test/support/search-many.ts';
import { explainStatement } from '../../../../test/support/statements.ts';
import { isPostgres } from '../../../../test/support/storage.ts';
import type { FoundMessage, MessageQuery } from './find-messages.ts';

const count = 20_000;
const indexes = /message_recipient_(failed|address)/;

/** What an organization owns that has these clients. */
const ownedBy = (...clients: readonly string[]) => ({
  organizationId: 'clinic',
  organizations: new Set(['clinic']),
  domains: new Set<string>(),
  clients: new Set(clients),
});

test('failed messages, and those of one organization, are found by their own indexes, whatever is asked for', () =>
  withManyMessages(count, async ({ storage, take, find, findPage }) => {
    const all = [...(await find({ state: 'failed' })), ...(await find({ state: 'expired' }))];
    assert.equal(all.length, (count / 1000) * 10 + 1);
    const lone = recipientOf(loneFailure(count));
    const domainOf = (address: string): string => address.replace(/^.*@/, '');
    const [some] = all.filter(({ to }) => to !== lone) as [FoundMessage];
    const questions: readonly (readonly [Omit<MessageQuery, 'limit'>, (row: FoundMessage) => boolean])[] = [
      [{ domain: domainOf(lone), state: 'failed' }, ({ to }) => to === lone],
      [{ domain: domainOf(some.to), state: 'failed' }, ({ to }) => domainOf(to) === domainOf(some.to)],
      [
        { domain: domainOf(some.from), state: 'failed' },
        ({ from }) => domainOf(from) === domainOf(some.from),
      ],
      [{ address: some.from, state: 'expired' }, ({ from }) => from === some.from],
      [{ domain: 'd7.example', state: 'failed' }, () => false],
      [{ clientId: some.clientId, state: 'failed' }, ({ clientId }) => clientId === some.clientId],
      [{ clientId: 'client-12', state: 'failed' }, () => false],
      [
        { owned: ownedBy(some.clientId, 'client-12'), state: 'failed' },
        ({ clientId }) => clientId === some.clientId,
      ],
      [{ owned: ownedBy('client-12'), reason: some.reason }, () => false],
      [{ owned: ownedBy(), state: 'failed' }, () => false],
      [{ reason: 'untrusted' }, ({ reason }) => reason === 'untrusted'],
      [{ reason: 'tls-failed' }, () => false],
      [
        { domain: domainOf(some.to), reason: some.reason },
        ({ to, reason }) => domainOf(to) === domainOf(some.to) && reason === some.reason,
      ],
    ];
    for (const [query, fits] of questions) {
      take();
      const found = await find(query);
      const label = JSON.stringify(query);
      const expected = all.filter(
        (row) => fits(row) && (query.state === undefined || row.state === query.state),
      );
      assert.deepEqual(found.map(({ id }) => id).toSorted(), expected.map(({ id }) => id).toSorted(), label);
      for (const statement of take()) assert.match(await planOf(statement), indexes, label);
    }
    // The newest of an organization, page by page: those of each client in the order of its index.
    const clients = ['client-3', 'client-13', 'client-of-none'];
    const pages: FoundMessage[] = [];
    for (let cursor: string | undefined, rounds = 0; rounds < 3; rounds++) {
      const page = await findPage({ owned: ownedBy(...clients), state: 'processed', limit: 40, cursor });
      pages.push(...page.items);
      cursor = page.next;
    }
    const plans = await Promise.all(take().map(planOf));
    assert.equal(plans.length, 9);
    // PostgreSQL may know that a client has a good part of all messages.
    for (const plan of plans) assert.match(plan, isPostgres ? /message_(client|created)/ : /message_client/);
    const processed = (await Promise.all(clients.map((clientId) => find({ clientId, state: 'processed' }))))
      .flat()
      .toSorted((a, b) => b.acceptedAt.getTime() - a.acceptedAt.getTime());
    assert.deepEqual(pages, processed.slice(0, 120));

    async function planOf(statement: CompiledQuery): Promise<string> {
      return (await explainStatement(storage, statement, isPostgres)).join('\n');
    }
  }));
