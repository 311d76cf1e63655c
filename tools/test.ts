/**
 * The one test command: installs the peers that the tests need from Debian's packages where it may, runs the static
 * checks, then every test. A test whose peer is missing is skipped, and the reason is printed.
 *
 * With `OPENHISP_REQUIRE_PEERS=1` a missing peer is a failure.
 *
 * Usage: `node tools/test.ts [--no-install] [--no-check] [PATTERN…]`
 */
import { spawn } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { startPostgres, whyNoPostgres } from '../test/support/postgres.ts';
import { runChecks } from './check.ts';
import { installPeers } from './install-peers.ts';

const root = path.resolve(import.meta.dirname, '..');
const storageHelper = path.join(root, 'test/support/storage.ts');
const patterns = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const has = (flag: string): boolean => process.argv.includes(flag);

const missing = has('--no-install') ? [] : await installPeers();
if (missing.length > 0 && process.env['OPENHISP_REQUIRE_PEERS'] === '1') {
  console.log('every peer is required here (OPENHISP_REQUIRE_PEERS)');
  process.exit(1);
}
const failedChecks = has('--no-check') ? [] : runChecks();
const files = patterns.length > 0 ? patterns : ['src/**/*.test.ts', 'test/**/*.test.ts'];
const testStatus = (await runTests(files)) || (await runOnPostgres(files));
if (failedChecks.length > 0) console.log(`checks that failed: ${failedChecks.join(', ')}`);
process.exitCode = failedChecks.length === 0 && testStatus === 0 ? 0 : 1;

/** Every test that opens a storage runs a second time, on PostgreSQL. */
async function runOnPostgres(globs: readonly string[]): Promise<number> {
  const reason = whyNoPostgres();
  if (reason !== undefined) {
    console.log(`the tests of storage were not run on PostgreSQL: ${reason}`);
    return process.env['OPENHISP_REQUIRE_PEERS'] === '1' ? 1 : 0;
  }
  const found = globs
    .flatMap((glob) => globSync(glob, { cwd: root }))
    .map((file) => path.resolve(root, file));
  const opening = [...new Set(found)].filter((file) => reaches(file, storageHelper, new Set()));
  if (opening.length === 0) return 0;
  console.log(`on PostgreSQL: ${opening.length} files`);
  const server = await startPostgres();
  try {
    return await runTests(opening, {
      OPENHISP_TEST_ENGINE: 'postgresql',
      OPENHISP_TEST_POSTGRES: server.url,
    });
  } finally {
    await server.stop();
  }
}

/** True if a file imports another one, directly or through others. */
function reaches(file: string, target: string, seen: Set<string>): boolean {
  if (file === target) return true;
  if (seen.has(file) || !existsSync(file)) return false;
  seen.add(file);
  const imports = readFileSync(file, 'utf8').matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+\.ts)'/g);
  return [...imports].some(([, name]) => reaches(path.resolve(path.dirname(file), name ?? ''), target, seen));
}

async function runTests(files: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<number> {
  const child = spawn(
    process.execPath,
    [
      '--test',
      '--test-concurrency=2',
      '--test-timeout=300000',
      `--test-reporter=${path.join(root, 'tools/test-reporter.ts')}`,
      '--test-reporter-destination=stdout',
      ...files,
    ],
    { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } },
  );
  return new Promise((resolve) => child.once('close', (status) => resolve(status ?? 1)));
}
