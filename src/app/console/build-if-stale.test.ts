import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { silentLog } from '../../core/index.ts';
import { buildIfStale } from './build-if-stale.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-build-'));
after(() => rmSync(folder, { recursive: true, maxRetries: 5 }));

test('without the development dependencies nothing is built, and one line says what is missing and where the remedy is', async () => {
  const warnings: { readonly text: string; readonly output: unknown }[] = [];
  const log = {
    ...silentLog,
    warn: ({ output }: { output?: unknown }, text: string) => void warnings.push({ text, output }),
  };
  const output = 'The development dependencies are not installed.';
  // The package contains no builder.
  await buildIfStale(log, { folder });
  assert.deepEqual(warnings, []);

  for (const name of ['tools', 'src/web', 'dist/console'])
    mkdirSync(path.join(folder, name), { recursive: true });
  writeFileSync(path.join(folder, 'tools/build-console.ts'), 'throw new Error("never run");');
  writeFileSync(path.join(folder, 'package-lock.json'), '{}');
  await buildIfStale(log, { folder });
  assert.deepEqual(warnings.splice(0), [{ text: 'the console is not built; it serves no screens', output }]);

  const page = path.join(folder, 'dist/console/index.html');
  writeFileSync(page, '');
  utimesSync(page, 1, 1);
  await buildIfStale(log, { folder });
  assert.deepEqual(warnings.splice(0), [
    { text: 'the console is older than its sources and was not built again', output },
  ]);

  const soon = Date.now() / 1000 + 60;
  utimesSync(page, soon, soon);
  await buildIfStale(log, { folder });
  assert.deepEqual(warnings, []);
});
