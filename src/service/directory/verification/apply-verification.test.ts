import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProviderRecord } from '../../../lib/provider-record/index.ts';
import {
  createIndexBuilder,
  createSearchPool,
  type FoundPage,
  type SharedIndexBytes,
} from '../../../lib/provider-index/index.ts';
import { systemClock } from '../../../core/index.ts';
import { randomDirectory } from '../../../../test/support/random-directory.ts';
import { shownStates, type AddressStates } from './address-states.ts';
import { createVerifiedSearch } from './apply-verification.ts';

function build(records: readonly ProviderRecord[]): SharedIndexBytes {
  const builder = createIndexBuilder();
  for (const record of records) builder.add(record);
  return builder.finish();
}

/** An address is verified or not by its length. */
const isTrusted = ({ directAddress }: Pick<ProviderRecord, 'directAddress'>): boolean =>
  directAddress.length % 2 === 0;

function countingStates(isEmpty = false): AddressStates & { asked: number } {
  const slots: string[] = [];
  const slotOf = (address: string): number => slots.push(address) - 1;
  return {
    asked: 0,
    isEmpty,
    names: shownStates,
    refresh: async () => {},
    slotOf,
    putSlots(addresses, from, found) {
      this.asked += found.length;
      for (let at = 0; at < found.length; at++) found[at] = slotOf(addresses.addressOf(from + at));
    },
    reserve: () => {},
    version: 0,
    monthOf: () => 0,
    rankOf: (slot) => (isTrusted({ directAddress: slots[slot] ?? '' }) ? 0 : shownStates.length - 1),
    read: () => ({ state: 'unverified', reason: '', checkedAt: undefined, processedMonth: undefined }),
  };
}

test('after changes only the addresses of changed rows are looked up again, and the results are those of all', async () => {
  const records = randomDirectory(31, 400).map((record, at) => ({
    ...record,
    directAddress: `a${at}@d.example`,
  }));
  const pool = createSearchPool({ threads: 0 });
  const states = countingStates();
  const verified = createVerifiedSearch(pool, states, systemClock);
  const search = (): Promise<FoundPage> =>
    verified.search(
      { filters: [], sort: [{ field: 'directAddress', isDescending: false }], offset: 0, limit: 1000 },
      { states: new Set(['trusted']), sort: undefined },
    );
  const expectOf = (now: readonly ProviderRecord[]): number[] =>
    now
      .filter(isTrusted)
      .toSorted((a, b) => (a.directAddress < b.directAddress ? -1 : 1))
      .map(({ id }) => id);
  const idsOf = ({ rows, index }: FoundPage): number[] => Array.from(rows, (row) => index.record(row).id);

  const bytes = build(records);
  await pool.swap(bytes);
  assert.deepEqual(idsOf(await search()), expectOf(records));
  assert.equal(states.asked, 400);
  for (let round = 1; round <= 3; round++) {
    const removed = records.slice(0, round * 10);
    const added = removed.map((record) => ({
      ...record,
      directAddress: `x${'x'.repeat(round)}${record.directAddress}`,
    }));
    await pool.swap(bytes, { added: build(added), removed: build(removed) });
    states.asked = 0;
    const now = [...records.slice(round * 10), ...added];
    const [one, other] = await Promise.all([search(), search()]);
    assert.deepEqual(idsOf(one), expectOf(now));
    assert.deepEqual(idsOf(other), expectOf(now));
    assert.equal(states.asked, added.length, `round ${round}`);
  }
  states.asked = 0;
  await pool.swap(build(records.slice(100)));
  assert.deepEqual(idsOf(await search()), expectOf(records.slice(100)));
  assert.equal(states.asked, 300);
  await pool.close();
});

test('after the index is prepared no address is looked up by a search; without a checked address nothing is prepared', async () => {
  const records = randomDirectory(32, 400);
  const pool = createSearchPool({ threads: 0 });
  const bytes = build(records);
  await pool.swap(bytes);
  for (const isEmpty of [false, true]) {
    const states = countingStates(isEmpty);
    const verified = createVerifiedSearch(pool, states, systemClock);
    await Promise.all([verified.prepare(bytes), verified.prepare(bytes)]);
    assert.equal(states.asked, isEmpty ? 0 : 400);
    const { totalCount } = await verified.search(
      { filters: [], sort: [], offset: 0, limit: 10 },
      { states: new Set(['trusted']), sort: undefined },
    );
    assert.equal(totalCount, records.filter(isTrusted).length);
    assert.equal(states.asked, 400);
  }
  await pool.close();
});
