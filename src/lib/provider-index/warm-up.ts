import { textFields } from '../provider-record/index.ts';
import type { ProviderIndex, ProviderQuery, RadiusFilter, RecordFormat } from './types.ts';

// After so many rounds the loops over rows run compiled.
const rounds = 2;
const milesAround = [25, 100, 1000];

/**
 * Searches an index in each of the ways there are, for nobody: the first searches after a start would
 * otherwise run in the interpreter, dozens of times slower.
 */
export function warmUp(index: ProviderIndex): void {
  if (index.recordCount === 0) return;
  for (let round = 0; round < rounds; round++)
    for (const query of typicalQueries(index, round))
      for (const offset of [0, 1000]) index.search({ ...query, offset });
}

// Of as many records as the largest page has.
const writtenRecords = 1000;
// From then on the loops over values are compiled.
const writingRounds = 4;

/** The same for writing pages, in the thread that writes them. */
export function warmUpWriting(index: ProviderIndex): void {
  if (index.recordCount === 0) return;
  const rows = Uint32Array.from({ length: writtenRecords }, (_, at) =>
    Math.floor((at * index.recordCount) / writtenRecords),
  );
  const distances = Float64Array.from(rows, (row) => row / 7);
  for (let round = 0; round < writingRounds; round++)
    index.writeRecords(round % 2 === 0 ? { rows } : { rows, distances }, everyValue);
}

const everyValue: RecordFormat = {
  values: [
    ['{"id":', 'id'],
    ...textFields.map((field) => [',"name":', field] as const),
    [',"latitude":', 'latitude'],
    [',"longitude":', 'longitude'],
  ],
  distance: ',"distance":',
  after: '}',
};

function typicalQueries(index: ProviderIndex, round: number): ProviderQuery[] {
  const record = index.record(Math.floor(((round + 0.5) * index.recordCount) / rounds));
  const page = { offset: 0, limit: 10 };
  const name = { field: 'lastName', match: 'prefix', value: record.lastName.slice(0, 1) } as const;
  const state = { field: 'state', match: 'exact', value: record.state } as const;
  const part = { field: 'organization', match: 'contains', value: record.organization.slice(0, 6) } as const;
  const address = { field: 'directAddress', match: 'contains', value: record.lastName } as const;
  const byCity = [{ field: 'city', isDescending: false }] as const;
  const byStateAndName = [
    { field: 'state', isDescending: false },
    { field: 'lastName', isDescending: true },
  ] as const;
  const plain = [[name], [state, name], [part], [address], [part, state]].flatMap((filters) => [
    { ...page, filters, sort: [] },
    { ...page, filters, sort: byCity },
    { ...page, filters, sort: byStateAndName },
  ]);
  const { latitude = 40, longitude = -90 } = record;
  const circles = milesAround.map((miles): RadiusFilter => ({ latitude, longitude, miles }));
  const near = circles.flatMap((radius) => [
    { ...page, radius, filters: [], sort: [] },
    { ...page, radius, filters: [name], sort: [] },
    { ...page, radius, filters: [], sort: byCity },
  ]);
  return [...plain, ...near];
}
