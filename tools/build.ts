/**
 * Compiles `src/` to JavaScript with declarations in `dist/`, and the console's front end to `dist/console/`, for the published
 * package: Node does not run TypeScript inside `node_modules`. In a checkout nothing needs to be built, so `pack.ts` removes `dist/`.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..');

export function removeBuilt(): void {
  rmSync(path.join(root, 'dist'), { recursive: true, force: true });
}

export async function build(): Promise<void> {
  removeBuilt();
  const compiled = spawnSync('tsc', ['-p', 'tsconfig.build.json'], {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      PATH: `${path.join(root, 'node_modules/.bin')}${path.delimiter}${process.env['PATH'] ?? ''}`,
    },
  });
  if (compiled.status !== 0) throw new Error('the sources do not compile');
  // Data files are next to the code that reads them.
  for (const file of globSync('src/**/*', { cwd: root, exclude: ['src/web/**'] })) {
    if (/\.tsx?$/.test(file) || statSync(path.join(root, file)).isDirectory()) continue;
    cpSync(path.join(root, file), path.join(root, 'dist', file));
  }
  await import('./build-console.ts');
}
