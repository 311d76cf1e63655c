import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fc } from '../../../test/support/fast-check.ts';
import type { Asn1ErrorCode } from './errors.ts';
import {
  childAt,
  der,
  readAsn1,
  readBitString,
  readBoolean,
  readInteger,
  readOctetString,
  readOid,
  readSmallInteger,
  readText,
  readTime,
  sequenceItems,
  setItems,
  type Asn1,
} from './index.ts';

function node(text: string): Asn1 {
  return readAsn1(Buffer.from(text.replaceAll(' ', ''), 'hex'));
}

function refuses(code: Asn1ErrorCode, read: () => unknown): void {
  assert.throws(read, { name: 'Asn1Error', code });
}

test('integers survive writing and reading', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 300n), max: 2n ** 300n }), (value) => {
      assert.equal(readInteger(readAsn1(der.integer(value), { strictDer: true })), value);
    }),
  );
  assert.deepEqual(der.integer(128), Buffer.from('02020080', 'hex'));
  assert.deepEqual(der.integer(-128), Buffer.from('020180', 'hex'));
});

test('small integers and enumerated values', () => {
  assert.equal(readSmallInteger(node('02 01 ff')), -1);
  assert.equal(readSmallInteger(readAsn1(der.enumerated(10))), 10);
  refuses('ASN1_VALUE_INVALID', () => readSmallInteger(node('02 05 01 00 00 00 00')));
});

test('padded or empty integers are refused (X.690 §8.3.2)', () => {
  refuses('ASN1_VALUE_INVALID', () => readInteger(node('02 00')));
  refuses('ASN1_VALUE_INVALID', () => readInteger(node('02 02 00 7f')));
  refuses('ASN1_VALUE_INVALID', () => readInteger(node('02 02 ff 80')));
  refuses('ASN1_UNEXPECTED_TYPE', () => readInteger(node('04 01 01')));
});

test('unsigned integers lose and gain the right zero bytes', () => {
  assert.deepEqual(der.unsignedInteger(Buffer.from('000080', 'hex')), Buffer.from('02020080', 'hex'));
  assert.deepEqual(der.unsignedInteger(Buffer.from('0001', 'hex')), Buffer.from('020101', 'hex'));
  assert.deepEqual(der.unsignedInteger(Buffer.from('00', 'hex')), Buffer.from('020100', 'hex'));
  assert.deepEqual(der.unsignedInteger(Buffer.alloc(0)), Buffer.from('020100', 'hex'));
});

test('object identifiers', () => {
  for (const oid of [
    '0.9.2342.19200300.100.1.25',
    '1.2.840.113549.1.7.2',
    '2.16.840.1.101.3.4.2.1',
    '2.999.1',
  ]) {
    assert.equal(readOid(readAsn1(der.oid(oid))), oid);
  }
  const wide = '2.25.329800735698586629295641978511506172918';
  assert.equal(readOid(readAsn1(der.oid(wide))), wide);
  for (const bad of ['06 00', '06 01 80', '06 02 2a 86', '06 03 2a 80 01', `06 81 90 ${'01'.repeat(0x90)}`]) {
    refuses('ASN1_VALUE_INVALID', () => readOid(node(bad)));
  }
  assert.throws(() => der.oid('1'), TypeError);
});

test('booleans and bit strings', () => {
  assert.equal(readBoolean(node('01 01 01')), true);
  assert.equal(readBoolean(readAsn1(der.boolean(false))), false);
  refuses('ASN1_VALUE_INVALID', () => readBoolean(node('01 02 00 00')));
  assert.deepEqual(readBitString(readAsn1(der.bitString(Buffer.of(0xa0), 5))), {
    unusedBits: 5,
    bytes: Buffer.of(0xa0),
  });
  refuses('ASN1_VALUE_INVALID', () => readBitString(node('03 00')));
  refuses('ASN1_VALUE_INVALID', () => readBitString(node('03 02 08 00')));
  refuses('ASN1_VALUE_INVALID', () => readBitString(node('03 01 01')));
  refuses('ASN1_UNEXPECTED_TYPE', () => readBitString(node('23 04 03 02 00 01')));
});

