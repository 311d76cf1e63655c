/**
 * Builds `dist/` for the published package and the image: `dist/program/`, the program and the exported libraries in a few files that
 * load in a third of the time of their modules; `dist/console/`, the console's front end. Node does not run TypeScript inside
 * `node_modules`. In a checkout nothing needs to be built, so `pack.ts`, which adds declarations, removes `dist/`.
 *
 * Usage: `node tools/build.ts`
 */
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build as bundle } from 'esbuild';
import packageJson from '../package.json' with { type: 'json' };

const root = path.resolve(import.meta.dirname, '..');
const output = path.join(root, 'dist/program');
/** Packages of hundreds of small modules, which nearly every command loads. */
const included = { kysely: 'LICENSE', jose: 'LICENSE.md' };

export function removeBuilt(): void {
  rmSync(path.join(root, 'dist'), { recursive: true, force: true });
}

export async function build(): Promise<void> {
  removeBuilt();
  await bundle({
    absWorkingDir: root,
    entryPoints: listEntries(),
    outdir: output,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node22.18',
    packages: 'external',
    legalComments: 'none',
    logLevel: 'warning',
    plugins: [
      {
        // A module of ours does nothing when it is loaded, so one of which nothing is used is left out.
        name: 'modules without effects',
        setup({ onResolve }) {
          for (const name of Object.keys(included))
            onResolve({ filter: new RegExp(`^${name}$`) }, () => ({
              path: fileURLToPath(import.meta.resolve(name)),
              sideEffects: false,
            }));
          onResolve({ filter: /^\./ }, ({ path: name, resolveDir, kind }) =>
            kind === 'entry-point' ? undefined : { path: path.resolve(resolveDir, name), sideEffects: false },
          );
        },
      },
    ],
  });
  const licenses = Object.entries(included).map(
    ([name, file]) => `${name}\n\n${readFileSync(path.join(root, 'node_modules', name, file), 'utf8')}`,
  );
  writeFileSync(path.join(output, 'licenses.txt'), licenses.join('\n'));
  // Data files are next to the code that reads them, and so are threads: all of it is in one folder.
  for (const folder of globSync('src/**/data', { cwd: root }))
    cpSync(path.join(root, folder), path.join(output, 'data'), { recursive: true });
  await import('./build-console.ts');
}

/** The command line, what it runs in threads and processes, and the libraries that the package exports, by name. */
function listEntries(): Readonly<Record<string, string>> {
  const entries: Record<string, string> = { main: 'src/app/cli/main.ts' };
  for (const file of globSync('src/**/*.ts', { cwd: root })) {
    const text = readFileSync(path.join(root, file), 'utf8');
    for (const [, name = ''] of text.matchAll(/threadScript\('([^']+)', import\.meta\.url\)/g))
      add(name, path.join(path.dirname(file), `${name}.ts`));
  }
  for (const one of Object.values(packageJson.exports))
    if (typeof one === 'object')
      add(
        path.basename(one.default, '.js'),
        one.types.replace('./dist/types', 'src').replace('.d.ts', '.ts'),
      );
  return entries;

  function add(name: string, file: string): void {
    if (entries[name] !== undefined)
      throw new Error(`${entries[name]}, ${file}: one name for two built files`);
    entries[name] = file;
  }
}

if (import.meta.main) await build();
