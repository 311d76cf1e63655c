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

test('failed messages are found by an index of failures alone, whatever else is asked for', () =>
  withManyMessages(count, async ({ storage, take, find }) => {
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

    async function planOf(statement: CompiledQuery): Promise<string> {
      return (await explainStatement(storage, statement, isPostgres)).join('\n');
    }
  }));
