import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withManyMessages } from '../../../../test/support/search-many.ts';
import { explainStatement, watchStatements } from '../../../../test/support/statements.ts';
import { isPostgres } from '../../../../test/support/storage.ts';
import { findAddressesBeginning } from './find-addresses.ts';
import { searchMessages } from './search-messages.ts';

const indexes = /message_recipient_address|message_sender|inbox_copy_address|inbox_message_sender/;

test('messages are found by the beginning of an address and by the first digits of an id', () =>
  withManyMessages(2_000, async ({ storage, find }) => {
    const all = await find({});
    const [some] = all;
    assert.ok(some !== undefined);
    const now = new Date(some.acceptedAt.getTime() + 1000);
    const search = async (text: string): Promise<readonly string[]> => {
      const { items, unread } = await searchMessages(
        storage,
        { find: () => Promise.resolve([]) },
        { text, limit: 200 },
        now,
      );
      assert.deepEqual(unread, []);
      return items.map(({ id }) => id);
    };
    const [local = '', domain] = some.to.split('@');
    assert.ok((await search(local.slice(0, -1).toUpperCase())).includes(some.id), local);
    assert.deepEqual(
      (await search(`${local} @${domain}`)).toSorted(),
      (await search(some.to)).toSorted(),
      'with a domain beside it',
    );
    assert.deepEqual(await search('nobodyofthisname'), []);
    const uuid = some.messageId.replace('urn:uuid:', '');
    const begun = await search(`${uuid.slice(0, -1)}…`);
    assert.ok(begun.includes(some.id));
    assert.ok(begun.length < all.length);
    const { watched, take } = watchStatements(storage);
    await findAddressesBeginning(watched.tables(), local);
    // PostgreSQL reads an empty table whole.
    const filled = take().filter(({ sql }) => !sql.includes('inbox'));
    assert.ok(filled.length > 2);
    for (const statement of filled)
      assert.match((await explainStatement(storage, statement, isPostgres)).join('\n'), indexes);
  }));
