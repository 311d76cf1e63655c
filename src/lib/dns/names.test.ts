import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fc } from '../../../test/support/fast-check.ts';
import { DnsError } from './errors.ts';
import { isWithin, nameKey, parentName, readName, writeName } from './names.ts';

test('RFC 1035 §3.1: a name of any octets survives writing and reading', () => {
  const label = fc.uint8Array({ minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(fc.array(label, { maxLength: 8 }), (labels) => {
      const wire = Buffer.concat([...labels.flatMap((one) => [Buffer.of(one.length), one]), Buffer.of(0)]);
      const { name, end } = readName(wire, 0);
      assert.equal(end, wire.length);
      assert.deepEqual(writeName(name), wire);
    }),
  );
});

test('DISC-02: local parts with any characters are legal names', () => {
  for (const name of ["o'brien.direct.example.org", 'a+b=c.direct.example.org', '#!$%.x.org', 'ü.x.org']) {
    assert.equal(readName(writeName(name), 0).end, writeName(name).length, name);
  }
  assert.equal(writeName('bob.smith.x.org').toString('latin1'), '\x03bob\x05smith\x01x\x03org\0');
});

test('RFC 1035 §2.3.4: labels over 63 octets, names over 255 and empty labels are refused', () => {
  const label = 'a'.repeat(63);
  for (const name of [`${label}a.org`, 'a..org', '.org', `${`${label}.`.repeat(4)}x`, 'a\\']) {
    assert.throws(() => writeName(name), { code: 'DNS_NAME_INVALID' }, name);
  }
  // 255 octets with all length octets: three labels of 63, one of 61.
  assert.equal(writeName(`${label}.${label}.${label}.${'a'.repeat(61)}`).length, 255);
  assert.throws(() => writeName(`${label}.${label}.${label}.${'a'.repeat(62)}`), {
    code: 'DNS_NAME_INVALID',
  });
});

test('RFC 1035 §4.1.4: a pointer leads back, and the name ends behind it', () => {
  const message = Buffer.from(`${'h'.repeat(12)}\x03org\0\x01x\xc0\x0crest`, 'latin1');
  assert.deepEqual(readName(message, 17), { name: 'x.org', end: 21 });
});

test('SEC-11: pointers forward, to themselves or in a circle, cut names and odd labels are refused', () => {
  const cases = ['\xc0\x00', '\xc0\x05', '\x01a\xc0\x00', '\x05ab', '', '\xc0', '\x41a\0', '\x80a\0'];
  for (const wire of cases) {
    assert.throws(
      () => readName(Buffer.from(wire, 'latin1'), 0),
      { code: 'DNS_MESSAGE_INVALID' },
      JSON.stringify(wire),
    );
  }
  // Pointers into the header, which holds no names.
  assert.throws(() => readName(Buffer.from(`${'\x01a\0'.repeat(4)}\xc0\x00`, 'latin1'), 12), DnsError);
  // A chain of pointers, each leading one label back, longer than any name.
  const links = Array.from({ length: 200 }, (_, n) => {
    const target = 12 + Math.max(0, n - 1) * 4;
    return Buffer.of(1, 0x61, 0xc0 | (target >> 8), target & 0xff);
  });
  assert.throws(() => readName(Buffer.concat([Buffer.alloc(12), ...links]), 12 + 4 * 199), DnsError);
});

test('SEC-11: a name of pointers that lead to pointers is refused, one of as many as it has labels is not', () => {
  // After a root name at 12, each link is a pointer to the one before, with or without a label in front.
  const readLast = (count: number, label: string) => {
    const size = label.length + 2;
    const links = Array.from({ length: count }, (_, n) => {
      const target = n === 0 ? 12 : 13 + (n - 1) * size;
      return [Buffer.from(label, 'latin1'), Buffer.of(0xc0 | (target >> 8), target & 0xff)];
    });
    const message = Buffer.concat([Buffer.alloc(13), ...links.flat()]);
    return readName(message, message.length - size).name;
  };
  assert.equal(readLast(126, '\x01a'), Array(126).fill('a').join('.'));
  assert.equal(readLast(127, ''), '');
  assert.throws(() => readLast(128, ''), DnsError);
});

test('RFC 4343 §3: names compare without ASCII case and without a closing dot', () => {
  assert.equal(nameKey('Bob.Direct.Example.ORG.'), 'bob.direct.example.org');
  assert.equal(nameKey('a\\.'), 'a\\.');
  assert.ok(isWithin('x.example.org', 'example.org'));
  assert.ok(isWithin('example.org', 'example.org'));
  assert.ok(!isWithin('badexample.org', 'example.org'));
  assert.ok(!isWithin('x\\.example.org', 'example.org'));
  assert.equal(parentName('a\\.b.c.org'), 'c.org');
  assert.equal(parentName('org'), '');
});
