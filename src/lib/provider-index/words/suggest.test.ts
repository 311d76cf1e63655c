import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foldText } from '../../../core/index.ts';
import { pick, randomDirectory, randomRecord } from '../../../../test/support/random-directory.ts';
import { suggestPlainly } from '../../../../test/support/plain-suggestions.ts';
import { createRandom } from '../../../../test/support/fast-check.ts';
import { rounds } from '../../../../test/support/rounds.ts';
import type { ProviderRecord } from '../../provider-record/index.ts';
import { parseWords } from '../../search-words/index.ts';
import {
  createIndexBuilder,
  openChangedIndex,
  openIndex,
  type ProviderIndex,
  type SharedIndexBytes,
  type SuggestionQuery,
} from '../index.ts';
import { openSubIndex } from '../open-index.ts';

type Random = () => number;

function build(records: readonly ProviderRecord[], frequentRows: number): SharedIndexBytes {
  const builder = createIndexBuilder({ frequentRows });
  for (const record of records) builder.add(record);
  return builder.finish();
}

const typed = [
  'bob',
  'st',
  'saint',
  'heart',
  'cardiologist',
  '5125550100',
  '1 512 555 0100',
  '(512) 555-01',
  '78701-1',
  '1000000007',
  'texas',
  'smtih',
  'clinci',
  'o brien',
  'zzzzz',
  'an',
  'x@y',
  'n.y.',
  'd.c',
  'm.d.',
  'x-ray',
  'nyc',
  'new york city',
  'alpha@nyc',
];

// A piece of a record as somebody could type it.
function typedWord(random: Random, records: readonly ProviderRecord[]): string {
  if (records.length === 0 || random() < 0.15) return pick(random, typed);
  const record = pick(random, records);
  const field = pick(random, [
    'firstName',
    'lastName',
    'lastName',
    'organization',
    'organization',
    'specialty',
    'street',
    'city',
    'state',
    'zip',
    'phone',
    'npi',
    'directAddress',
    'suffix',
  ] as const);
  const words = record[field].split(/[ @]/).filter(Boolean);
  if (words.length === 0) return 'a';
  const characters = [...pick(random, words)];
  const change = random();
  if (change < 0.3) characters.length = 1 + Math.floor(random() * characters.length);
  else if (change < 0.4) characters.splice(Math.floor(random() * characters.length), 1);
  else if (change < 0.5) characters.splice(Math.floor(random() * characters.length), 0, 'e');
  else if (change < 0.6 && characters.length > 1) {
    const at = Math.floor(random() * (characters.length - 1));
    characters.splice(at, 2, characters[at + 1] ?? '', characters[at] ?? '');
  }
  return characters.join('');
}

const isTrusted = ({ id }: ProviderRecord): boolean => id % 4 === 1;

function randomSuggestion(random: Random, records: readonly ProviderRecord[]): SuggestionQuery {
  const count = pick(random, [1, 1, 2, 2, 3]);
  const text = Array.from({ length: count }, () => typedWord(random, records)).join(' ');
  const specialty = random() < 0.1 ? pick(random, ['cardiology', 'heart', 'med', '207r']) : '';
  return {
    words: parseWords(text),
    filters: random() < 0.15 ? [{ field: 'state', match: 'exact', value: pick(random, ['TX', 'ca']) }] : [],
    specialty: parseWords(specialty).map((word) => ({
      ...word,
      isNumber: false,
      terms: word.terms
        .filter(({ fields }) => fields === undefined || fields.includes('specialty'))
        .map((term) => ({ ...term, fields: ['specialty' as const] })),
    })),
    ...(random() < 0.1 && { kind: pick(random, ['person', 'organization'] as const) }),
    ...(random() < 0.15 && { isTrustedOnly: true }),
    ...(random() < 0.3 && { near: { latitude: 30.2672, longitude: -97.7431 } }),
    limit: 10_000,
  };
}

function setOf(index: ProviderIndex, fits: (record: ProviderRecord) => boolean): Uint32Array {
  const bits = new Uint32Array((index.addresses.rowLimit + 31) >>> 5);
  for (let row = 0; row < index.addresses.rowLimit; row++)
    if (fits(index.record(row))) bits[row >>> 5] = (bits[row >>> 5] as number) | (1 << (row & 31));
  return bits;
}

function compareWithPlain(random: Random, index: ProviderIndex, records: readonly ProviderRecord[]): void {
  const [trusted, confirmed] = [setOf(index, isTrusted), setOf(index, ({ id }) => id % 8 === 1)];
  for (let round = 0; round < 40; round++) {
    const query = randomSuggestion(random, records);
    if (query.words.length === 0) continue;
    const plain = suggestPlainly(records, query, isTrusted);
    const found = index.suggest({ ...query, trusted, confirmed });
    const text = JSON.stringify(query.words.map((word) => word.text));
    const idsOf = (list: readonly ProviderRecord[]): number[] =>
      list.map(({ id }) => id).toSorted((a, b) => a - b);
    const shown = Array.from(found.rows, (row) => index.record(row));
    assert.deepEqual(idsOf(shown), idsOf(plain.records), text);
    assert.equal(found.totalCount, plain.records.length, text);
    assert.equal(found.isNear, plain.isNear, text);
    assert.equal(found.trustedCount, plain.records.filter(isTrusted).length, text);
    const states = Map.groupBy(plain.records, ({ state }) => foldText(state));
    assert.deepEqual(
      new Map(found.states),
      new Map([...states].map(([state, list]) => [state, list.length])),
      text,
    );
    for (const nearly of found.nearlyMeant) {
      const other = suggestPlainly(records, { ...query, words: parseWords(nearly) }, isTrusted);
      assert.ok(other.records.length > 0, `${text} nearly ${nearly}`);
    }
  }
}

