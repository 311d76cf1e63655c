/**
 * The one test command: installs the peers that the tests need from Debian's packages where it may, runs the static
 * checks, then every test. A test whose peer is missing is skipped, and the reason is printed.
 *
 * With `OPENHISP_REQUIRE_PEERS=1` a missing peer is a failure.
 *
 * Usage: `node tools/test.ts [--no-install] [--no-check] [PATTERN…]`
 */
import { spawn } from 'node:child_process';
import path from 'node:path';
import { runChecks } from './check.ts';
import { installPeers } from './install-peers.ts';

const root = path.resolve(import.meta.dirname, '..');
const patterns = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const has = (flag: string): boolean => process.argv.includes(flag);

const missing = has('--no-install') ? [] : await installPeers();
if (missing.length > 0 && process.env['OPENHISP_REQUIRE_PEERS'] === '1') {
  console.log('every peer is required here (OPENHISP_REQUIRE_PEERS)');
  process.exit(1);
}
const failedChecks = has('--no-check') ? [] : runChecks();
const testStatus = await runTests(patterns.length > 0 ? patterns : ['src/**/*.test.ts', 'test/**/*.test.ts']);
if (failedChecks.length > 0) console.log(`checks that failed: ${failedChecks.join(', ')}`);
process.exitCode = failedChecks.length === 0 && testStatus === 0 ? 0 : 1;

async function runTests(files: readonly string[]): Promise<number> {
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
    { cwd: root, stdio: 'inherit' },
  );
  return new Promise((resolve) => child.once('close', (status) => resolve(status ?? 1)));
}
