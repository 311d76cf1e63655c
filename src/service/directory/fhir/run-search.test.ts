import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createIndexBuilder,
  createSearchPool,
  findEntities,
  type ProviderIndex,
  type SharedIndexBytes,
} from '../../../lib/provider-index/index.ts';
import { randomDirectory } from '../../../../test/support/random-directory.ts';
import { createResourceSearch, type ResourceSearch } from './run-search.ts';

const seed = { low: 1, high: 2 };
const times = { ownChange: 0, earliestChange: 0 };

function build(random: number): Pick<ProviderIndex, 'bytes' | 'times'> {
  const builder = createIndexBuilder();
  for (const record of randomDirectory(random, 50)) builder.add(record);
  const bytes: SharedIndexBytes = builder.finish();
  return { bytes, times };
}

/** The number of the table of organizations that a search uses: later tables have higher ones. */
async function tableOf(search: ResourceSearch): Promise<number> {
  const { distinct, totalCount } = await search.find('Organization', [], { offset: 0, limit: 1 });
  assert.ok(totalCount > 0);
  assert.ok(distinct?.kind === 'organization');
  return distinct.entities.version;
}

test('organizations of a new index are found before it comes into service, if a search has ever needed any', async () => {
  const pool = createSearchPool({ threads: 0 });
  const search = createResourceSearch(pool, seed, undefined);
  const [first, second] = [build(41), build(42)];
  await search.prepare(first);
  await pool.swap(first.bytes);
  const { version: unneeded } = await findEntities(first, seed);
  const own = await tableOf(search);
  assert.ok(own > unneeded, 'no table is made that nobody needs');

  await Promise.all([search.prepare(second), search.prepare(second)]);
  const { version: later } = await findEntities(second, seed);
  assert.equal(await tableOf(search), own, 'the old index answers with its table');
  await pool.swap(second.bytes);
  const prepared = await tableOf(search);
  assert.ok(prepared > own && prepared < later, 'the first search finds the table made');
  await pool.close();
});
