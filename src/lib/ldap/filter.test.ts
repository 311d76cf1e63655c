import assert from 'node:assert/strict';
import { test } from 'node:test';
import { der, readAsn1 } from '../asn1/index.ts';
import { attributeKey, mailValues, matches, readFilter, type LdapFilter } from './filter.ts';
import type { Attribute } from './message.ts';

const text = (value: string) => der.octetString(Buffer.from(value));
const equals = (name: string, value: string) => der.implicit(3, true, text(name), text(value));
const present = (name: string) => der.implicit(7, false, Buffer.from(name));
const and = (...parts: Uint8Array[]) => der.implicit(0, true, ...parts);
const or = (...parts: Uint8Array[]) => der.implicit(1, true, ...parts);
const not = (part: Uint8Array) => der.implicit(2, true, part);
const substrings = der.implicit(
  4,
  true,
  text('mail'),
  der.sequence(der.implicit(0, false, Buffer.from('a'))),
);

const read = (bytes: Uint8Array): LdapFilter => readFilter(readAsn1(bytes));
const entry: readonly Attribute[] = [
  { name: 'objectClass', values: [Buffer.from('top')] },
  { name: 'mail', values: [Buffer.from('bob@direct.example.org')] },
  { name: 'userCertificate;binary', values: [Buffer.of(0x30)] },
];

test('DISC-08: the filter of discovery clients holds for an entry with the mail value and a certificate', () => {
  const filter = read(
    and(
      equals('mail', 'bob@direct.example.org'),
      or(present('userCertificate;binary'), present('userCertificate')),
    ),
  );
  assert.equal(matches(filter, entry), true);
  assert.equal(matches(filter, entry.slice(0, 2)), false);
  assert.deepEqual(mailValues(filter), ['bob@direct.example.org']);
});

test('AS-02: mail values and attribute names compare without case', () => {
  assert.equal(matches(read(equals('MAIL', 'BOB@Direct.Example.ORG')), entry), true);
  assert.equal(matches(read(present('USERCERTIFICATE')), entry), true);
  assert.equal(attributeKey('userCertificate;binary'), attributeKey('USERCertificate'));
});

test('RFC 4511 §4.5.1.7: filters evaluate in three values', () => {
  const unknown = read(substrings);
  assert.equal(unknown.kind, 'unknown');
  const cases: readonly (readonly [Uint8Array, boolean | undefined])[] = [
    [substrings, undefined],
    [not(substrings), undefined],
    [and(present('mail'), substrings), undefined],
    [and(present('telephoneNumber'), substrings), false],
    [or(present('mail'), substrings), true],
    [or(present('telephoneNumber'), substrings), undefined],
    [not(present('telephoneNumber')), true],
    [and(), true],
    [or(), false],
  ];
  for (const [bytes, expected] of cases) assert.equal(matches(read(bytes), entry), expected);
});

test('a filter that does not bind the mail value matches none, so that clients cannot list all entries', () => {
  const bob = equals('mail', 'bob@x.org');
  const eve = equals('mail', 'Eve@x.org');
  assert.deepEqual(mailValues(read(or(bob, eve))), ['bob@x.org', 'eve@x.org']);
  assert.deepEqual(mailValues(read(and(present('objectClass'), bob))), ['bob@x.org']);
  for (const open of [
    present('mail'),
    or(bob, present('mail')),
    not(bob),
    equals('cn', 'bob'),
    substrings,
    or(),
    and(),
  ]) {
    assert.equal(mailValues(read(open)), undefined);
  }
});

test('SEC-11: filters nested too deep, or made of something else, are refused', () => {
  let deep: Uint8Array = present('mail');
  for (let level = 0; level < 40; level++) deep = not(deep);
  for (const bytes of [
    deep,
    text('mail'),
    not(text('mail')),
    der.implicit(3, true, text('mail')),
    der.implicit(2, true),
  ]) {
    assert.throws(() => read(bytes), { code: 'LDAP_MESSAGE_INVALID' });
  }
});
