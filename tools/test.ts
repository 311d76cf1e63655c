/**
 * The one test command: installs the peers that the tests need from Debian's packages where it may, runs the static
 * checks, then the tests of a tier. A test whose peer is missing is skipped, and the reason is printed.
 *
 * The quick tier is `npm test`, the full one `--full` (`npm run test:full`); `--rest` is what the full tier runs more than the quick one,
 * without the checks. `test-plan.ts` says which files are in which, and which of them run on PostgreSQL, too: on a server that is
 * started for the run. With patterns, the files that they match run on both engines, slow or not.
 *
 * Neighbors in a folder share a process, up to six (`test-plan.ts`), which loads and compiles what they import once: a quarter of the
 * processor's time. Two processes for each core run at a time, because they wait for about half of their time; the longest begin first.
 *
 * Each process has a limit (300 s, twice that for several files, more on a busy machine); one that does not end is killed with all that it has started, and its files
 * have failed. With `OPENHISP_REQUIRE_PEERS=1` a missing peer is a failure.
 *
 * Where no more than two processes failed, their files run once more, each in its own, which tells a fault of the program from a test that its
 * neighbors disturb. They have failed in any case.
 *
 * Usage: `node tools/test.ts [--full | --rest] [--no-install] [--no-check] [--times] [PATTERN…]`; `--times` prints a table of all files.
 */
import { randomInt } from 'node:crypto';
import { globSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { startPostgres, whyNoPostgres, type RunningPostgres } from '../test/support/postgres.ts';
import { runChecks } from './check.ts';
import { installPeers } from './install-peers.ts';
import { runTestFiles, type TestFileResult } from './run-test-file.ts';
import { collectErrors } from './write-error-docs.ts';
import {
  groupRuns,
  planRuns,
  readTestFile,
  runsAlone,
  type TestGroup,
  type Tier,
  type TestRun,
} from './test-plan.ts';

const root = path.resolve(import.meta.dirname, '..');
const patterns = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const has = (flag: string): boolean => process.argv.includes(flag);
const limitMs = 1000 * Number(process.env['OPENHISP_TEST_FILE_SECONDS'] ?? 300);
const filesAtOnce = 2 * os.availableParallelism();
const maxRunAgain = 2;
const compileCache = path.join(root, 'node_modules/.cache/openhisp-compiled');
const postgresLabel = ' on PostgreSQL';
const mayLackPeers = process.env['OPENHISP_REQUIRE_PEERS'] !== '1';
const tier: Tier = has('--rest') ? 'rest' : has('--full') ? 'full' : 'quick';
const seed = process.env['OPENHISP_TEST_SEED'] ?? String(randomInt(2 ** 31));

const missing = has('--no-install') ? [] : await installPeers();
if (missing.length > 0 && !mayLackPeers) {
  console.log('every peer is required here (OPENHISP_REQUIRE_PEERS)');
  process.exit(1);
}
const failedChecks = has('--no-check') || tier === 'rest' ? [] : await runChecks();
const hasPassed = await runTests();
if (failedChecks.length > 0) console.log(`checks that failed: ${failedChecks.join(', ')}`);
process.exitCode = failedChecks.length === 0 && hasPassed ? 0 : 1;

async function runTests(): Promise<boolean> {
  const wanted = patterns.length > 0 ? patterns : ['src/**/*.test.ts', 'test/**/*.test.ts'];
  const files = globSync(wanted, { cwd: root })
    .toSorted()
    .map((file) => readTestFile(root, file));
  const plan = planRuns(files, patterns.length > 0 ? 'full' : tier);
  const needing = files.filter(
    ({ file, needsBothEngines }) =>
      needsBothEngines || plan.runs.some((run) => run.file === file && run.onPostgres),
  );
  // The files run in separate process groups: a signal that ends this process must end them, too.
  const running = new Set<() => void>();
  const endAll = (): void => {
    for (const end of running) end();
  };
  process.once('exit', endAll);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1));
  const reason = needing.length === 0 ? undefined : whyNoPostgres();
  const postgres = needing.length === 0 || reason !== undefined ? undefined : await startPostgres();
  const kill = (): void => postgres?.kill();
  running.add(kill);
  console.log(`seed of the random tests: ${seed} (OPENHISP_TEST_SEED repeats it)`);
  const results = new Map<TestGroup, TestFileResult>();
  const runAll = async (runs: readonly TestRun[], atOnce: number): Promise<void> => {
    const left = [
      ...groupRuns(
        runs.filter(({ onPostgres }) => !onPostgres || postgres !== undefined),
        root,
      ),
    ];
    const runSome = async (): Promise<void> => {
      for (let run = left.shift(); run !== undefined; run = left.shift()) {
        const result = await runOne(run, postgres, running);
        results.set(run, result);
        process.stdout.write(result.output);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, runSome));
  };
  await runAll(
    plan.runs.filter(({ file }) => !runsAlone(file)),
    filesAtOnce,
  );
  await runAll(
    plan.runs.filter(({ file }) => runsAlone(file)),
    1,
  );
  const failed = [...results].filter(([, result]) => result.failed > 0);
  const again = failed.length <= maxRunAgain ? failed.filter(([, { hasHung }]) => !hasHung) : [];
  for (const run of again.flatMap(([{ onPostgres }, { failedFiles }]) =>
    failedFiles.map((file) => ({ files: [file], onPostgres })),
  )) {
    const { file, failed: failures } = await runOne(run, postgres, running);
    console.log(
      `\nrun again, alone: ${file}: ${failures === 0 ? 'passed, so its neighbors or the load disturb it: a fault of the test' : 'failed'}`,
    );
  }
  running.delete(kill);
  await postgres?.stop();
  process.stdout.write(summarize([...results.values()]));
  for (const line of plan.left) console.log(line);
  if (reason !== undefined) console.log(`${needing.length} test files were not run on PostgreSQL: ${reason}`);
  printCounts([...results.values()]);
  const codes = patterns.length > 0 || tier === 'rest' ? [] : await findUnprovoked([...results.values()]);
  if (codes.length > 0) console.log(`no test provokes: ${codes.join(', ')}`);
  const hasPassed = results.size > 0 && failed.length === 0 && codes.length === 0;
  return hasPassed && (reason === undefined || mayLackPeers);
}

