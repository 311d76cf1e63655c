import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fc } from '../../../test/support/fast-check.ts';
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

test('what a comment separates is never joined', () => {
  for (const value of [
    'user@good(x)evil.example',
    '<user@good(x)evil.example>',
    'us(x)er@good.example',
    'user@good.(x)example',
    'user@good(x(y))evil.example',
    'Name <us(x)er@good.example>',
    'user@good (x) evil.example',
  ])
    assert.deepEqual(
      addresses(value).filter((address) => /^[^\s@]+@[^\s@]+$/.test(address)),
      [],
      value,
    );
  assert.deepEqual(addresses('pete(his account)@silly.example(his host)'), ['pete@silly.example']);
  assert.deepEqual(addresses('(a) user@good.example (b)'), ['user@good.example']);
  assert.deepEqual(addresses('<(a) user (b) @ (c) good.example (d)>'), ['user@good.example']);
});

test('reads back its own output', () => {
  const name = fc
    .string({ unit: 'grapheme', maxLength: 120 })
    .map((text) => text.replace(/[\p{Cc}\p{Zl}\p{Zp}\ufeff]/gu, '').trim());
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

const readableDates: readonly (readonly [written: string, iso: string])[] = [
  ['Thu, 26 Nov 2026 22:00:00 +0000', '2026-11-26T22:00:00Z'],
  ['26 Nov 2026 22:00 -0500', '2026-11-27T03:00:00Z'],
  ['Thu,26 Nov 2026 22:00:00 -0500 (EST (x))', '2026-11-27T03:00:00Z'],
  ['Thu, 26\tNov  2026 22 : 00 : 00 GMT', '2026-11-26T22:00:00Z'],
  ['Thu (day), 26 Nov 2026 22:00:00 UT', '2026-11-26T22:00:00Z'],
  ['THU, 26 NOV 2026 22:00:00 EST', '2026-11-27T03:00:00Z'],
  ['26 Nov 26 22:00 PDT', '2026-11-27T05:00:00Z'],
  ['1 Jan 50 00:00 Z', '1950-01-01T00:00:00Z'],
  ['1 Jan 126 00:00 Z', '2026-01-01T00:00:00Z'],
  ['26 Nov 2026 22:00:00 CET', '2026-11-26T22:00:00Z'],
  ['29 Feb 2028 00:00:00 +0000', '2028-02-29T00:00:00Z'],
  ['31 Dec 2016 23:59:60 +0000', '2016-12-31T23:59:59Z'],
  ['Thu, 1 Oct 2015 14:40:57 +0200 (Mitteleurop\u00e4ische Sommerzeit)', '2015-10-01T12:40:57Z'],
  ['Thu, 6 Oct 2022 12:27:13 +0200 (GMT+02:00)', '2022-10-06T10:27:13Z'],
  ['2026-11-26T22:00:00Z', '2026-11-26T22:00:00Z'],
  ['2026-11-26 22:00:00.123+01:00', '2026-11-26T21:00:00Z'],
];
for (const [written, iso] of readableDates)
  test(`the date ${written} is ${iso}`, () => assert.deepEqual(readDate(written), new Date(iso)));

const unknownDates = [
  '05.12.2026 10:00',
  '05/12/2026 10:00',
  '2026/12/05 10:00',
  '5-Dec-2026 10:00',
  'Thursday, 26-Nov-26 22:00:00 GMT',
  'Thursday, 26 Nov 2026 22:00:00 GMT',
  'Thu Nov 26 22:00:00 2026',
  'Thu, 26 Nov 2026 22:00:00',
  'Thu, 26 Nov 2026 22:00:00 GMT+0100',
  'Thu, 26 Nov 2026 22:00:00 +01:00',
  'Thu, 26 Nov 2026 10:00 PM +0000',
  'Thu, 26 Nov 2026 10:00:00 PM',
  '26 Nov 2026 10:00 am',
  '26 November 2026 10:00 +0000',
  'Do, 26 Nov 2026 10:00 +0000',
  '26 Dez 2026 10:00 +0000',
  '31 Feb 2026 00:00 +0000',
  '29 Feb 2026 00:00 +0000',
  '0 Jan 2026 00:00 +0000',
  '1 Jan 2026 24:00 +0000',
  '1 Jan 2026 10:60 +0000',
  '1 Jan 2026 10:00 +9900',
  '1 Jan 2026 10:00 +0060',
  '1 Jan 20266 10:00 +0000',
  '2026-11-26',
  '2026-11-26T22:00:00',
  '2026-13-26T22:00:00Z',
  '20261126T220000Z',
  '1764194400',
  'Thu, 26 Nov 2026 22:00:00 +0000 (open',
  `Thu, 26 Nov 2026 22:00:00 +0000 (${'x'.repeat(2000)})`,
  'Nov 26, 2026 10:00 +0000',
  '',
];
for (const written of unknownDates)
  test(`the date ${written.slice(0, 40)} is unknown`, () => assert.equal(readDate(written), undefined));
