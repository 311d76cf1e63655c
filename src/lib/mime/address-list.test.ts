import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fc } from '../../../test/support/fast-check.ts';
import { readAddressList } from './address-list.ts';
import { formatMailbox, readMailboxes } from './mailboxes.ts';

const wellFormed: readonly (readonly [value: string, addresses: readonly string[]])[] = [
  ['a@d.example', ['a@d.example']],
  ['<a@d.example>', ['a@d.example']],
  ['  < a@d.example > ', ['a@d.example']],
  ['Dr. A. Smith <a@d.example>', ['a@d.example']],
  ['"Dr, A <x@y>" <a@d.example>, b@d.example (Bob; (B), <c@d>)', ['a@d.example', 'b@d.example']],
  ['"a,b"@d.example', ['"a,b"@d.example']],
  ['=?utf-8?q?J=C3=BC?= <j@d.example>', ['j@d.example']],
  ['Jürgen "the \\"best\\"" <j@d.example>', ['j@d.example']],
  ['a@[192.0.2.1]', ['a@[192.0.2.1]']],
  ['(c) a@d.example (c)', ['a@d.example']],
];
for (const [value, addresses] of wellFormed) {
  test(`RFC 5322 §3.4: ${value} names ${addresses.join(' and ')}`, () => {
    assert.deepEqual(readAddressList(value), addresses);
  });
}

const malformed = [
  '',
  ',',
  'a@d.example,',
  'a@d.example,,b@d.example',
  '<b@x.example> <a@x.example>',
  '<b@x.example>a@x.example',
  '<b@x.example> a',
  'b@x.example <a@x.example>',
  'b@x.example a@x.example',
  '"n" <b@x.example> <a@x.example>',
  'n <b@x.example',
  'n b@x.example>',
  '<<b@x.example>>',
  '<b@x.example,a@x.example>',
  '<@relay.example:a@d.example>',
  '<>',
  'a@b@d.example',
  'a @d.example',
  'a@ d.example',
  'a(c)@d.example',
  'a@d(c).example',
  'a b@d.example',
  '.a@d.example',
  'a.@d.example',
  'a..b@d.example',
  'a@d..example',
  '"a@d.example',
  '(a@d.example',
  'a@d.example)',
  'a@d.example\0',
  'a@d.example\rb@d.example',
  'n\u0001 <a@d.example>',
  '(\r) a@d.example',
  'a;b@d.example',
  'group: a@d.example;',
  'undisclosed-recipients:;',
  'no address',
];
for (const value of malformed) {
  test(`RFC 5322 §3.4: ${JSON.stringify(value)} is no list of mailboxes`, () => {
    assert.equal(readAddressList(value), undefined);
  });
}

test('RFC 5322 §3.4: groups stand in an address list only, and not within each other', () => {
  const read = (value: string) => readAddressList(value, { allowsGroups: true });
  assert.deepEqual(read('undisclosed-recipients:;'), []);
  assert.deepEqual(read('x@d.example, A group: a@d.example, "B" <b@d.example>;, c@d.example'), [
    'x@d.example',
    'a@d.example',
    'b@d.example',
    'c@d.example',
  ]);
  for (const value of ['a: b: c@d.example;;', 'a: b@d.example', ': a@d.example;', 'a: b@d.example,;'])
    assert.equal(read(value), undefined, value);
});

test('AS-36: written lists are well-formed, and both readers find the same address', () => {
  const name = fc
    .string({ unit: 'grapheme', maxLength: 60 })
    .map((text) => text.replace(/\p{Cc}|\ufeff/gu, '').trim());
  fc.assert(
    fc.property(name, (displayName) => {
      const value = formatMailbox({ displayName, address: 'a@d.example' }).replaceAll('\r\n', '');
      assert.deepEqual(readAddressList(value), ['a@d.example']);
    }),
  );
});

test('SEC-11: the lenient reader reads every well-formed list alike, and hostile lists take linear time', () => {
  const piece = fc.constantFrom(
    'a',
    '@',
    'd.example',
    '<',
    '>',
    ',',
    '"',
    '(',
    ')',
    ' ',
    ':',
    ';',
    '\\',
    '.',
    '[',
    ']',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 24 }), (pieces) => {
      const value = pieces.join('');
      const strict = readAddressList(value);
      if (strict !== undefined)
        assert.deepEqual(
          readMailboxes(value).map(({ address }) => address),
          strict,
        );
    }),
    { numRuns: 5_000 },
  );
  for (const unit of ['(', '<', '"', 'a ', 'a@b,', 'a:', '\\', '"a" '])
    readAddressList(unit.repeat(60_000), { allowsGroups: true });
});
