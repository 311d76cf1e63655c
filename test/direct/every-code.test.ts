/** Each refusal code of lib/pki and lib/direct stands in a test that expects it (`refusedWith` compares code and words). */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { collectErrors } from '../../tools/write-error-docs.ts';

const root = path.resolve(import.meta.dirname, '../..');

test('every refusal code of lib/pki and lib/direct is provoked', async () => {
  const files = globSync('{test/direct/*.test.ts,src/lib/{pki,direct,smime}/**/*.test.ts}', { cwd: root });
  const tests = files.map((file) => readFileSync(path.join(root, file), 'utf8')).join('\n');
  const codes = (await collectErrors()).map(({ code }) => code).filter((code) => /^(PKI|DIRECT)_/.test(code));
  assert.ok(codes.length > 70, `only ${codes.length} codes found`);
  const missing = codes.filter((code) => !tests.includes(`'${code}'`));
  assert.deepEqual(missing, []);
});
