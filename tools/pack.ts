/**
 * Makes the package to publish, `openhisp-VERSION.tgz`: builds `dist/`, packs it from a copy of the files that belong to it, and
 * removes `dist/`. `npm pack` itself would run no build, because `.npmrc` keeps npm from running scripts; it is refused by `.npmrc`,
 * and `npm publish` by `private`, which the copy has not.
 *
 * Usage: `npm run pack [-- FOLDER]`, by default into this one.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { build, removeBuilt } from './build.ts';

const root = path.resolve(import.meta.dirname, '..');

export async function pack(folder: string): Promise<void> {
  const copy = mkdtempSync(path.join(tmpdir(), 'openhisp-pack-'));
  try {
    await build();
    const text = readFileSync(path.join(root, 'package.json'), 'utf8');
    const {
      private: _,
      scripts: __,
      devDependencies: ___,
      ...manifest
    } = JSON.parse(text) as {
      readonly files: readonly string[];
      readonly [field: string]: unknown;
    };
    for (const file of globSync([...manifest.files], { cwd: root }))
      cpSync(path.join(root, file), path.join(copy, file), { recursive: true });
    writeFileSync(path.join(copy, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
    const words = ['pack', '--offline', '--pack-destination', folder, '--loglevel', 'error'];
    const packed = spawnSync('npm', words, { cwd: copy, stdio: 'inherit' });
    if (packed.status !== 0) throw new Error('npm did not pack');
  } finally {
    removeBuilt();
    rmSync(copy, { recursive: true, force: true });
  }
}

if (import.meta.main) await pack(path.resolve(process.argv[2] ?? '.'));
