import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fc } from '../../../../test/support/fast-check.ts';
import { hashRequest } from './hash-request.ts';

describe('Decision 0009: two bodies are the same if they are the same JSON value', () => {
  it('for every order of members', async () => {
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue()), async (value) => {
        const reversed = Object.fromEntries(Object.entries(value).toReversed());
        assert.equal(await hashRequest('c', value), await hashRequest('c', reversed));
      }),
      { numRuns: 100 },
    );
  });

  it('different values have different hashes, and so have two clients', async () => {
    const long = 'x'.repeat(600_000);
    const values = [
      null,
      true,
      'true',
      1,
      '1',
      [],
      {},
      [1],
      ['1'],
      [[1]],
      ['a', 'b'],
      ['ab'],
      { a: 'b' },
      { ab: '' },
      { a: null },
      {},
      [null],
      long,
      `${long}y`,
      { a: long },
    ];
    const hashes = await Promise.all(values.map((value) => hashRequest('c', value)));
    assert.equal(new Set(hashes).size, new Set(values.map((value) => JSON.stringify(value))).size);
    assert.notEqual(await hashRequest('c', 'a'), await hashRequest('d', 'a'));
  });
});