test('octet strings of mixed pieces are refused', () => {
  refuses('ASN1_UNEXPECTED_TYPE', () => readOctetString(node('24 03 02 01 01')));
  refuses('ASN1_UNEXPECTED_TYPE', () => readOctetString(node('02 01 01')));
});

test('text of every character string type', () => {
  assert.equal(readText(readAsn1(der.utf8('Zoë'))), 'Zoë');
  assert.equal(readText(readAsn1(der.printable('Zoe'))), 'Zoe');
  assert.equal(readText(readAsn1(der.ia5('a\0b'))), 'a\0b');
  assert.equal(readText(node('14 01 eb')), 'ë');
  assert.equal(readText(node('1e 04 00 5a 00 eb')), 'Zë');
  assert.equal(readText(node('1c 04 00 01 f6 00')), '😀');
  refuses('ASN1_VALUE_INVALID', () => readText(node('0c 01 ff')));
  refuses('ASN1_VALUE_INVALID', () => readText(node('1e 01 00')));
  refuses('ASN1_VALUE_INVALID', () => readText(node('1c 03 00 00 00')));
  refuses('ASN1_VALUE_INVALID', () => readText(node('1c 04 00 11 00 00')));
  refuses('ASN1_UNEXPECTED_TYPE', () => readText(node('04 01 41')));
});

test('times', () => {
  const read = (tag: string, text: string) =>
    readTime(
      node(`${tag} ${Buffer.of(text.length).toString('hex')} ${Buffer.from(text).toString('hex')}`),
    ).toISOString();
  assert.equal(read('17', '491231235959Z'), '2049-12-31T23:59:59.000Z');
  assert.equal(read('17', '500101000000Z'), '1950-01-01T00:00:00.000Z');
  assert.equal(read('17', '2611211036Z'), '2026-11-21T10:36:00.000Z');
  assert.equal(read('17', '261121103600+0130'), '2026-11-21T09:06:00.000Z');
  assert.equal(read('18', '20501121103600.25Z'), '2050-11-21T10:36:00.250Z');
  assert.equal(read('18', '00010101000000Z'), '0001-01-01T00:00:00.000Z');
  for (const bad of [
    '20260229000000Z',
    '20261301000000Z',
    '20260101240000Z',
    '20260101000000',
    '20260101000000+2400',
  ]) {
    refuses('ASN1_VALUE_INVALID', () => read('18', bad));
  }
  refuses('ASN1_VALUE_INVALID', () => read('17', '20261121103600Z'));
  refuses('ASN1_UNEXPECTED_TYPE', () => readTime(node('02 01 01')));
});

test('times are written as UTCTime up to 2049 (RFC 5280 §4.1.2.5)', () => {
  for (const text of [
    '1949-12-31T23:59:59.000Z',
    '1950-01-01T00:00:00.000Z',
    '2049-12-31T23:59:59.000Z',
    '2050-01-01T00:00:00.000Z',
  ]) {
    const encoded = der.time(new Date(text));
    assert.equal(encoded[0], text.startsWith('1950') || text.startsWith('2049') ? 0x17 : 0x18);
    assert.equal(readTime(readAsn1(encoded)).toISOString(), text);
  }
});

test('sets are sorted by their encodings (X.690 §11.6)', () => {
  const encoded = der.set(der.integer(300), der.integer(2), der.null(), der.integer(1));
  assert.deepEqual(encoded, Buffer.from('310c0201010201020202012c0500', 'hex'));
  assert.equal(setItems(readAsn1(encoded)).length, 4);
});

test('structures of another type are refused', () => {
  refuses('ASN1_UNEXPECTED_TYPE', () => sequenceItems(node('31 00')));
  refuses('ASN1_UNEXPECTED_TYPE', () => setItems(node('30 00')));
  refuses('ASN1_UNEXPECTED_TYPE', () => sequenceItems(undefined));
  refuses('ASN1_UNEXPECTED_TYPE', () => childAt(node('30 00'), 0));
});

test('long headers', () => {
  for (const length of [0, 127, 128, 255, 256, 65_535, 65_536, 16_777_216]) {
    const node = readAsn1(Buffer.concat([der.header(4, length), Buffer.alloc(length)]), { strictDer: true });
    assert.equal(node.contentEnd - node.contentStart, length);
  }
});
