import assert from 'node:assert/strict';
import { test } from 'node:test';
import { searchPlainly } from '../../../test/support/plain-directory.ts';
import { pick, randomDirectory, seededRandom } from '../../../test/support/random-directory.ts';
import { rounds } from '../../../test/support/rounds.ts';
import { searchFields } from '../provider-record/index.ts';
import { createArrayReader } from './arrays.ts';
import { wordCount } from './bits.ts';
import { columnNames, shownColumns } from './columns.ts';
import {
  createIndexBuilder,
  openIndex,
  type ProviderFilter,
  type ProviderQuery,
  type SortKey,
} from './index.ts';
import { openPackedRows } from './packed-rows.ts';
import { openSections, sectionFinder } from './sections.ts';
import { createBitsPool } from './intersect.ts';
import { openTextColumn } from './text-column.ts';
import { openTrigramIndex } from './trigrams.ts';

const records = randomDirectory(77, 3000);
const builder = createIndexBuilder({ frequentRows: 8, sectionRows: 60 });
for (const record of records) builder.add(record);
const bytes = builder.finish();
// From 24 rows on a run of groups is counted by sections.
const index = openIndex(bytes, { shortResult: 2 });

function assertSame(query: ProviderQuery): void {
  const { totalCount, rows } = index.search(query);
  const expected = searchPlainly(records, query);
  const ids = [...rows].map((row) => index.record(row).id);
  assert.deepEqual({ totalCount, ids }, expected, JSON.stringify(query));
}

const page = { offset: 0, limit: 10 } as const;
const fields = ['lastName', 'firstName', 'organization', 'street', 'city', 'suffix', 'phone'] as const;

// Those with enough rows.
function conditionsOf(random: () => number): ProviderFilter[] {
  return Array.from({ length: rounds(30, 20) }, (): ProviderFilter => {
    const field = pick(random, fields);
    const text = pick(random, records)[field];
    return random() < 0.3
      ? { field, match: 'exact', value: text }
      : { field, match: 'prefix', value: text.slice(0, 1 + Math.floor(random() * 2)) };
  }).filter(
    (filter) => filter.value !== '' && index.search({ ...page, filters: [filter], sort: [] }).totalCount > 24,
  );
}

for (const field of searchFields)
  test(`runs of groups in the order of ${field} equal a plain sort, on every page`, () => {
    const random = seededRandom(field.length);
    const seconds = ['lastName', 'state', 'suffix', 'directAddress', 'npi', undefined] as const;
    const conditions = conditionsOf(random);
    assert.ok(conditions.length > rounds(10, 5), `${conditions.length} conditions`);
    for (const filter of [undefined, ...conditions]) {
      const isDescending = random() < 0.5;
      const second = pick(random, seconds);
      const sort: SortKey[] = [
        { field, isDescending },
        ...(second === undefined ? [] : [{ field: second, isDescending: random() < 0.5 }]),
      ];
      const query = { ...page, filters: filter === undefined ? [] : [filter], sort };
      const { totalCount } = index.search(query);
      for (const part of [0, random(), 0.99])
        for (const limit of [1, 40]) assertSame({ ...query, offset: Math.floor(part * totalCount), limit });
    }
  });

test('what many rows hold inside a column is found as a prepared set', () => {
  const arrays = createArrayReader(bytes);
  const column = openTextColumn('specialty', arrays, openPackedRows(arrays));
  const frequent = openTrigramIndex(
    column,
    arrays,
    records.length,
    createBitsPool(wordCount(records.length)),
  )?.find(Buffer.from('cardio'));
  assert.equal(frequent?.kind, 'bits');
});

test('sections of two columns count the rows that are in both', () => {
  const arrays = createArrayReader(bytes);
  const cut = columnNames.flatMap((name) => {
    const sections = openSections(name, arrays);
    return sections === undefined ? [] : [{ name, sections, sectionOf: sectionFinder(sections) }];
  });
  assert.equal(cut.length, columnNames.length - 2 - shownColumns.size);
  for (const { name, sections, sectionOf } of cut) {
    const codes = arrays.getCodes(`${name}.codes`);
    assert.equal(sections.across.size, cut.length - 1);
    for (const other of cut) {
      const pairs = sections.across.get(other.name);
      if (pairs === undefined) continue;
      const otherCodes = arrays.getCodes(`${other.name}.codes`);
      const expected = new Uint32Array(pairs.counts.length);
      for (let row = 0; row < records.length; row++) {
        const at =
          sectionOf(codes[row] as number) * pairs.ownStep +
          other.sectionOf(otherCodes[row] as number) * pairs.otherStep;
        expected[at] = (expected[at] as number) + 1;
      }
      assert.deepEqual(pairs.counts, expected, `${name} and ${other.name}`);
    }
  }
});
