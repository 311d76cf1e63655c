/**
 * Makes the package to publish, `openhisp-VERSION.tgz`: builds `dist/`, packs it from a copy of the files that belong to it, and
 * removes `dist/`. The copy has `npm-shrinkwrap.json`, the lock file without the packages for development, so that `npm ci` in its
 * folder installs what the bill of materials lists; as a dependency of another program it gets what npm chooses there. `npm pack` itself would run no build, because `.npmrc` keeps npm from running scripts; it is
 * refused by `.npmrc`, and `npm publish` by `private`, which the copy has not.
 *
 * Usage: `npm run pack [-- FOLDER]`, by default into this one.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { build, removeBuilt } from './build.ts';

const root = path.resolve(import.meta.dirname, '..');

interface Manifest {
  readonly files: readonly string[];
  readonly [field: string]: unknown;
}

interface LockFile {
  readonly packages: Readonly<Record<string, { readonly dev?: true; readonly devDependencies?: unknown }>>;
  readonly [field: string]: unknown;
}

export async function pack(folder: string): Promise<void> {
  const copy = mkdtempSync(path.join(tmpdir(), 'openhisp-pack-'));
  try {
    await build();
    declare();
    const { private: _, scripts: __, devDependencies: ___, ...manifest } = readJson<Manifest>('package.json');
    const files = [...manifest.files, 'npm-shrinkwrap.json'];
    const { packages, ...lock } = readJson<LockFile>('package-lock.json');
    const { devDependencies: ____, ...self } = packages[''] ?? {};
    const needed = Object.entries(packages).filter(([place, { dev }]) => place !== '' && dev !== true);
    const shrinkwrap = { ...lock, packages: Object.fromEntries([['', self], ...needed]) };
    for (const file of globSync([...manifest.files], { cwd: root }))
      cpSync(path.join(root, file), path.join(copy, file), { recursive: true });
    for (const [name, content] of Object.entries({
      'package.json': { ...manifest, files },
      'npm-shrinkwrap.json': shrinkwrap,
    }))
      writeFileSync(path.join(copy, name), `${JSON.stringify(content, null, 2)}\n`);
    const words = ['pack', '--offline', '--pack-destination', folder, '--loglevel', 'error'];
    const packed = spawnSync('npm', words, { cwd: copy, stdio: 'inherit' });
    if (packed.status !== 0) throw new Error('npm did not pack');
  } finally {
    removeBuilt();
    rmSync(copy, { recursive: true, force: true });
  }
}

const readJson = <T>(name: string): T => JSON.parse(readFileSync(path.join(root, name), 'utf8')) as T;

/** The declarations of the exported libraries. */
function declare(): void {
  const compiled = spawnSync('tsc', ['-p', 'tsconfig.build.json'], {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      PATH: `${path.join(root, 'node_modules/.bin')}${path.delimiter}${process.env['PATH'] ?? ''}`,
    },
  });
  if (compiled.status !== 0) throw new Error('the sources do not compile');
}

if (import.meta.main) await pack(path.resolve(process.argv[2] ?? '.'));
