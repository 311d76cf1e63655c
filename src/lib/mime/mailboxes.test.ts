import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatMailbox, readMailboxes } from './mailboxes.ts';
import { readMessageIds } from './message-ids.ts';
import { formatDate, readDate } from './dates.ts';

const addresses = (value: string): string[] => readMailboxes(value).map((mailbox) => mailbox.address);

test('AS-03: display names, comments, groups and routes are distinguished from addresses', () => {
  assert.deepEqual(
    readMailboxes('"Dr, A <x@y>" <a@d.example>, b@d.example (Bob; B), Group: c@d.example, <d@d.example>;'),
    [
      { displayName: 'Dr, A <x@y>', address: 'a@d.example' },
      { displayName: 'Bob; B', address: 'b@d.example' },
      { address: 'c@d.example' },
      { address: 'd@d.example' },
    ],
  );
  assert.deepEqual(addresses('<@relay.example,@two.example:a@d.example>'), ['a@d.example']);
  assert.deepEqual(addresses('undisclosed-recipients:;'), []);
  assert.deepEqual(addresses('"a,b"@d.example, =?utf-8?q?J=C3=BC?= <j@d.example>'), [
    '"a,b"@d.example',
    'j@d.example',
  ]);
  assert.deepEqual(addresses(' , ,, no address, <>'), []);
});

test('reads back its own output', () => {
  const name = fc
    .string({ unit: 'grapheme', maxLength: 120 })
    .map((text) => text.replace(/\p{Cc}|\ufeff/gu, '').trim());
  fc.assert(
    fc.property(name, (displayName) => {
      const [mailbox] = readMailboxes(formatMailbox({ displayName, address: 'a@d.example' }));
      assert.deepEqual(
        mailbox,
        displayName === ''
          ? { address: 'a@d.example' }
          : { displayName: displayName.toWellFormed(), address: 'a@d.example' },
      );
    }),
  );
});

test('a hostile address list is read in linear time', () => {
  assert.equal(readMailboxes(`${'('.repeat(60_000)}`).length, 0);
  assert.equal(readMailboxes('<'.repeat(60_000)).length, 1);
  assert.equal(readMailboxes('a@b,'.repeat(15_000)).length, 15_000);
});

test('message identifiers are read with and without brackets', () => {
  assert.deepEqual(readMessageIds('<a@b> (c) <d@e>'), ['<a@b>', '<d@e>']);
  assert.deepEqual(readMessageIds(' a@b '), ['<a@b>']);
  assert.deepEqual(readMessageIds(''), []);
  const longest = `<${'a'.repeat(994)}@b>`;
  assert.deepEqual(readMessageIds(longest), [longest]);
  for (const none of [
    `<${'a'.repeat(995)}@b>`,
    `${'a'.repeat(5000)}@b`,
    `<${'é'.repeat(600)}@b>`,
    '<a\0@b>',
    'a\u0007@b',
  ])
    assert.deepEqual(readMessageIds(none), []);
});

test('dates are written in UTC and read in any zone', () => {
  const at = new Date('2026-11-21T10:36:55Z');
  assert.equal(formatDate(at), 'Sat, 21 Nov 2026 10:36:55 +0000');
  assert.deepEqual(readDate('Sat, 21 Nov 2026 05:36:55 -0500 (EST)'), at);
  assert.equal(readDate('yesterday'), undefined);
});
