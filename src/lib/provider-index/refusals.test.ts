import type { ProviderRecord } from '../provider-record/index.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { randomDirectory } from '../../../test/support/random-directory.ts';
import { createIndexBuilder, openIndex, ProviderIndexError, type ProviderQuery } from './index.ts';

const [record] = randomDirectory(1, 1) as [ProviderRecord];

function isCode(code: string): (error: unknown) => boolean {
  return (error) => error instanceof ProviderIndexError && error.code === code;
}

for (const [why, changes] of [
  ['an id that is no whole number', { id: 1.5 }],
  ['a negative id', { id: -1 }],
  ['a latitude over 90', { latitude: 90.1, longitude: 0 }],
  ['a longitude that is no number', { latitude: 0, longitude: Number.NaN }],
  ['a text beyond every limit', { street: 'x'.repeat(4001) }],
] as const) {
  test(`a record with ${why} is refused`, () => {
    assert.throws(() => createIndexBuilder().add({ ...record, ...changes }), isCode('INDEX_RECORD_INVALID'));
  });
}

test('half a pair of coordinates is refused', () => {
  const { longitude: _dropped, ...half } = { ...record, latitude: 1, longitude: 1 };
  assert.throws(() => createIndexBuilder().add(half), isCode('INDEX_RECORD_INVALID'));
});

for (const [why, changes] of [
  ['a negative offset', { offset: -1 }],
  ['a limit that is no whole number', { limit: 2.5 }],
  ['a center beyond the pole', { radius: { latitude: 91, longitude: 0, miles: 5 } }],
  ['a radius that is no number', { radius: { latitude: 0, longitude: 0, miles: Number.NaN } }],
] as const) {
  test(`a query with ${why} is refused`, () => {
    const index = openIndex(createIndexBuilder().finish());
    const query: ProviderQuery = { filters: [], sort: [], offset: 0, limit: 10, ...changes };
    assert.throws(() => index.search(query), isCode('INDEX_QUERY_INVALID'));
  });
}
