import { searchFields, type ProviderRecord, type SearchField } from '../provider-record/index.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { searchPlainly } from '../../../test/support/plain-directory.ts';
import { randomDirectory, randomQuery, seededRandom } from '../../../test/support/random-directory.ts';
import { rounds } from '../../../test/support/rounds.ts';
import {
  createIndexBuilder,
  openIndex,
  type OpenIndexOptions,
  type ProviderIndex,
  type ProviderQuery,
} from './index.ts';

function buildIndex(records: readonly ProviderRecord[], options?: OpenIndexOptions): ProviderIndex {
  const builder = createIndexBuilder({ frequentRows: 8, sectionRows: 40 });
  for (const record of records) builder.add(record);
  return openIndex(builder.finish(), options);
}

function assertSameAnswer(
  index: ProviderIndex,
  records: readonly ProviderRecord[],
  query: ProviderQuery,
): void {
  const expected = searchPlainly(records, query);
  const found = index.search(query);
  const page = {
    totalCount: found.totalCount,
    ids: [...found.rows].map((row) => index.record(row).id),
    ...(found.distances === undefined ? {} : { distances: [...found.distances] }),
  };
  assert.deepEqual(page, expected, JSON.stringify(query));
}

// Lists for every result, sets for every result, and a mixture.
const shapes: readonly (readonly [records: number, queries: number, shortResult: number])[] = [
  [0, 50, 4096],
  [1, 100, 4096],
  [33, 300, 0],
  [700, 500, 4096],
  [700, 1500, 4],
  [3000, 300, 40],
];

for (const [recordCount, queryCount, shortResult] of shapes) {
  test(`random queries over ${recordCount} records equal a plain filter and sort (short results up to ${shortResult})`, () => {
    const records = randomDirectory(recordCount + shortResult, recordCount);
    const index = buildIndex(records, { shortResult });
    const random = seededRandom(queryCount);
    const asked: ProviderQuery[] = [];
    for (let count = 0; count < rounds(queryCount); count++) {
      const query = randomQuery(random, records);
      assertSameAnswer(index, records, query);
      asked.push(query);
      // Other pages of it and of an earlier one come from kept results.
      for (const known of [query, asked[Math.floor(random() * asked.length)] ?? query]) {
        const offset = Math.floor(random() * 1.1 * recordCount);
        assertSameAnswer(index, records, { ...known, offset, limit: Math.floor(random() * 30) });
      }
    }
  });
}

test('rows with the same texts are recognized field by field', () => {
  const records = randomDirectory(7, 300);
  const index = buildIndex(records);
  const random = seededRandom(8);
  let sameCount = 0;
  for (let count = 0; count < 3000; count++) {
    const rows = Uint32Array.from({ length: 1 + Math.floor(random() * 3) }, () =>
      Math.floor(random() * records.length),
    );
    const field = searchFields[count % searchFields.length] as SearchField;
    const texts = new Set(Array.from(rows, (row) => index.record(row)[field]));
    assert.equal(index.haveSameTexts(rows, [field]), texts.size === 1, `${field} of ${rows.join(', ')}`);
    if (texts.size === 1 && rows.length > 1) sameCount++;
  }
  assert.ok(sameCount > 30, String(sameCount));
});

// More than a call can have as arguments.
test('a text with another spelling may be in any number of organizations', () => {
  const count = 150_000;
  const [record] = randomDirectory(9, 1) as [ProviderRecord];
  const builder = createIndexBuilder();
  for (let id = 1; id <= count; id++) builder.add({ ...record, id, organization: `Women’s Clinic ${id}` });
  const index = openIndex(builder.finish());
  for (const value of ['womens', 'Women’s', 'omens clinic 149999']) {
    const filters = [{ field: 'organization', match: 'text-contains', value } as const];
    const { totalCount } = index.search({ filters, sort: [], offset: 0, limit: 1 });
    assert.equal(totalCount, value.endsWith('9') ? 1 : count, value);
  }
});

test('parts of texts that begin alike, marks and escapes among them, are found as by a plain filter', () => {
  const random = seededRandom(11);
  const pick = <One>(list: readonly One[]): One => list[Math.floor(random() * list.length)] as One;
  const [record] = randomDirectory(9, 1) as [ProviderRecord];
  const names = ['Women’s', 'Womens’', 'Women-s', 'WOMENS', 'Women "s"', 'Men’s-und'] as const;
  const kinds = ['Clinic', 'Clinic-Ost', 'Clinic "Ost"', 'clinics', 'Clinic of Women’s'] as const;
  const records = Array.from({ length: 3000 }, (_, id) => ({
    ...record,
    id: id + 1,
    organization: `${pick(names)} ${pick(kinds)} ${Math.floor(random() * 500)}`,
  }));
  const index = buildIndex(records);
  for (let count = 0; count < rounds(600); count++) {
    const text = pick(records).organization;
    const from = Math.floor(random() * 20);
    const part = text.slice(from, from + 3 + Math.floor(random() * 9)).trim();
    const value = random() < 0.5 ? part : part.replace(/[’"-]/g, random() < 0.5 ? '' : ' ');
    const filters = [{ field: 'organization', match: 'text-contains', value } as const];
    assertSameAnswer(index, records, { filters, sort: [], offset: 0, limit: 20 });
  }
});

test('another spelling is found by its second run of bytes, where the first is that of another text', () => {
  const [record] = randomDirectory(9, 1) as [ProviderRecord];
  const builder = createIndexBuilder();
  const names = ['A xyz O’Neil', 'B x’yz'];
  for (const [id, organization] of names.entries()) builder.add({ ...record, id, organization });
  const index = openIndex(builder.finish());
  const filters = [{ field: 'organization', match: 'text-contains', value: 'xyz oneil' } as const];
  assert.equal(index.search({ filters, sort: [], offset: 0, limit: 1 }).totalCount, 1);
});
