import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { loadBuiltInGazetteer } from '../../../lib/geo/index.ts';
import { providerFields } from '../../../lib/provider-record/index.ts';
import { hashAscii, hashText } from '../records/hash-text.ts';
import { createRowChecker } from './check-row.ts';
import { CsvReader, type CsvRow, type PlainRow } from './csv-reader.ts';
import { createOwnFormat } from './formats/own.ts';
import { createOrdinaryRows, lineOverhead, type PlainColumns } from './ordinary-rows.ts';
import { createPlaceTable } from './place-table.ts';
import type { RowDraft } from './row.ts';

const header = [
  ...providerFields.map(({ wireName }) => wireName),
  'lat',
  'lng',
  'key',
  'action',
  'entity_category',
];
const format = createOwnFormat(header);
const places = createPlaceTable(loadBuiltInGazetteer());
const ordinary = createOrdinaryRows(format.plainColumns as PlainColumns, places);

interface Verdict {
  readonly line: string;
  readonly key: string;
}

/** Results of rows that need no check; undefined for a row that the checker must read. */
function takeOrdinary({ plain: row }: CsvRow): Verdict | undefined {
  if (row === undefined) return undefined;
  const length = row.spans[row.fieldCount * 2 - 1] as number;
  // The line begins somewhere inside, as it does in a block.
  const target = Buffer.alloc(length + lineOverhead + 3, 0x2a);
  const end = ordinary.write(row, target, 3);
  if (end < 0) return undefined;
  assert.ok(end <= target.length);
  const key = Buffer.alloc(length + lineOverhead);
  return {
    line: target.toString('latin1', 3, end),
    key: key.toString('latin1', 0, ordinary.writeKey(row, key)),
  };
}

/** The checker's result for a row: the verdict with all findings. */
function check(draft: RowDraft): { readonly verdict: unknown; readonly warnings: readonly string[] } {
  const warnings: string[] = [];
  const verdict = createRowChecker(places, (reason) => warnings.push(reason)).check(draft);
  return { verdict, warnings };
}

function readRow(fields: readonly string[]): CsvRow {
  const reader = new CsvReader({ delimiter: ',', maxRowBytes: 100_000 });
  for (const row of reader.push(Buffer.from(`${fields.join(',')}\n`))) return row;
  throw new Error('no row');
}

const usual: Readonly<Record<string, readonly string[]>> = {
  prov_npi: ['1234567893', ''],
  prov_first_name: ['Ana', ''],
  prov_mid_name: ['Q', ''],
  prov_last_name: ['Smith-Jones', "O'Neil"],
  prov_suffix: ['', 'MD'],
  serv_direct_addr: ['Ana.Smith@direct.clinic.example', "o'n+1@a.b", '1@2.x3'],
  org_name: ['Clinic & Sons; Inc.', ''],
  prov_spec_text: ['Cardiology'],
  org_addr_1: ['1 Main St'],
  org_city: ['Austin'],
  org_state: ['TX', ''],
  org_zip: ['78701', '78701-1234'],
  org_phone: [
    '(512) 555-0100',
    '512.555.0100',
    '+1 512 555 0100',
    '15125550100',
    '5125550100',
    '1-512-555-0100',
    '',
  ],
  lat: [''],
  lng: [''],
  key: ['', 'k1'],
  action: [''],
  entity_category: [''],
};

const unusual: Readonly<Record<string, readonly string[]>> = {
  prov_npi: ['1234567890', '123456789', '12345678x3', ' 1234567893 ', '12345678933'],
  prov_last_name: [
    '  Smith ',
    '',
    'x'.repeat(500),
    'x'.repeat(501),
    ` ${'x'.repeat(500)} `,
    'Núñez',
    'a\tb',
    '\u00a0x',
  ],
  serv_direct_addr: [
    '',
    ' a@b.example ',
    'a@b',
    '@b.example',
    'a@',
    'a@@b.example',
    'a b@c.example',
    '.a@b.example',
    'a.@b.example',
    'a..b@c.example',
    'a@b..example',
    'a@.b.example',
    'a@b.example.',
    'a@-b.example',
    'a@b-.example',
    'a@b.123',
    'a@b.1x',
    'a@b_c.example',
    "a@b'c.example",
    `${'a'.repeat(64)}@b.example`,
    `${'a'.repeat(65)}@b.example`,
    `a@${'b'.repeat(63)}.example`,
    `a@${'b'.repeat(64)}.example`,
    `a@${'b.'.repeat(125)}com`,
    `a@${'b.'.repeat(126)}com`,
    'a@b.c@d.example',
    'a(b)@c.example',
  ],
  org_city: ['', 'Nowhere'],
  org_state: ['tx', 'Texas', 'NY', 'ZZ', 'T', 'PR', ' TX '],
  org_zip: [
    '',
    '7870',
    '787011234',
    '78701 1234',
    '00000',
    '78701-',
    '78701-12a4',
    '10001',
    '00501',
    ' 78701',
  ],
  org_phone: [
    '512-555-010',
    '512-555-01000',
    '555-0100',
    '123-456-7890',
    '2 512 555 0100',
    '+15125550100 x12',
    '+2 512 555 0100',
    '(512)555-0100',
    '(512)  555-0100',
    '(512-555-0100',
    '+',
    '1',
    '(',
  ],
  lat: ['30.25', '-30.0', '91', 'x', '0', '0x10', ' 30 ', '1e1'],
  lng: ['-97.75', '181', '', '0', '-0'],
  key: [' k2 ', '   ', 'Key,3'.replace(',', ' ')],
  action: ['add', 'remove', ' ', 'bogus'],
  entity_category: ['2.16', 'patient', '1.3.6.1.4.1.41179.2.4'],
};

