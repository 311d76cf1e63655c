#!/usr/bin/env node
// The sources are TypeScript that Node runs by itself from 22.18 on. On a machine whose own Node is older, the copy that
// npm has installed beside this package takes over.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
const isNewEnough = major > 22 || (major === 22 && minor >= 18);
const root = path.resolve(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), '..');
const bundled = path.join(root, 'node_modules/.bin/node');

if (isNewEnough) {
  const built = path.join(root, 'dist/src/app/cli/main.js');
  const source = path.join(root, 'src/app/cli/main.ts');
  await import(existsSync(source) ? source : built);
} else if (existsSync(bundled)) {
  const result = spawnSync(
    bundled,
    [import.meta.filename ?? new URL(import.meta.url).pathname, ...process.argv.slice(2)],
    { stdio: 'inherit' },
  );
  process.exitCode = result.status ?? 1;
} else {
  console.error(`openhisp needs Node 22.18 or newer; this is ${process.versions.node}.`);
  process.exitCode = 1;
}
