import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  escapeHl7,
  formatCx,
  formatDtm,
  formatXcn,
  formatXon,
  formatXtn,
  normalizeDtm,
} from './hl7-values.ts';
import { formatCodeOf } from './describe-documents.ts';
import { sniffCcda } from './sniff-ccda.ts';

test('META-04: times are UTC with 4 to 14 digits, an even number, no zone', () => {
  assert.equal(formatDtm(new Date('2026-11-21T10:36:55.999Z')), '20261121103655');
  const cases: [string, string | undefined][] = [
    ['20120915', '20120915'],
    ['201209151030-0500', '201209151530'],
    ['20120915233000.123-0530', '20120916050000'],
    ['2012', '2012'],
    ['201209', '201209'],
    ['201209150', '20120915'],
    ['2012091510+0530', '2012091510'],
    ['20120915+0500', '20120915'],
    ['2012091510-0500', '2012091515'],
    ['20121331', undefined],
    ['20120230', undefined],
    ['', undefined],
    ['yesterday', undefined],
    ['20120915T10', undefined],
  ];
  for (const [text, expected] of cases) assert.equal(normalizeDtm(text), expected, text);
});

test('META-05: CX has identifier and authority and nothing else', () => {
  assert.equal(formatCx(' 12|3 ', '1.2.3'), '12\\F\\3^^^&1.2.3&ISO');
});

test('META-07: XCN needs an identifier or a family name', () => {
  assert.equal(formatXcn('Dr. Welby'), '^Dr. Welby');
  assert.equal(formatXcn('1^Welby^Marcus'), '1^Welby^Marcus');
  assert.equal(formatXcn('^^Marcus'), '^Marcus');
  assert.equal(formatXcn('^^^'), undefined);
  assert.equal(formatXcn(' '), undefined);
});

test('META-07: XON has the name first and the OID as tenth component', () => {
  assert.equal(formatXon('Clinic'), 'Clinic');
  assert.equal(formatXon('Clinic^1.2.3'), 'Clinic^^^^^^^^^1.2.3');
  assert.equal(formatXon('Clinic^^^^^^^^^1.2.3'), 'Clinic^^^^^^^^^1.2.3');
  assert.equal(formatXon('Clinic^^^^^&1.2.3&ISO^^^^id'), 'Clinic^^^^^&1.2.3&ISO^^^^id');
  assert.equal(formatXon(''), undefined);
});

test('META-07: delimiters are escaped and XTN holds the address', () => {
  assert.equal(escapeHl7('a|b^c&d~e\\f'), 'a\\F\\b\\S\\c\\T\\d\\R\\e\\E\\f');
  assert.equal(formatXtn('a@b.example'), '^^Internet^a@b.example');
});

const cda = (inside: string): Buffer =>
  Buffer.from(`<ClinicalDocument xmlns="urn:hl7-org:v3">${inside}</ClinicalDocument>`);

test('a C-CDA header is read; anything else, a DOCTYPE included, is not (SEC-11)', () => {
  assert.equal(
    sniffCcda(cda('<title>A <b>B</b></title><effectiveTime value="20120915"/>'))?.effectiveTime,
    '20120915',
  );
  assert.equal(
    sniffCcda(
      Buffer.concat([
        Buffer.from([0xff, 0xfe]),
        Buffer.from(cda('<effectiveTime value="2012"/>').toString(), 'utf16le'),
      ]),
    )?.effectiveTime,
    '2012',
  );
  assert.equal(sniffCcda(Buffer.from(`<!DOCTYPE a [<!ENTITY x "y">]>${cda('').toString()}`)), undefined);
  assert.equal(sniffCcda(Buffer.from('<ClinicalDocument xmlns="urn:other"/>')), undefined);
  assert.equal(sniffCcda(Buffer.from('<a><ClinicalDocument xmlns="urn:hl7-org:v3"/></a>')), undefined);
  assert.equal(sniffCcda(Buffer.from('%PDF-1.7')), undefined);
  assert.equal(sniffCcda(new Uint8Array(0)), undefined);
});

test('a broken or huge C-CDA is read up to its fault or limit', () => {
  assert.equal(
    sniffCcda(cda('<effectiveTime value="2012"/><recordTarget><broken').subarray(0, 110))?.effectiveTime,
    '2012',
  );
  assert.equal(
    sniffCcda(cda(`<effectiveTime value="2012"/><recordTarget/>${'<x>é</x>'.repeat(200_000)}`))
      ?.effectiveTime,
    '2012',
  );
  assert.equal(sniffCcda(cda('&undefined;<effectiveTime value="2012"/>'))?.effectiveTime, undefined);
});

test('the format code is that of the C-CDA release, and of structured and unstructured bodies', () => {
  const template = (last: string, extension?: string): string =>
    `<templateId root="2.16.840.1.113883.10.20.22.1.${last}"${extension === undefined ? '' : ` extension="${extension}"`}/>`;
  const codeFor = (inside: string): string => formatCodeOf(sniffCcda(cda(inside))).code;
  assert.equal(codeFor(template('2')), 'urn:hl7-org:sdwg:ccda-structuredBody:1.1');
  assert.equal(
    codeFor(template('1') + template('2', '2015-08-01')),
    'urn:hl7-org:sdwg:ccda-structuredBody:2.1',
  );
  assert.equal(codeFor(template('10', '2015-08-01')), 'urn:hl7-org:sdwg:ccda-nonXMLBody:2.1');
  for (const inside of ['', template('2', '2014-06-09'), '<templateId root="1.2.3"/>']) {
    assert.equal(codeFor(inside), 'urn:ihe:iti:xds:2017:mimeTypeSufficient');
  }
});
