import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seed } from '../support/fast-check.ts';
import { fuzz, readCorpus } from './fuzz.ts';
import { mdnTarget } from './mdn.ts';
import { mimeTarget } from './mime.ts';
import { xdmTarget } from './xdm.ts';

for (const target of [mimeTarget, mdnTarget, xdmTarget]) {
  for (const [file, bytes] of readCorpus(target.name)) {
    test(`SEC-11: the ${target.name} reader takes ${file} and everything that begins like it`, async () => {
      assert.notEqual(await target.run(bytes), '');
      const step = Math.max(1, Math.floor(bytes.length / 100));
      for (let length = 0; length < bytes.length; length += step)
        await target.run(Buffer.from(bytes.subarray(0, length)));
    });
  }

  test(`SEC-11: the ${target.name} reader takes hundreds of damaged samples`, async () => {
    const { runs, outcomes } = await fuzz(target, { runs: 600, seconds: 20, seed });
    assert.ok(runs > 0 && outcomes.size > 1);
  });
}
