/** Queries as people type them, each with the record that is meant: made from records with a fixed seed, and written by hand. */
import type { ProviderRecord } from '../../../src/lib/provider-record/index.ts';
import { nicknames } from '../../../src/lib/search-words/word-tables.ts';
import { createRandom } from '../../../test/support/fast-check.ts';
import { laterQueries } from './later-queries.ts';
import { writtenQueries } from './written-queries.ts';

export interface JudgedQuery {
  readonly q: string;
  /** How it was made. */
  readonly kind: string;
  /** In lower case; any address of the person counts. */
  readonly addresses: ReadonlySet<string>;
}

/** Of the queries by which ranking was tuned. */
export const tunedSeed = 20_261_127;
const madeCount = 340;

type Random = () => number;
const pick = <Value>(random: Random, values: readonly Value[]): Value =>
  values[Math.floor(random() * values.length)] as Value;

const wordsOf = (text: string): string[] =>
  text
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/['’]/g, '')
    .match(/[a-z0-9]+/g) ?? [];

/** What a person would name, most telling first: the last name or the organization, and what narrows it down. */
function piecesOf(random: Random, record: ProviderRecord): string[][] {
  const specialty = wordsOf(record.specialty.split(':').at(-1) ?? '').slice(0, 2);
  const organization = wordsOf(record.organization).slice(0, 3);
  const places = [
    wordsOf(record.city),
    [record.zip.slice(0, 5)],
    [record.state.toLowerCase()],
    wordsOf(record.street).slice(0, 2),
  ].filter((words) => words.join('') !== '');
  const name =
    record.lastName === '' ? [organization] : [wordsOf(record.lastName), wordsOf(record.firstName)];
  const rest = [specialty, record.lastName === '' ? [] : organization, ...places].filter(
    (words) => words.length > 0,
  );
  return [...name.filter((words) => words.length > 0), ...rest.toSorted(() => random() - 0.5)];
}

/** Of each word the records that have it somewhere, so that a query is long enough to mean one of them. */
function indexWords(records: readonly ProviderRecord[]): Map<string, Uint32Array> {
  const lists = new Map<string, number[]>();
  for (const [at, record] of records.entries()) {
    const {
      lastName,
      firstName,
      middleName,
      organization,
      specialty,
      street,
      city,
      state,
      zip,
      directAddress,
    } = record;
    const own = Object.values(numbers).map((read) => read(record));
    const text = [
      lastName,
      firstName,
      middleName,
      organization,
      specialty,
      street,
      city,
      state,
      directAddress,
    ].join(' ');
    for (const word of new Set([...wordsOf(text), zip.slice(0, 5), ...own])) {
      const list = lists.get(word) ?? [];
      list.push(at);
      lists.set(word, list);
    }
  }
  return new Map([...lists].map(([word, list]) => [word, Uint32Array.from(list)]));
}

function countAll(words: readonly string[], lists: ReadonlyMap<string, Uint32Array>): number {
  const [first, ...others] = words
    .map((word) => lists.get(word) ?? new Uint32Array())
    .toSorted((a, b) => a.length - b.length);
  const sets = others.map((list) => new Set(list));
  return (first ?? new Uint32Array()).filter((at) => sets.every((set) => set.has(at))).length;
}

const shortForms = new Map(
  nicknames
    .trim()
    .split('\n')
    .map((line) => line.split(' '))
    .map(([formal = '', ...short]) => [formal, short]),
);
const abbreviations: Readonly<Record<string, string>> = {
  hospital: 'hosp',
  center: 'ctr',
  medical: 'med',
  saint: 'st',
  north: 'n',
  south: 's',
  east: 'e',
  west: 'w',
  fort: 'ft',
  mount: 'mt',
  avenue: 'ave',
  street: 'st',
  boulevard: 'blvd',
  associates: 'assoc',
  university: 'univ',
  health: 'hlth',
  group: 'grp',
  institute: 'inst',
  cardiology: 'cardiologist',
  dermatology: 'dermatologist',
  neurology: 'neurologist',
  pediatrics: 'pediatrician',
  psychiatry: 'psychiatrist',
  otolaryngology: 'ent',
};
const isPlainWord = (word: string): boolean => /^[a-z]{5,}$/.test(word);

function misspell(random: Random, word: string): string {
  const at = 1 + Math.floor(random() * (word.length - 2));
  const kinds = [
    () => word.slice(0, at) + word.slice(at + 1),
    () => word.slice(0, at) + word[at] + word.slice(at),
    () => word.slice(0, at) + word[at + 1] + word[at] + word.slice(at + 2),
    () => word.slice(0, at) + pick(random, [...'aeiouslnrt']) + word.slice(at + 1),
  ];
  return pick(random, kinds)();
}

type Change = (
  random: Random,
  words: readonly string[],
  record: ProviderRecord,
) => readonly string[] | undefined;

/** Undefined if it cannot be done with these words. */
const changes: Readonly<Record<string, Change>> = {
  plain: (_random, words) => words,
  swapped: (random, words) => words.toSorted(() => random() - 0.5),
  unfinished: (_random, words) => {
    const last = words.at(-1) ?? '';
    return last.length < 5 ? undefined : [...words.slice(0, -1), last.slice(0, Math.ceil(last.length * 0.6))];
  },
  misspelt: (random, words) => {
    const places = [...words.keys()].filter((at) => isPlainWord(words[at] ?? ''));
    if (places.length === 0) return undefined;
    const place = pick(random, places);
    return words.map((word, at) => (at === place ? misspell(random, word) : word));
  },
  abbreviated: (_random, words) => {
    const short = words.map((word) => abbreviations[word] ?? word);
    return short.join() === words.join() ? undefined : short;
  },
  nickname: (random, words, { firstName }) => {
    const [formal = ''] = wordsOf(firstName);
    const short = shortForms.get(formal);
    if (short === undefined || !words.includes(formal)) return undefined;
    return words.map((word) => (word === formal ? pick(random, short) : word));
  },
  titled: (_random, words, { lastName }) => (lastName === '' ? undefined : ['dr', ...words, 'md']),
};

/** Number or address alone. */
const numbers: Readonly<Record<string, (record: ProviderRecord) => string>> = {
  npi: ({ npi }) => npi,
  phone: ({ phone }) => phone.replace(/[^0-9]/g, '').replace(/^1(?=[0-9]{10}$)/, ''),
  'Direct address': ({ directAddress }) => directAddress,
};

const mostMeant = 1;

function makeQueries(
  records: readonly ProviderRecord[],
  seed: number,
): { q: string; kind: string; record: ProviderRecord }[] {
  const random = createRandom('judged queries', seed);
  const lists = indexWords(records);
  const kinds = [...Object.keys(changes), ...Object.keys(changes), ...Object.keys(numbers)];
  const made: { q: string; kind: string; record: ProviderRecord }[] = [];
  for (let at = 0; made.length < madeCount; at++) {
    const kind = kinds[at % kinds.length] as string;
    for (;;) {
      const record = pick(random, records);
      const q = makeQuery(random, kind, record, lists);
      if (q === undefined) continue;
      made.push({ q, kind, record });
      break;
    }
  }
  return made;
}

function makeQuery(
  random: Random,
  kind: string,
  record: ProviderRecord,
  lists: ReadonlyMap<string, Uint32Array>,
): string | undefined {
  const number = numbers[kind]?.(record);
  // A desk's telephone number means no one of its people.
  if (number !== undefined)
    return number === '' || countAll([number], lists) > mostMeant ? undefined : number;
  const words: string[] = [];
  for (const piece of piecesOf(random, record)) {
    words.push(...piece.filter((word) => !words.includes(word)));
    // The record must be the one that is meant, if nothing is misspelt.
    if (words.length > 1 && countAll(words, lists) <= mostMeant)
      return changes[kind]?.(random, words, record)?.join(' ');
  }
  return undefined;
}

/** The records that a load of them keeps: of several with one Direct address, its key, the first one. */
export function loadedRecords(records: Iterable<ProviderRecord>): ProviderRecord[] {
  const known = new Map<string, ProviderRecord>();
  for (const record of records) {
    const key = record.directAddress.toLowerCase();
    if (!known.has(key)) known.set(key, record);
  }
  return [...known.values()];
}

/** Those of the seed, and those written by hand: others with the seed by which ranking was tuned. */
export function judgedQueries(records: readonly ProviderRecord[], seed: number): JudgedQuery[] {
  const addressesOf = new Map<string, Set<string>>();
  for (const { npi, directAddress } of records) {
    const key = npi || directAddress.toLowerCase();
    const addresses = addressesOf.get(key) ?? new Set();
    addressesOf.set(key, addresses.add(directAddress.toLowerCase()));
  }
  const byAddress = new Map(records.map((record) => [record.directAddress.toLowerCase(), record]));
  const keyOf = ({ npi, directAddress }: ProviderRecord): string => npi || directAddress.toLowerCase();
  const meant = (record: ProviderRecord): ReadonlySet<string> => addressesOf.get(keyOf(record)) ?? new Set();
  const written = seed === tunedSeed ? writtenQueries : laterQueries;
  const byHand = written.map(([q, address]) => {
    const record = byAddress.get(address.toLowerCase());
    if (record === undefined) throw new Error(`no record has the address ${address}`);
    return { q, kind: 'written by hand', addresses: meant(record) };
  });
  return [
    ...makeQueries(records, seed).map(({ q, kind, record }) => ({ q, kind, addresses: meant(record) })),
    ...byHand,
  ];
}