test('finds the records that a plain comparison of all words finds, through lists and through sets', () => {
  const random = createRandom('suggestions');
  for (let round = 0; round < rounds(20); round++) {
    const records = randomDirectory(Math.floor(random() * 1e6), pick(random, [0, 1, 60, 250]));
    compareWithPlain(random, openIndex(build(records, pick(random, [1, 5, 20_000]))), records);
  }
});

test('the same after records were added, changed and removed', () => {
  const random = createRandom('changed suggestions');
  for (let round = 0; round < rounds(20); round++) {
    const records = randomDirectory(Math.floor(random() * 1e6), pick(random, [0, 60, 250]));
    const removed = records.filter(() => random() < 0.2);
    const changed = removed.filter(() => random() < 0.5).map(({ id }) => randomRecord(random, id));
    const added = [...changed, ...Array.from({ length: 9 }, (_, at) => randomRecord(random, 5000 + at))];
    const gone = new Set(removed);
    const now = [...records.filter((record) => !gone.has(record)), ...added];
    const base = openSubIndex(build(records, pick(random, [1, 20_000])));
    const changes = { added: build(added, 20_000), removed: build(removed, 20_000) };
    compareWithPlain(random, openChangedIndex(base, changes), now);
  }
});

test('what was nearly meant finds something when it is typed', () => {
  const named = (id: number, part: Partial<ProviderRecord>): ProviderRecord => ({
    ...randomRecord(createRandom('named'), id),
    ...part,
  });
  const records = [
    named(1, { lastName: 'Ng', firstName: 'Ada', zip: '787011', phone: '5125 55 0142' }),
    named(2, { lastName: 'Ruiz', firstName: 'Bo', zip: '10001', phone: '1' }),
  ];
  const index = openIndex(build(records, 20_000));
  const none = new Uint32Array(1);
  const nearly = (text: string): readonly string[] => {
    const words = parseWords(text);
    const { totalCount, nearlyMeant } = index.suggest({
      words,
      filters: [],
      specialty: [],
      limit: 10,
      trusted: none,
      confirmed: none,
    });
    assert.equal(totalCount, 0, text);
    for (const other of nearlyMeant) {
      const again = { words: parseWords(other), filters: [], specialty: [], limit: 10 };
      assert.ok(index.suggest({ ...again, trusted: none, confirmed: none }).totalCount > 0, other);
    }
    return nearlyMeant;
  };
  // Without the last word the digits would be one telephone number, which nobody has.
  assert.deepEqual(nearly('78701-1 5125-55-qqqq'), []);
  assert.deepEqual(nearly('ada qqqq'), ['ada']);
  assert.deepEqual(nearly("ada ng's qqqq"), []);
});

test('words that many rows have are found again, also after more of them than are kept', () => {
  const random = createRandom('known words');
  const words = Array.from({ length: 40 }, (_, at) => `word${10 + at}`);
  const someOf = (list: readonly string[]): string[] => list.filter(() => random() < 0.5);
  const records = Array.from({ length: 6000 }, (_, at) => ({
    ...randomRecord(random, at + 1),
    organization: someOf(words.slice(0, 25)).join(' '),
    street: someOf(words.slice(15)).join(' '),
  }));
  const having = new Map(
    words.map((word) => [
      word,
      new Set(records.filter(({ organization, street }) => `${organization} ${street}`.includes(word))),
    ]),
  );
  const index = openIndex(build(records, 20_000));
  for (let round = 0; round < rounds(60); round++) {
    const asked = Array.from({ length: 1 + Math.floor(random() * 5) }, () => pick(random, words));
    const query = { words: parseWords(asked.join(' ')), filters: [], specialty: [], limit: 10_000 };
    const found = Array.from(index.suggest(query).rows, (row) => index.record(row).id);
    const fits = records.filter((record) => asked.every((word) => having.get(word)?.has(record)));
    assert.deepEqual(
      found.toSorted((a, b) => a - b),
      fits.map(({ id }) => id),
      asked.join(' '),
    );
  }
});

test('of many rows with the same points the nearest come first, and those at one distance by name', () => {
  const random = createRandom('near ties');
  const nameOf = (at: number): string => `Name${1000 + Math.floor(random() * 9000)} ${at}`;
  const records = Array.from({ length: 21_000 }, (_, at) => ({
    ...randomRecord(random, at + 1),
    lastName: nameOf(at),
    organization: 'Hillside',
    directAddress: `a${at}@example.test`,
    latitude: 30 + (at % 30) / 10,
    longitude: -97,
  }));
  const index = openIndex(build(records, 20_000));
  const near = { latitude: 30.31, longitude: -97 };
  for (const limit of [10, 700, 750]) {
    const query = { words: parseWords('hillside'), filters: [], specialty: [], near, limit };
    const found = index.suggest({ ...query, trusted: new Uint32Array(657), confirmed: new Uint32Array(657) });
    const order = records.toSorted(
      (a, b) =>
        Math.abs(a.latitude - near.latitude) - Math.abs(b.latitude - near.latitude) ||
        (a.lastName.toLowerCase() < b.lastName.toLowerCase() ? -1 : 1),
    );
    assert.deepEqual(
      Array.from(found.rows, (row) => index.record(row).lastName),
      order.slice(0, limit).map(({ lastName }) => lastName),
    );
  }
});
