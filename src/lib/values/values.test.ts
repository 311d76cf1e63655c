import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  addressDnsName,
  addressKey,
  createMessageUrn,
  domainOf,
  findDirectAddress,
  hasNpiCheckDigit,
  isOid,
  isStateCode,
  localPartOf,
  oidOfUuid,
  parseDirectAddress,
  parseMediaType,
  parseMessageUrn,
  parseNpi,
  parseZip,
  uuidOf,
  ValueError,
} from './index.ts';

function refuses(code: string, work: () => unknown): void {
  assert.throws(work, (error) => error instanceof ValueError && error.code === code);
}

describe('AS-01: a Direct address is local@fully.qualified.domain', () => {
  const valid = [
    'bob@direct.example.org',
    'Bob.Smith@Direct.Example.ORG',
    "o'neil+tag@d.example",
    '"quoted local"@d.example',
    `${'a'.repeat(64)}@d.example`,
    'a@1.example',
    '"a@b"@d.example',
  ];
  const invalid = [
    '',
    '@',
    'bob',
    'bob@',
    '@direct.example.org',
    'bob@localhost',
    'bob@direct..org',
    'bob@-a.org',
    'bob@a-.org',
    'b ob@d.example',
    '.bob@d.example',
    'bob.@d.example',
    'bo..b@d.example',
    ' bob@d.example',
    'bob@d.example ',
    'bob@d.example\r\nX: y',
    'bob@10.0.0.1',
    `${'a'.repeat(65)}@d.example`,
    `a@${'b'.repeat(64)}.example`,
    `a@${'b.'.repeat(130)}example`,
    'bób@d.example',
    'bob@dé.example',
    'Bob <bob@d.example>',
    'bob@d.example.',
    '"a\r"@d.example',
    'a@b@d.example',
  ];
  for (const text of valid)
    it(`accepts ${text.slice(0, 40)}`, () => assert.equal(parseDirectAddress(text), text));
  for (const text of invalid) {
    it(`refuses ${JSON.stringify(text).slice(0, 40)}`, () => {
      refuses('VALUE_DIRECT_ADDRESS_INVALID', () => parseDirectAddress(text));
      assert.equal(findDirectAddress(text), undefined);
    });
  }
  it('AS-02: compares without case, the local part included', () => {
    assert.equal(addressKey(parseDirectAddress('BOB@Direct.Example.org')), 'bob@direct.example.org');
    assert.equal(domainOf(parseDirectAddress('BOB@Direct.Example.org')), 'direct.example.org');
    assert.equal(localPartOf(parseDirectAddress('BOB@Direct.Example.org')), 'BOB');
  });
  it('DISC-02: the at-sign becomes a dot in DNS and dots in the local part stay', () => {
    assert.equal(
      addressDnsName(parseDirectAddress('Bob.Smith@direct.example.org')),
      'bob.smith.direct.example.org',
    );
  });
});

describe('NPI', () => {
  it('has exactly ten digits', () => {
    assert.equal(parseNpi('1234567893'), '1234567893');
    for (const text of ['', '123456789', '12345678901', '123456789a', '１２３４５６７８９３'])
      refuses('VALUE_NPI_INVALID', () => parseNpi(text));
  });
  it('DIR-05: knows its check digit (the example of 45 CFR 162.406)', () => {
    assert.equal(hasNpiCheckDigit(parseNpi('1234567893')), true);
    for (const last of '012456789') assert.equal(hasNpiCheckDigit(parseNpi(`123456789${last}`)), false);
  });
});

describe('other values', () => {
  it('ZIP codes have five or nine digits and keep leading zeros', () => {
    assert.equal(parseZip('02139-4307'), '02139-4307');
    for (const text of ['2139', '021394307', '02139-', '02139-430', 'ABCDE'])
      refuses('VALUE_ZIP_INVALID', () => parseZip(text));
  });
  it('states are known in any case', () => {
    assert.ok(isStateCode('ma') && isStateCode('PR') && isStateCode('AP'));
    assert.ok(!isStateCode('XX') && !isStateCode('') && !isStateCode('MAS'));
  });
  it('OIDs follow X.660', () => {
    for (const text of ['2.16.840.1.113883.6.1', '0.39', '1.2']) assert.ok(isOid(text), text);
    for (const text of ['', '1', '3.1', '1.40', '2.01', '2..1', '2.1.', `2.${'1.'.repeat(40)}1`])
      assert.equal(isOid(text), false);
  });
  it('META-02: a UUID becomes an OID under 2.25', () => {
    assert.equal(
      oidOfUuid('f81d4fae-7dec-11d0-a765-00a0c91e6bf6'),
      '2.25.329800735698586629295641978511506172918',
    );
  });
  it('message names are urn:uuid in any case, kept in lower case', () => {
    const urn = parseMessageUrn('urn:uuid:6F1C2C5E-8A43-4D5E-9C0B-0D6F3F1F2A11');
    assert.equal(uuidOf(urn), '6f1c2c5e-8a43-4d5e-9c0b-0d6f3f1f2a11');
    assert.equal(parseMessageUrn(createMessageUrn()).length, 45);
    for (const text of [
      '6f1c2c5e-8a43-4d5e-9c0b-0d6f3f1f2a11',
      'urn:uuid:',
      'urn:uuid:6f1c2c5e8a434d5e9c0b0d6f3f1f2a11',
    ]) {
      refuses('VALUE_MESSAGE_URN_INVALID', () => parseMessageUrn(text));
    }
  });
  it('media types are parsed with their parameters', () => {
    const parsed = parseMediaType('Text/XML; charset="utf-8"; x=y');
    assert.deepEqual(
      [parsed.type, parsed.subtype, [...parsed.parameters]],
      [
        'text',
        'xml',
        [
          ['charset', 'utf-8'],
          ['x', 'y'],
        ],
      ],
    );
    for (const text of [
      '',
      'text',
      'text/',
      '/xml',
      'text/xml;',
      'text/xml\r\nX: y',
      'a b/c',
      `a/${'b'.repeat(300)}`,
    ]) {
      refuses('VALUE_MEDIA_TYPE_INVALID', () => parseMediaType(text));
    }
  });
});
