/**
 * The one test command: installs the peers that the tests need from Debian's packages where it may, runs the static
 * checks, then every test. A test whose peer is missing is skipped, and the reason is printed.
 *
 * Each file has a process of its own and a limit (300 s, more on a busy machine); a file that does not end is killed with all that it
 * has started, and has failed. With `OPENHISP_REQUIRE_PEERS=1` a missing peer is a failure.
 *
 * Usage: `node tools/test.ts [--no-install] [--no-check] [PATTERN…]`
 */
import { globSync } from 'node:fs';
import path from 'node:path';
import { runChecks } from './check.ts';
import { installPeers } from './install-peers.ts';
import { runTestFile, type TestFileResult } from './run-test-file.ts';

const root = path.resolve(import.meta.dirname, '..');
const patterns = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const has = (flag: string): boolean => process.argv.includes(flag);
const limitMs = 1000 * Number(process.env['OPENHISP_TEST_FILE_SECONDS'] ?? 300);
const filesAtOnce = 2;

const missing = has('--no-install') ? [] : await installPeers();
if (missing.length > 0 && process.env['OPENHISP_REQUIRE_PEERS'] === '1') {
  console.log('every peer is required here (OPENHISP_REQUIRE_PEERS)');
  process.exit(1);
}
const failedChecks = has('--no-check') ? [] : runChecks();
const hasPassed = await runTests(patterns.length > 0 ? patterns : ['src/**/*.test.ts', 'test/**/*.test.ts']);
if (failedChecks.length > 0) console.log(`checks that failed: ${failedChecks.join(', ')}`);
process.exitCode = failedChecks.length === 0 && hasPassed ? 0 : 1;

async function runTests(wanted: readonly string[]): Promise<boolean> {
  const files = globSync([...wanted], { cwd: root }).sort();
  const waiting = [...files];
  const results: TestFileResult[] = [];
  // The files are in process groups of their own: what ends this one must end them.
  const running = new Set<() => void>();
  const endAll = (): void => {
    for (const end of running) end();
  };
  process.once('exit', endAll);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1));
  const runSome = async (): Promise<void> => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      let own: (() => void) | undefined;
      const onProcess = (end: (() => void) | undefined): void => {
        if (own !== undefined) running.delete(own);
        if (end !== undefined) running.add(end);
        own = end;
      };
      const result = await runTestFile(file, { cwd: root, limitMs, onProcess });
      results.push(result);
      process.stdout.write(result.output);
    }
  };
  await Promise.all(Array.from({ length: filesAtOnce }, runSome));
  process.stdout.write(summarize(results));
  return results.length > 0 && results.every(({ failed }) => failed === 0);
}

function summarize(results: readonly TestFileResult[]): string {
  const total = (of: (result: TestFileResult) => number): number =>
    results.reduce((sum, result) => sum + of(result), 0);
  const reasons = new Map<string, number>();
  for (const reason of results.flatMap(({ skipped }) => skipped))
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  const slowest = results.toSorted((a, b) => b.durationMs - a.durationMs).slice(0, 3);
  return [
    '',
    `${results.length} test files; slowest: ${slowest.map(({ file, durationMs }) => `${file} ${Math.round(durationMs / 1000)} s`).join(', ')}`,
    ...[...reasons].map(([reason, count]) => `skipped ${count}: ${reason}`),
    `${total(({ passed }) => passed)} passed, ${total(({ failed }) => failed)} failed, ${total(({ skipped }) => skipped.length)} skipped`,
    '',
  ].join('\n');
}
