/** Runs every program in examples/ as its reader would, and looks for what it says that it found. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

const folder = path.join(import.meta.dirname, '../../examples');

const expected: Readonly<Record<string, readonly RegExp[]>> = {
  'discover-recipient.ts': [
    /^bob@.*: usable \(dns-address found\)$/m,
    /^nobody@.*: refused, no-certificate/m,
  ],
  'mdn.ts': [/^bob@direct\.beta\.example: processed, of <1@direct\.alpha\.example>$/m],
  'seal-and-open.ts': [/^on the wire: application\/pkcs7-mime/m, /^Referral: Please see the patient\.$/m],
  'search-index.ts': [/2 found: Smith in Chicago; Smithers in Evanston$/m, /2 found: Smith.*Jones/m],
  'verify-signed-message.ts': [/^path of 2 certificates, bound to the address$/m, /^changed: SMIME_/m],
  'xdm-package.ts': [/Went home well\.$/m, /warnings: none$/m],
};

test('every example is listed here', () => {
  const files = readdirSync(folder).filter((name) => name.endsWith('.ts') && name !== 'support.ts');
  assert.deepEqual(files.toSorted(), Object.keys(expected));
});

for (const [file, patterns] of Object.entries(expected)) {
  test(`the example ${file}`, async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [path.join(folder, file)]);
    for (const pattern of patterns) assert.match(stdout, pattern);
  });
}
