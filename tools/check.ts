/**
 * Runs the static checks: types, lint, format, imports, citations and generated documents. Prints the failures; exits 1.
 *
 * Usage: `node tools/check.ts`
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..');

const checks: readonly (readonly [name: string, command: string, args: readonly string[]])[] = [
  ['types', 'tsc', ['-p', '.']],
  ['types of the console', 'tsc', ['-p', 'src/web']],
  ['lint', 'oxlint', ['--type-aware']],
  ['format', 'oxfmt', ['--check', '.']],
  ['imports', 'node', ['tools/check-imports.ts']],
  ['signs of folders', 'node', ['tools/check-folders.ts']],
  ['widths of comments', 'node', ['tools/check-comments.ts']],
  ['unused code', 'knip', []],
  ['citations', 'node', ['tools/check-citations.ts']],
  ['configuration page', 'node', ['tools/write-config-docs.ts', '--check']],
  ['error documents', 'node', ['tools/write-error-docs.ts', '--check']],
];

/** Runs every check and returns the names of those that failed. */
export function runChecks(): readonly string[] {
  const failed: string[] = [];
  for (const [name, command, args] of checks) {
    const startedAt = Date.now();
    const result = spawnSync(command, args, {
      cwd: root,
      encoding: 'utf8',
      env: {
        ...process.env,
        PATH: `${path.join(root, 'node_modules/.bin')}${path.delimiter}${process.env['PATH'] ?? ''}`,
      },
    });
    const isGood = result.status === 0;
    console.log(
      `check: ${name} ${isGood ? 'ok' : 'FAILED'} (${((Date.now() - startedAt) / 1000).toFixed(1)} s)`,
    );
    if (isGood) continue;
    failed.push(name);
    console.log(`${result.stdout ?? ''}${result.stderr ?? ''}${result.error?.message ?? ''}`);
  }
  return failed;
}

if (
  process.argv[1] !== undefined &&
  existsSync(process.argv[1]) &&
  path.resolve(process.argv[1]) === import.meta.filename
) {
  process.exitCode = runChecks().length === 0 ? 0 : 1;
}
