/** Every refusal code of the trust modules has a test that names it (house rule for lib/pki and lib/direct). */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { directErrors } from '../../src/lib/direct/index.ts';
import { pkiErrors } from '../../src/lib/pki/index.ts';

const root = path.resolve(import.meta.dirname, '../..');
const files = ['test/direct/**/*.test.ts', 'src/lib/pki/**/*.test.ts', 'src/lib/direct/**/*.test.ts'];

test('every PKI_ and DIRECT_ code is provoked somewhere', () => {
  const texts = files
    .flatMap((pattern) => globSync(pattern, { cwd: root }))
    .filter((file) => !file.endsWith(path.basename(import.meta.filename)))
    .map((file) => readFileSync(path.join(root, file), 'utf8'))
    .join('\n');
  const unnamed = [...Object.keys(pkiErrors), ...Object.keys(directErrors)].filter(
    (code) => !texts.includes(`'${code}'`),
  );
  assert.deepEqual(unnamed, []);
});
