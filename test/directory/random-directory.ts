import assert from 'node:assert/strict';
import type { ProviderRecord } from '../../src/lib/provider-record/index.ts';
import { fc } from '../support/fast-check.ts';
import { recordFields, type WireName } from '../../src/service/directory/index.ts';
import type { TestDirectory } from './start-directory.ts';

/** A row as it is written into a file. */
export type Row = Readonly<Record<WireName | 'lat' | 'lng', string>>;

// Few distinct values, so that filters, ties and blank values meet often; some differ only in case or accents.
const values: Readonly<Record<WireName, readonly string[]>> = {
  prov_npi: ['', '', '1000000004', '1999999992', '1500000009', '1200000008'],
  prov_first_name: ['', 'Ana', 'ANA', 'Åna', 'Anabel', 'José', 'Jose', 'Lee'],
  prov_mid_name: ['', 'Q', 'q', 'Quincy'],
  prov_last_name: ['', 'Smith', 'Smithson', "O'Brien", 'Núñez', 'Nunez', 'de la Cruz', 'Łukasz', '北村'],
  prov_suffix: ['', 'MD', 'MD, PhD', 'Jr.'],
  serv_direct_addr: [],
  org_name: ['', 'Heart Clinic', 'heart  clinic', 'St. John’s 100% Care_Home', 'Clínica Uno', '😀 Care'],
  prov_spec_text: [
    '',
    'Cardiology',
    '2.16.840.1.113883.6.101:NUCC:207RC0000X:Cardiovascular Disease',
    'Pediatric cardiology',
  ],
  org_addr_1: ['', '1 Main St', '12 Main Street', '55 Lake Ave'],
  org_city: ['', 'Boston', 'Springfield', 'San José', 'Adak'],
  org_state: ['', 'MA', 'IL', 'AK', 'PR'],
  org_zip: ['', '02114', '02114-1234', '60611', '00901', '99546'],
  org_phone: ['', '(617) 555-0101', '6175550101', '617.555.0199', '+1 312 555 0104'],
};

// The places of the gazetteer's ZIP codes are avoided on purpose: coordinates are given, on both sides of 180°.
const coordinates: readonly (readonly [string, string])[] = [
  ['42.3611', '-71.0689'],
  ['42.3745', '-71.1043'],
  ['41.8949', '-87.6216'],
  ['51.88', '-176.65'],
  ['52.9', '173.2'],
  ['18.46', '-66.1'],
  ['90', '0'],
  ['-14.3', '-170.7'],
];

const users = ['ana', 'Ana.Smith', 'a', 'jose', 'desk', 'x.y_z'];
const domains = ['direct.north.example', 'direct.south.example', 'DIRECT.North.example'];

/** Rows with different keys: the number in the address makes each its own. */
export const rowsArbitrary: fc.Arbitrary<Row[]> = fc
  .array(
    fc.record({
      picks: fc.array(fc.nat({ max: 1_000_000 }), {
        minLength: recordFields.length,
        maxLength: recordFields.length,
      }),
      user: fc.constantFrom(...users),
      domain: fc.constantFrom(...domains),
      place: fc.constantFrom(...coordinates),
    }),
    { minLength: 1, maxLength: 120 },
  )
  .map((drafts) =>
    drafts.map(({ picks, user, domain, place }, index) => {
      const texts = recordFields.map((field, column) => [
        field.wireName,
        pick(values[field.wireName], picks[column] ?? 0),
      ]);
      return {
        ...Object.fromEntries(texts),
        serv_direct_addr: `${user}${index}@${domain}`,
        lat: place[0],
        lng: place[1],
      } as Row;
    }),
  );

function pick(from: readonly string[], number: number): string {
  return from[number % Math.max(1, from.length)] ?? '';
}

