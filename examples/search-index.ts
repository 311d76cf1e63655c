/** Makes an index of provider records in memory and searches it: by a field, and within a circle, the nearest first. */
import { createIndexBuilder, openIndex, type ProviderQuery } from '../src/lib/provider-index/index.ts';
import { textFields, type ProviderRecord, type TextField } from '../src/lib/provider-record/index.ts';

const blank = Object.fromEntries(textFields.map((field) => [field, ''])) as Record<TextField, string>;
const records: readonly ProviderRecord[] = [
  { ...blank, id: 1, lastName: 'Smith', city: 'Chicago', latitude: 41.88, longitude: -87.63 },
  { ...blank, id: 2, lastName: 'Smithers', city: 'Evanston', latitude: 42.05, longitude: -87.69 },
  { ...blank, id: 3, lastName: 'Jones', city: 'Chicago', latitude: 41.9, longitude: -87.65 },
];
const builder = createIndexBuilder({ expectedRecords: records.length });
for (const record of records) builder.add(record);
const index = openIndex(builder.finish());

function show(title: string, query: ProviderQuery): void {
  const { totalCount, rows, distances } = index.search(query);
  const found = [...rows].map((row, at) => {
    const miles = distances?.[at];
    const { lastName, city } = index.record(row);
    return `${lastName} in ${city}${miles === undefined ? '' : `, ${miles.toFixed(1)} miles`}`;
  });
  console.log(`${title}: ${totalCount} found: ${found.join('; ')}`);
}

const page = { offset: 0, limit: 10 };
show('last name smith…', {
  filters: [{ field: 'lastName', match: 'prefix', value: 'smith' }],
  sort: [{ field: 'lastName', isDescending: false }],
  ...page,
});
const radius = { latitude: 41.88, longitude: -87.63, miles: 10 };
show('within 10 miles', { filters: [], radius, sort: [], ...page });
