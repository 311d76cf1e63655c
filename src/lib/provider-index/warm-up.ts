import { setImmediate as nextTurn } from 'node:timers/promises';
import { textFields, type ProviderRecord } from '../provider-record/index.ts';
import { parseWords } from '../search-words/index.ts';
import { keepText } from './json-output.ts';
import type { ProviderIndex, ProviderQuery, RadiusFilter, RecordFormat } from './types.ts';

// After so many rounds the loops over rows run compiled.
const rounds = 2;
const milesAround = [25, 100, 1000];

/**
 * Searches an index in each of the ways there are, for nobody: the first searches after a start would
 * otherwise run in the interpreter, dozens of times slower. `isWanted` leaves queries out that this thread
 * will not be asked. The thread answers others in between.
 */
export async function warmUp(
  index: ProviderIndex,
  isWanted: (query: ProviderQuery) => boolean = () => true,
): Promise<void> {
  if (index.recordCount === 0) return;
  for (let round = 0; round < rounds; round++)
    for (const query of typicalQueries(index, round)) {
      if (!isWanted(query)) continue;
      for (const offset of [0, 1000]) index.search({ ...query, offset });
      await nextTurn();
    }
}

/** The same for suggestions, in the threads that find them. */
export function warmUpSuggestions(index: ProviderIndex): void {
  if (index.recordCount === 0) return;
  for (let round = 0; round < rounds; round++) {
    const {
      lastName,
      city,
      state,
      organization,
      npi,
      latitude = 40,
      longitude = -90,
    } = recordOf(index, round);
    const texts = [
      lastName.slice(0, 1),
      `${city} ${state}`,
      organization,
      `${lastName}qx ${city}`,
      npi.slice(0, 5),
    ];
    for (const words of texts.map(parseWords).filter(({ length }) => length > 0))
      for (const near of [undefined, { latitude, longitude }])
        index.suggest({ words, filters: [], specialty: [], limit: 30, ...(near && { near }) });
  }
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
  for (let round = 0; round < writingRounds; round++) index.writeRecords(rows, everyValue, undefined);
}

const [name, number] = [keepText('","name":"'), keepText('","number":')];

const everyValue: RecordFormat<undefined> = (pen) => {
  const fields = textFields.map((field) => pen.field(field));
  return () => {
    for (const field of fields) {
      pen.put(name);
      field.put();
    }
    for (const value of [pen.id, pen.latitude, pen.longitude]) {
      pen.put(number);
      pen.putNumber(value ?? 0);
    }
  };
};

function typicalQueries(index: ProviderIndex, round: number): ProviderQuery[] {
  const record = recordOf(index, round);
  const page = { offset: 0, limit: 10 };
  const name = { field: 'lastName', match: 'name-prefix', value: record.lastName.slice(0, 1) } as const;
  const state = { field: 'state', match: 'exact', value: record.state } as const;
  const part = {
    field: 'organization',
    match: 'text-contains',
    value: record.organization.slice(0, 6),
  } as const;
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

function recordOf(index: ProviderIndex, round: number): ProviderRecord {
  return index.record(Math.floor(((round + 0.5) * index.recordCount) / rounds));
}
