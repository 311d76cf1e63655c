/**
 * Runs the static checks, one for each core at a time: types, lint, format, imports, citations and generated documents. Prints the
 * failures; exits 1.
 *
 * Usage: `node tools/check.ts`
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..');

const checks: readonly (readonly [name: string, command: string, args: readonly string[]])[] = [
  ['types', 'tsc', ['-p', '.']],
  ['lint', 'oxlint', ['--type-aware']],
  ['types of the console', 'tsc', ['-p', 'src/web']],
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
export async function runChecks(): Promise<readonly string[]> {
  const failed: string[] = [];
  const left = [...checks];
  const runSome = async (): Promise<void> => {
    for (let check = left.shift(); check !== undefined; check = left.shift())
      if (!(await passes(check))) failed.push(check[0]);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, runSome));
  return failed;
}

async function passes([name, command, args]: (typeof checks)[number]): Promise<boolean> {
  const startedAt = Date.now();
  const folder = path.join(root, 'node_modules/.bin');
  const env = { ...process.env, PATH: `${folder}${path.delimiter}${process.env['PATH'] ?? ''}` };
  const { promise, resolve } = Promise.withResolvers<boolean>();
  execFile(command, args, { cwd: root, env, maxBuffer: Infinity }, (error, stdout, stderr) => {
    const took = ((Date.now() - startedAt) / 1000).toFixed(1);
    console.log(`check: ${name} ${error === null ? 'ok' : 'FAILED'} (${took} s)`);
    if (error !== null) console.log(`${stdout}${stderr}${error.message}`);
    resolve(error === null);
  });
  return promise;
}

if (
  process.argv[1] !== undefined &&
  existsSync(process.argv[1]) &&
  path.resolve(process.argv[1]) === import.meta.filename
) {
  process.exitCode = (await runChecks()).length === 0 ? 0 : 1;
}