const terms = [
  'a',
  'an',
  'ana',
  'smith',
  'MITH',
  'nu',
  'o’',
  "'b",
  'cardio',
  'main st',
  '1',
  '2.16',
  '207rc',
  'md',
  'é',
  '北',
  '😀',
  '100%',
  '_',
  '@direct',
  'smith1@',
  'north',
  '617',
  '(617',
  '60611',
  '021',
  'boston',
  'z',
  ' ',
  '  ',
  'spring',
];
const zips = ['0', '02114', '021141', '02114-12', '606'];

/** Query parameters that the directory accepts. */
export const queryArbitrary: fc.Arbitrary<Record<string, string>> = fc
  .record(
    {
      filters: fc.dictionary(
        fc.constantFrom(...recordFields.map((field) => field.wireName as string)),
        fc.nat({ max: 1_000_000 }),
        { maxKeys: 3 },
      ),
      sort: fc.uniqueArray(
        fc.constantFrom(...recordFields.map((field) => field.wireName as string), 'radius'),
        { maxLength: 3 },
      ),
      orders: fc.array(fc.constantFrom('ascending', 'descending'), { minLength: 3, maxLength: 3 }),
      hasOneOrder: fc.boolean(),
      offset: fc.constantFrom('', '0', '1', '7', '50', '119', '1000'),
      limit: fc.constantFrom('', '1', '3', '10', '1000'),
      radius: fc.option(fc.constantFrom('', '1', '10', '600', '1000'), { freq: 2 }),
      center: fc.constantFrom<Record<string, string>>(
        { org_zip: '02114' },
        { org_city: 'Adak', org_state: 'AK' },
        { org_zip: '60611-1234' },
        { org_city: 'san jose', org_state: 'CA' },
      ),
    },
    { requiredKeys: ['filters', 'sort', 'orders', 'hasOneOrder', 'offset', 'limit', 'center'] },
  )
  .map(({ filters, sort, orders, hasOneOrder, offset, limit, radius, center }) => {
    const query: Record<string, string> = { offset, limit };
    const isRadius = typeof radius === 'string';
    for (const [name, number] of Object.entries(filters)) {
      // With radius a ZIP code is the center and has its own form.
      if (!isRadius || name !== 'org_zip') query[name] = valueFor(name as WireName, number);
    }
    const keys = isRadius ? sort : sort.filter((name) => name !== 'radius');
    if (keys.length > 0) query['sort_by'] = keys.join(',');
    if (hasOneOrder) query['sort_order'] = orders[0] ?? '';
    else if (keys.length > 0) query['sort_order'] = orders.slice(0, keys.length).join(',');
    return isRadius ? { ...query, radius, ...center } : query;
  });

function valueFor(name: WireName, number: number): string {
  if (name === 'prov_npi') return pick(['1000000004', '1999999992', '1234567890'], number);
  if (name === 'org_zip') return pick(zips, number);
  if (name === 'org_state') return pick(['ma', ...values[name]], number);
  return number % 3 === 0 ? pick(values[name], number) : pick(terms, number);
}

/** The record that a row becomes. */
export function toRecord(row: Row, id: number): ProviderRecord {
  const texts = Object.fromEntries(recordFields.map((field) => [field.field, row[field.wireName]]));
  const [latitude, longitude] = [Number(row.lat), Number(row.lng)];
  return { id, ...texts, otherNames: '', latitude, longitude } as unknown as ProviderRecord;
}

/** Reads back which id each address got; everything else of a record is known from its row. */
export async function recordsOf(target: TestDirectory, rows: readonly Row[]): Promise<ProviderRecord[]> {
  const ids = new Map<string, number>();
  for (let offset = 0; offset < rows.length; offset += 1000) {
    const { body } = await target.search({ limit: 1000, offset });
    for (const record of body.providers ?? [])
      ids.set(String(record['serv_direct_addr']), Number(record['id']));
  }
  assert.equal(ids.size, rows.length);
  return rows.map((row) => toRecord(row, ids.get(row.serv_direct_addr) ?? 0));
}
