/** The same queries against other engines: PostgreSQL with full text and trigrams, and MiniSearch. */
import { createRequire } from 'node:module';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { foldText } from '../../../src/core/index.ts';
import type { ProviderRecord } from '../../../src/lib/provider-record/index.ts';

/** Asks for the first ten people or organizations; each by the Direct addresses that are shown for it, in lower case. */
export type Ask = (q: string) => Promise<readonly (readonly string[])[]>;

export interface Engine {
  readonly name: string;
  readonly ask: Ask;
  readonly buildSeconds: number;
  readonly bytes: number;
}

const wanted = 10;

/** The texts of a record by weight: names, organization and specialty, place, address. */
function textsOf(record: ProviderRecord): readonly [string, string, string, string] {
  const plain = (...texts: readonly string[]): string =>
    foldText(texts.join(' '))
      .replaceAll("'", '')
      .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
      .trim();
  const { firstName, middleName, lastName, suffix, npi, organization, specialty, directAddress } = record;
  const digits = record.phone.replaceAll(/[^0-9]/g, '').replace(/^1(?=[0-9]{10}$)/, '');
  return [
    plain(firstName, middleName, lastName, suffix, npi),
    plain(organization, specialty.split(':').slice(-2).join(' ')),
    plain(record.street, record.city, record.state, record.zip, digits),
    plain(directAddress),
  ];
}

/** Weighted full text with the last word as a prefix; if too little is found, the words by trigram similarity. */
export async function loadPostgres(client: pg.Client, records: Iterable<ProviderRecord>): Promise<Engine> {
  const startMs = performance.now();
  await client.query('create extension if not exists pg_trgm');
  await client.query(
    `create unlogged table suggestions (address text, a text, b text, c text, d text, words tsvector, whole text)`,
  );
  const target = client.query(copyFrom('copy suggestions (address, a, b, c, d) from stdin'));
  await pipeline(Readable.from(linesOf(records)), target);
  await client.query(`update suggestions set whole = a || ' ' || b || ' ' || c,
    words = setweight(to_tsvector('simple', a), 'A') || setweight(to_tsvector('simple', b), 'B')
      || setweight(to_tsvector('simple', c), 'C') || setweight(to_tsvector('simple', d), 'D')`);
  await client.query('create index on suggestions using gin (words)');
  await client.query('create index on suggestions using gin (whole gin_trgm_ops)');
  await client.query('vacuum analyze suggestions');
  await client.query('set pg_trgm.word_similarity_threshold = 0.5');
  await client.query("set statement_timeout = '20s'");
  const buildSeconds = (performance.now() - startMs) / 1000;
  const { rows } = await client.query<{ bytes: string }>(
    `select pg_total_relation_size('suggestions') as bytes`,
  );
  return {
    name: 'PostgreSQL',
    ask: (q) => askPostgres(client, q),
    buildSeconds,
    bytes: Number(rows[0]?.bytes),
  };
}

function* linesOf(records: Iterable<ProviderRecord>): Generator<string> {
  for (const record of records) yield `${[record.directAddress, ...textsOf(record)].join('\t')}\n`;
}

const ignored = new Set(['dr', 'md', 'and']);

function wordsOf(q: string): string[] {
  return foldText(q)
    .replaceAll("'", '')
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '' && !ignored.has(word));
}

async function askPostgres(client: pg.Client, q: string): Promise<string[][]> {
  const words = wordsOf(q);
  const text = words.map((word) => `${word}:*`).join(' & ');
  const found = await client.query<{ address: string }>(
    `select address from suggestions, to_tsquery('simple', $1) query where words @@ query
      order by ts_rank('{0.4, 0.6, 0.8, 1}', words, query) desc, address limit ${wanted}`,
    [text],
  );
  if (found.rows.length > 0) return found.rows.map(({ address }) => [address.toLowerCase()]);
  // Every word must be similar to a part of the text.
  const conditions = words.map((_, at) => `$${at + 1} <% whole`).join(' and ');
  const sum = words.map((_, at) => `word_similarity($${at + 1}, whole)`).join(' + ');
  const near = await client.query<{ address: string }>(
    `select address from suggestions where ${conditions} order by ${sum} desc, address limit ${wanted}`,
    words,
  );
  return near.rows.map(({ address }) => [address.toLowerCase()]);
}

interface MiniSearch {
  addAll(documents: readonly object[]): void;
  search(q: string, options: object): readonly { readonly address: string }[];
}

/** Undefined without the package: `npm install --no-save minisearch@7.2.0`, or its CommonJS file in MINISEARCH. */
export function loadMiniSearch(records: Iterable<ProviderRecord>): Engine | undefined {
  const MiniSearchClass = findMiniSearch();
  if (MiniSearchClass === undefined) return undefined;
  const before = process.memoryUsage();
  const startMs = performance.now();
  const index = new MiniSearchClass({
    idField: 'id',
    fields: ['a', 'b', 'c', 'd'],
    storeFields: ['address'],
  });
  let batch: object[] = [];
  for (const record of records) {
    const [a, b, c, d] = textsOf(record);
    batch.push({ id: record.id, address: record.directAddress.toLowerCase(), a, b, c, d });
    if (batch.length < 10_000) continue;
    index.addAll(batch);
    batch = [];
  }
  index.addAll(batch);
  const buildSeconds = (performance.now() - startMs) / 1000;
  const after = process.memoryUsage();
  const bytes = after.heapUsed + after.external - before.heapUsed - before.external;
  const options = { prefix: true, combineWith: 'AND', boost: { a: 3, b: 2, c: 1.5 } };
  return {
    name: 'MiniSearch',
    buildSeconds,
    bytes,
    ask: async (q) => {
      const text = wordsOf(q).join(' ');
      const exact = index.search(text, options);
      const found = exact.length > 0 ? exact : index.search(text, { ...options, fuzzy: 0.2 });
      return found.slice(0, wanted).map(({ address }) => [address]);
    },
  };
}

function findMiniSearch(): (new (options: object) => MiniSearch) | undefined {
  const name = process.env['MINISEARCH'] ?? 'minisearch';
  type Class = new (options: object) => MiniSearch;
  try {
    const found = createRequire(import.meta.url)(name) as Class | { readonly default: Class };
    return 'default' in found ? found.default : found;
  } catch {
    return undefined;
  }
}