const anyRow = fc
  .tuple(
    fc.tuple(...header.map((name) => fc.constantFrom(...(usual[name] ?? [''])))),
    fc.array(
      fc
        .constantFrom(...Object.keys(unusual))
        .chain((name) =>
          fc.constantFrom(...(unusual[name] as readonly string[])).map((value) => ({ name, value })),
        ),
      { maxLength: 3 },
    ),
  )
  .map(([fields, changes]) => {
    const row = [...fields] as string[];
    for (const { name, value } of changes) row[header.indexOf(name)] = value;
    return row;
  });

test('a row accepted without the checker has the line and key that the checker would give it, and no findings', () => {
  let taken = 0;
  fc.assert(
    fc.property(anyRow, (fields) => {
      const row = readRow(fields);
      const own = takeOrdinary(row);
      if (own === undefined) return;
      taken++;
      const [draft] = format.read(row.fields, row.line) as [RowDraft];
      assert.deepEqual(check(draft), { verdict: own, warnings: [] }, JSON.stringify(fields));
      assert.ok(['', 'add', 'change'].includes(draft.action));
    }),
    { numRuns: 20_000 },
  );
  assert.ok(taken > 4000, `${taken} rows were taken without the checker`);
});

test('accepts every usual spelling without the checker', () => {
  for (const [name, values] of Object.entries(usual)) {
    for (const value of values) {
      const row = header.map((column) => (column === name ? value : (usual[column]?.[0] ?? '')));
      assert.ok(takeOrdinary(readRow(row)), `${name} ${value}`);
    }
  }
  const placed = header.map(
    (column) => ({ lat: '30.25', lng: '-97.75' })[column] ?? usual[column]?.[0] ?? '',
  );
  assert.match(takeOrdinary(readRow(placed))?.line ?? '', /\t30\.25\t-97\.75$/);
});

test('columns that the file does not have are blank', () => {
  const short = ['serv_direct_addr', 'org_zip'];
  const { plainColumns } = createOwnFormat(short);
  const rows = createOrdinaryRows(plainColumns as PlainColumns, places);
  const target = Buffer.alloc(500);
  const row = readRow(['a@b.example', '78701']);
  const line = target.toString('latin1', 0, rows.write(row.plain as PlainRow, target, 0));
  const [draft] = createOwnFormat(short).read(row.fields, 1) as [RowDraft];
  assert.deepEqual((check(draft).verdict as Verdict).line, line);
});

test('the hash of ASCII bytes is that of their text', () => {
  const [a, b] = [
    { low: 0, high: 0 },
    { low: 0, high: 0 },
  ];
  fc.assert(
    fc.property(fc.string({ maxLength: 40 }), fc.nat(), fc.nat(), (text, low, high) => {
      hashText(text, low, high, a);
      hashAscii(Buffer.from(`xx${text}x`), 2, 2 + text.length, low, high, b);
      assert.deepEqual(a, b);
    }),
  );
});

test('coordinates are decimal numbers: other spellings of numbers are replaced with a warning', () => {
  const rowWith = (lat: string): CsvRow =>
    readRow(header.map((column) => ({ lat, lng: '-97.75' })[column] ?? usual[column]?.[0] ?? ''));
  const [plain] = format.read(rowWith('').fields, 1) as [RowDraft];
  const { line: ofZip } = check({ ...plain, longitude: '' }).verdict as Verdict;
  for (const lat of ['0x1E', '3e', '.', 'e1', '3_0', '3 0', 'Infinity', '1e400', '３０', '30N']) {
    const row = rowWith(lat);
    assert.equal(takeOrdinary(row), undefined, lat);
    const [draft] = format.read(row.fields, 1) as [RowDraft];
    const { verdict, warnings } = check(draft);
    assert.equal((verdict as Verdict).line, ofZip, lat);
    assert.deepEqual(warnings, ['coordinates_invalid'], lat);
  }
});

test('coordinates may be written with an exponent, as databases write floating-point numbers', () => {
  const rowWith = (lat: string, lng: string): CsvRow =>
    readRow(header.map((column) => ({ lat, lng })[column] ?? usual[column]?.[0] ?? ''));
  const lineOf = (row: CsvRow): string => {
    const [draft] = format.read(row.fields, 1) as [RowDraft];
    const { verdict, warnings } = check(draft);
    assert.deepEqual(warnings, []);
    const { line } = verdict as Verdict;
    assert.equal(takeOrdinary(row)?.line, line);
    return line;
  };
  const plain = lineOf(rowWith('30.25', '-97.75'));
  for (const [lat, lng] of [
    ['+3.02500000000000E+001', '-9.77500000000000E+001'],
    ['3.025e1', '-977.5e-1'],
    ['30.250', '-097.75'],
    [' 30.25', '-97.75 '],
  ] as const)
    assert.deepEqual(lineOf(rowWith(lat, lng)), plain, lat);
  assert.deepEqual(lineOf(rowWith('30.', '-.5')), lineOf(rowWith('30', '-0.5')));
});