async function runOne(
  { files, onPostgres }: TestGroup,
  postgres: RunningPostgres | undefined,
  running: Set<() => void>,
): Promise<TestFileResult> {
  let own: (() => void) | undefined;
  const onProcess = (end: (() => void) | undefined): void => {
    if (own !== undefined) running.delete(own);
    if (end !== undefined) running.add(end);
    own = end;
  };
  const others = files.length > 1 ? ` and ${files.length - 1} more` : '';
  return runTestFiles(files, {
    cwd: root,
    limitMs: files.length > 1 ? 2 * limitMs : limitMs,
    onProcess,
    label: `${files[0]}${others}${onPostgres ? postgresLabel : ''}`,
    env: {
      OPENHISP_TEST_TIER: tier === 'quick' ? 'quick' : 'full',
      OPENHISP_TEST_SEED: seed,
      // Hundreds of processes load the same modules: halves the time of each start.
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? compileCache,
      OPENHISP_TEST_ENGINE: onPostgres ? 'postgresql' : 'sqlite',
      // Also for tests of both engines at once.
      ...(postgres === undefined ? {} : { OPENHISP_TEST_POSTGRES: postgres.url }),
    },
  });
}

/** The refusal codes of lib/pki and lib/direct that no test has provoked. */
async function findUnprovoked(results: readonly TestFileResult[]): Promise<readonly string[]> {
  const provoked = new Set(results.flatMap(({ codes }) => codes));
  const all = (await collectErrors()).map(({ code }) => code);
  return all.filter((code) => /^(PKI|DIRECT)_/.test(code) && !provoked.has(code));
}

function sum(results: readonly TestFileResult[], of: (result: TestFileResult) => number): number {
  return results.reduce((total, result) => total + of(result), 0);
}

function summarize(results: readonly TestFileResult[]): string {
  const reasons = new Map<string, number>();
  for (const reason of results.flatMap(({ skipped }) => skipped))
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  const onPostgres = results.filter(({ file }) => file.endsWith(postgresLabel));
  const slowest = results
    .toSorted((a, b) => b.durationMs - a.durationMs)
    .slice(0, has('--times') ? results.length : 10);
  return [
    '',
    `${results.length} processes with test files, ${onPostgres.length} of them on PostgreSQL; slowest:`,
    ...slowest.map(
      ({ file, durationMs, cpuMs }) =>
        `${(durationMs / 1000).toFixed(1).padStart(7)} s ${(cpuMs / 1000).toFixed(1).padStart(6)} s of processor ${file}`,
    ),
    ...[...reasons].map(([reason, count]) => `skipped ${count}: ${reason}`),
    '',
  ].join('\n');
}

/** The last lines of a run. */
function printCounts(results: readonly TestFileResult[]): void {
  const onPostgres = results.filter(({ file }) => file.endsWith(postgresLabel));
  console.log(`on PostgreSQL: ${sum(onPostgres, ({ passed }) => passed)} passed`);
  console.log(
    `${sum(results, ({ passed }) => passed)} passed, ${sum(results, ({ failed }) => failed)} failed, ${sum(results, ({ skipped }) => skipped.length)} skipped`,
  );
}
