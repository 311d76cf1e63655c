import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seed } from '../support/fast-check.ts';
import { fuzz, readCorpus } from './fuzz.ts';
import { x509Target } from './x509.ts';

for (const [file, bytes] of readCorpus('x509')) {
  test(`SEC-11: the certificate readers take ${file} and everything that begins like it`, async () => {
    assert.notEqual(await x509Target.run(bytes), '');
    for (let length = 0; length < bytes.length; length += 3)
      await x509Target.run(Buffer.from(bytes.subarray(0, length)));
  });
}

test('SEC-11: the certificate readers read thousands of damaged samples, and validate none of them', async () => {
  const { runs, outcomes } = await fuzz(x509Target, { runs: 4_000, seconds: 20, seed });
  assert.ok(runs > 0 && outcomes.size > 5, [...outcomes.keys()].join());
});
