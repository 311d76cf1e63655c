/** No input makes a parser hold memory out of proportion: the table in docs/capacity.md, measured. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { createTemporaryFolder } from '../support/processes.ts';
import { hostileInputs } from './hostile-inputs.ts';

const run = promisify(execFile);
const child = path.join(import.meta.dirname, 'parser-child.ts');
const needsProc = { skip: process.platform === 'linux' ? false : 'needs /proc' };
const mostBytes = 250_000_000;

test(`each parser takes less than ${mostBytes / 1e6} MB for its worst input`, needsProc, async (t) => {
  const folder = await createTemporaryFolder('parsers');
  t.after(() => folder.remove());
  const file = path.join(folder.path, 'input');
  const beyond: string[] = [];
  for (const [name, { make }] of Object.entries(hostileInputs)) {
    writeFileSync(file, make());
    const { stdout } = await run(process.execPath, ['--expose-gc', child, name, file]);
    const { inputBytes, outcome, tookMs, heldBytes } = JSON.parse(stdout) as Record<string, number>;
    const mb = (bytes = 0): string => `${(bytes / 1e6).toFixed(1)} MB`;
    t.diagnostic(`${name}: ${mb(inputBytes)}, ${outcome}, ${tookMs} ms, ${mb(heldBytes)}`);
    if ((heldBytes ?? Infinity) >= mostBytes) beyond.push(`${name}: ${mb(heldBytes)}`);
  }
  assert.deepEqual(beyond, []);
});
