import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withManyMessages } from '../../../../test/support/search-many.ts';
import { explainStatement } from '../../../../test/support/statements.ts';
import { isPostgres } from '../../../../test/support/storage.ts';
import type { FoundMessage, MessageQuery } from './find-messages.ts';

const count = 100_000;
const indexOnly = isPostgres
  ? /Index Only Scan(?: Backward)? using message_recipient_state/
  : /USING COVERING INDEX message_recipient_state/;

test('waiting messages are searched in their index alone, without reading rows that do not match', () =>
  withManyMessages(count, async ({ storage, take, find, findPage }) => {
    const all = await find({ state: 'sent' });
    assert.equal(all.length, count / 1000);
    const domainOf = (address: string): string => address.replace(/^.*@/, '');
    const some = all[3] as FoundMessage;
    const questions: readonly (readonly [Omit<MessageQuery, 'limit'>, (row: FoundMessage) => boolean])[] = [
      [{}, () => true],
      [{ domain: domainOf(some.to) }, ({ to }) => domainOf(to) === domainOf(some.to)],
      [{ domain: domainOf(some.from) }, ({ from }) => domainOf(from) === domainOf(some.from)],
      [{ domain: 'd7.example' }, () => false],
      [{ clientId: some.clientId }, ({ clientId }) => clientId === some.clientId],
      [{ clientId: 'client-12' }, () => false],
      [{ reason: 'untrusted', clientId: some.clientId }, () => false],
      [
        { otherAddresses: [some.from, `@${domainOf(some.to)}`] },
        ({ from, to }) => from === some.from && domainOf(to) === domainOf(some.to),
      ],
      [
        { domain: domainOf(some.to), until: some.acceptedAt },
        ({ to, acceptedAt }) => domainOf(to) === domainOf(some.to) && acceptedAt < some.acceptedAt,
      ],
    ];
    for (const [query, fits] of questions) {
      take();
      const found = await find({ ...query, state: 'sent' });
      const label = JSON.stringify(query);
      assert.deepEqual(found, all.filter(fits), label);
      for (const statement of take())
        assert.match((await explainStatement(storage, statement, isPostgres)).join('\n'), indexOnly, label);
    }
    // An address's recipients are found by their own index; those of a sender in the index of all that wait.
    assert.deepEqual(
      await find({ address: some.from, state: 'sent' }),
      all.filter(({ from }) => from === some.from),
    );
    const pages: FoundMessage[] = [];
    for (let cursor: string | undefined, rounds = 0; rounds === 0 || cursor !== undefined; rounds++) {
      const page = await findPage({
        domain: domainOf(some.from),
        state: 'sent',
        limit: 7,
        cursor,
      });
      pages.push(...page.items);
      cursor = page.next;
    }
    assert.deepEqual(
      pages,
      all.filter(({ from }) => domainOf(from) === domainOf(some.from)),
    );
  }));
