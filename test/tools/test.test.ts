import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';

const root = path.resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-runner-'));
after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

function run(name: string, program: string): { status: number | null; lines: readonly string[] } {
  const file = path.join(folder, name);
  writeFileSync(file, `import { test } from 'node:test';\n${program}`);
  const words = ['tools/test.ts', '--no-install', '--no-check', file];
  const { status, stdout } = spawnSync(process.execPath, words, { cwd: root, encoding: 'utf8' });
  return { status, lines: stdout.trimEnd().split('\n') };
}

test('the last line of a run counts its tests', () => {
  const { status, lines } = run(
    'good.test.mjs',
    "test('a', () => {});\ntest('b', { skip: 'why' }, () => {});",
  );
  assert.equal(status, 0);
  assert.equal(lines.at(-1), '1 passed, 0 failed, 1 skipped');
  assert.ok(lines.some((line) => line.startsWith('seed of the random tests: ')));
});

test('a file that fails, and passes when it runs again alone, has failed', () => {
  const { status, lines } = run(
    'unsteady.test.mjs',
    `import { existsSync, writeFileSync } from 'node:fs';
test('a', () => {
  const mark = ${JSON.stringify(path.join(folder, 'mark'))};
  if (existsSync(mark)) return;
  writeFileSync(mark, '');
  throw new Error('the first time');
});`,
  );
  assert.equal(status, 1);
  assert.equal(lines.at(-1), '0 passed, 1 failed, 0 skipped');
  assert.ok(lines.some((line) => line.includes('run again, alone') && line.includes('passed')));
});
