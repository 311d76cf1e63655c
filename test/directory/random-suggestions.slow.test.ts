/** Random suggestions over HTTP against a plain comparison of all words of all records: equal records and counts. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { foldText } from '../../src/core/index.ts';
import { recordFields, removeSource, type SuggestionAnswer } from '../../src/service/directory/index.ts';
import { parseWords } from '../../src/lib/search-words/index.ts';
import type { ProviderRecord } from '../../src/lib/provider-record/index.ts';
import { createRandom, fc } from '../support/fast-check.ts';
import { pick } from '../support/random-directory.ts';
import { suggestPlainly } from '../support/plain-suggestions.ts';
import { rowsArbitrary } from './random-directory.ts';
import { startTestDirectory, toCsv, type TestDirectory } from './start-directory.ts';

const queriesPerState = 400;

let world: TestDirectory;
before(async () => {
  world = await startTestDirectory();
});
after(() => world.close());

/** All records that a search serves. */
async function servedRecords({ search }: TestDirectory): Promise<ProviderRecord[]> {
  const { body } = await search({ limit: 1000 });
  assert.equal(body.totalCount, String(body.providers?.length));
  return (body.providers ?? []).map((provider) => {
    const texts = recordFields.map(({ field, wireName }) => [field, String(provider[wireName])]);
    // The one field that an entry has only if the record has it.
    const other = provider['prov_other_names'];
    const otherNames = typeof other === 'string' ? other : '';
    return { id: Number(provider['id']), ...Object.fromEntries(texts), otherNames } as ProviderRecord;
  });
}

// A piece of a record as somebody could type it, unfinished or with a slip.
function typedWord(random: () => number, records: readonly ProviderRecord[]): string {
  const record = pick(random, records);
  const text = record[pick(random, recordFields).field as 'lastName'] || record.directAddress;
  const characters = [...pick(random, text.split(/[ @:]/))];
  const at = Math.floor(random() * characters.length);
  const change = random();
  if (change < 0.3) characters.length = at + 1;
  else if (change < 0.4) characters.splice(at, 1);
  else if (change < 0.5) characters.splice(at, 0, 'e');
  else if (change < 0.6) characters.splice(at, 2, characters[at + 1] ?? '', characters[at] ?? '');
  return characters.join('');
}

async function compare(target: TestDirectory, name: string): Promise<void> {
  const records = await servedRecords(target);
  const random = createRandom(name);
  let found = 0;
  for (let round = 0; round < queriesPerState; round++) {
    const q = Array.from({ length: pick(random, [1, 1, 2, 3]) }, () => typedWord(random, records)).join(' ');
    const words = parseWords(q);
    if (words.length === 0 || q.length > 200) continue;
    const state = random() < 0.15 ? pick(random, ['MA', 'il', 'PR']) : undefined;
    const kind = random() < 0.1 ? pick(random, ['person', 'organization'] as const) : undefined;
    const asked = { q, limit: '50', ...(state !== undefined && { state }), ...(kind && { kind }) };
    const { text, status } = await target.get(
      `/provider-directory/v2/suggestions?${new URLSearchParams(asked).toString()}`,
    );
    assert.equal(status, 200, `${q}: ${text}`);
    const answer = JSON.parse(text) as SuggestionAnswer;
    const plain = suggestPlainly(records, {
      words,
      filters: state === undefined ? [] : [{ field: 'state', match: 'exact', value: state }],
      specialty: [],
      limit: 50,
      ...(kind && { kind }),
    });
    const label = `${name}: ${JSON.stringify(asked)}`;
    assert.deepEqual(
      [answer.totalCount, answer.misspelt],
      [String(plain.records.length), plain.isNear],
      label,
    );
    const states = Map.groupBy(plain.records, (record) => foldText(record.state).toUpperCase());
    for (const { value, count } of answer.facets.state) assert.equal(count, states.get(value)?.length, label);
    const fitting = new Set(plain.records.map(({ id }) => id));
    for (const { id } of answer.suggestions) assert.ok(fitting.has(id), label);
    const shown = new Set(answer.suggestions.flatMap(({ addresses }) => addresses.map(({ id }) => id)));
    const isAll = answer.suggestions.length < 50 && answer.suggestions.every((one) => one.addressCount <= 10);
    if (isAll) for (const id of fitting) assert.ok(shown.has(id), label);
    found += fitting.size > 0 ? 1 : 0;
  }
  assert.ok(found > queriesPerState / 3, `only ${found} queries find anything`);
}

test('equal after full loads, increments, a merge of sources, a source less, and a restart from the snapshot', async () => {
  const [base = [], more = [], others = []] = fc.sample(rowsArbitrary, { numRuns: 3, seed: 31 });
  const one = { sourceName: 'one' };
  await world.load(toCsv(base), 'full', one);
  await compare(world, 'full load');

  const removed = base.filter((_, index) => index % 3 === 0).map((row) => ({ ...row, action: 'remove' }));
  const changed = base
    .slice(1, 3)
    .map((row) => ({ ...row, prov_last_name: 'Changed', org_city: 'St. Louis' }));
  const added = more.map((row) => ({ ...row, serv_direct_addr: `new.${row.serv_direct_addr}` }));
  await world.load(toCsv([...removed, ...changed, ...added], ['action']), 'incremental', one);
  await compare(world, 'increment');

  // Some of them complete the records of the first source.
  const second = [...others, ...base.slice(0, 20).map((row) => ({ ...row, org_phone: '(303) 555-0177' }))];
  const unique = [...new Map(second.map((row) => [row.serv_direct_addr, row])).values()];
  await world.load(toCsv(unique), 'full', { sourceName: 'two' });
  await world.directory.refresh();
  await compare(world, 'merge');

  const again = await startTestDirectory({ sharesWith: world });
  try {
    await compare(again, 'restart');
  } finally {
    await again.close();
  }
  await removeSource(world, 'one');
  await world.directory.refresh();
  await compare(world, 'source less');
});
