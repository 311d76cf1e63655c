/**
 * The one test command: installs the peers that the tests need from Debian's packages where it may, runs the static
 * checks, then every test. A test whose peer is missing is skipped, and the reason is printed.
 *
 * A file that opens a database through `test/support/storage.ts`, directly or through what it imports, runs twice: on SQLite and on a
 * PostgreSQL server that is started for the run.
 *
 * One file more than there are cores runs at a time, because most of them wait now and then; those that take longest begin first, and
 * those that measure what the machine gives run alone at the end.
 *
 * Each file has its own process and a limit (300 s, more on a busy machine); a file that does not end is killed with all that it
 * has started, and has failed. With `OPENHISP_REQUIRE_PEERS=1` a missing peer is a failure.
 *
 * Where no more than two runs of files failed, they run once more, alone. A file that then passes was disturbed by its neighbours or by
 * the machine: it counts as passed, its failure stays printed, and the closing lines name it as unsteady. Unsteady files are
 * faults of the tests, to be repaired. A file that hung, or that left processes behind, is not run again: it has failed.
 *
 * Usage: `node tools/test.ts [--no-install] [--no-check] [PATTERN…]`
 */
import { existsSync, globSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { startPostgres, whyNoPostgres, type RunningPostgres } from '../test/support/postgres.ts';
import { runChecks } from './check.ts';
import { installPeers } from './install-peers.ts';
import { runTestFile, type TestFileResult } from './run-test-file.ts';

const root = path.resolve(import.meta.dirname, '..');
const patterns = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const has = (flag: string): boolean => process.argv.includes(flag);
const limitMs = 1000 * Number(process.env['OPENHISP_TEST_FILE_SECONDS'] ?? 300);
const filesAtOnce = os.availableParallelism() + 1;
/** Begin first, the longest in front, so that none of them runs alone at the end. A file missing here costs only time. */
const longFiles = [
  'test/system/kills.int.test.ts',
  'test/system/database-faults.int.test.ts',
  'test/system/faults.int.test.ts',
  'test/system/two-nodes.int.test.ts',
  'test/system/power-loss.int.test.ts',
  'test/system/rolling-upgrade.int.test.ts',
];
/** Compare times or rates with each other, which neighbours would disturb. */
const measuringFiles = ['test/admission/overload.int.test.ts', 'test/admission/memory.int.test.ts'];
const maxRunAgain = 2;
const storageSupport = path.join(root, 'test/support/storage.ts');
const compileCache = path.join(root, 'node_modules/.cache/openhisp-compiled');
const postgresLabel = ' on PostgreSQL';
const mayLackPeers = process.env['OPENHISP_REQUIRE_PEERS'] !== '1';

const missing = has('--no-install') ? [] : await installPeers();
if (missing.length > 0 && !mayLackPeers) {
  console.log('every peer is required here (OPENHISP_REQUIRE_PEERS)');
  process.exit(1);
}
const failedChecks = has('--no-check') ? [] : runChecks();
const hasPassed = await runTests(patterns.length > 0 ? patterns : ['src/**/*.test.ts', 'test/**/*.test.ts']);
if (failedChecks.length > 0) console.log(`checks that failed: ${failedChecks.join(', ')}`);
process.exitCode = failedChecks.length === 0 && hasPassed ? 0 : 1;

interface TestRun {
  readonly file: string;
  readonly onPostgres: boolean;
}

async function runTests(wanted: readonly string[]): Promise<boolean> {
  const files = globSync([...wanted], { cwd: root }).sort();
  const opening = files.filter((file) => reaches(path.join(root, file), storageSupport));
  // The files run in separate process groups: a signal that ends this process must end them, too.
  const running = new Set<() => void>();
  const endAll = (): void => {
    for (const end of running) end();
  };
  process.once('exit', endAll);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1));
  const reason = opening.length === 0 ? undefined : whyNoPostgres();
  const postgres = opening.length === 0 || reason !== undefined ? undefined : await startPostgres();
  const kill = (): void => postgres?.kill();
  running.add(kill);
  const waiting: TestRun[] = files.flatMap((file) => [
    { file, onPostgres: false },
    ...(postgres !== undefined && opening.includes(file) && !usesBoth(file)
      ? [{ file, onPostgres: true }]
      : []),
  ]);
  const results = new Map<TestRun, TestFileResult>();
  const runAll = async (runs: readonly TestRun[], atOnce: number): Promise<void> => {
    const left = runs.toSorted((a, b) => orderOf(a) - orderOf(b));
    const runSome = async (): Promise<void> => {
      for (let run = left.shift(); run !== undefined; run = left.shift()) {
        const result = await runOne(run, postgres, running);
        results.set(run, result);
        process.stdout.write(result.output);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, runSome));
  };
  const isMeasuring = ({ file }: TestRun): boolean => measuringFiles.includes(file);
  await runAll(
    waiting.filter((run) => !isMeasuring(run)),
    filesAtOnce,
  );
  await runAll(waiting.filter(isMeasuring), 1);
  const unsteady: string[] = [];
  const failed = [...results].filter(([, result]) => result.failed > 0);
  if (failed.length <= maxRunAgain)
    for (const [run, { file, hasHung }] of failed) {
      if (hasHung) continue;
      const again = await runOne(run, postgres, running);
      process.stdout.write(`\nrun again, alone: ${file}: ${again.failed === 0 ? 'passed' : 'failed'}\n`);
      if (again.failed > 0) continue;
      results.set(run, again);
      unsteady.push(file);
    }
  running.delete(kill);
  await postgres?.stop();
  for (const file of unsteady) console.log(`unsteady: ${file} failed, and passed when it ran again alone`);
  process.stdout.write(summarize([...results.values()]));
  if (reason !== undefined) console.log(`${opening.length} test files were not run on PostgreSQL: ${reason}`);
  const hasPassed = results.size > 0 && [...results.values()].every(({ failed }) => failed === 0);
  return hasPassed && (reason === undefined || mayLackPeers);
}

async function runOne(
  { file, onPostgres }: TestRun,
  postgres: RunningPostgres | undefined,
  running: Set<() => void>,
): Promise<TestFileResult> {
  let own: (() => void) | undefined;
  const onProcess = (end: (() => void) | undefined): void => {
    if (own !== undefined) running.delete(own);
    if (end !== undefined) running.add(end);
    own = end;
  };
  return runTestFile(file, {
    cwd: root,
    limitMs,
    onProcess,
    label: onPostgres ? `${file}${postgresLabel}` : file,
    env: {
      // Hundreds of processes load the same modules: halves the time of each start.
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? compileCache,
      OPENHISP_TEST_ENGINE: onPostgres ? 'postgresql' : 'sqlite',
      // Also for tests of both engines at once.
      ...(postgres === undefined ? {} : { OPENHISP_TEST_POSTGRES: postgres.url }),
    },
  });
}

/** Place in the order of running; equal for all that are short. */
function orderOf({ file }: TestRun): number {
  const place = longFiles.indexOf(file);
  return place === -1 ? longFiles.length : place;
}

/** True for a file whose tests need both engines at once; one run of it is enough. */
function usesBoth(file: string): boolean {
  return readFileSync(path.join(root, file), 'utf8').includes('needsBothEngines(');
}

/** True if a file imports another one, directly or through others. */
function reaches(file: string, target: string, seen = new Set<string>()): boolean {
  if (file === target) return true;
  if (seen.has(file) || !existsSync(file)) return false;
  seen.add(file);
  const imports = readFileSync(file, 'utf8').matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+\.ts)'/g);
  return [...imports].some(([, name]) => reaches(path.resolve(path.dirname(file), name ?? ''), target, seen));
}

function summarize(results: readonly TestFileResult[]): string {
  const total = (of: (result: TestFileResult) => number): number =>
    results.reduce((sum, result) => sum + of(result), 0);
  const reasons = new Map<string, number>();
  for (const reason of results.flatMap(({ skipped }) => skipped))
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  const onPostgres = results.filter(({ file }) => file.endsWith(postgresLabel));
  const slowest = results.toSorted((a, b) => b.durationMs - a.durationMs).slice(0, 10);
  return [
    '',
    `${results.length} runs of test files, ${onPostgres.length} of them on PostgreSQL; slowest: ${slowest.map(({ file, durationMs }) => `${file} ${Math.round(durationMs / 1000)} s`).join(', ')}`,
    ...[...reasons].map(([reason, count]) => `skipped ${count}: ${reason}`),
    `on PostgreSQL: ${onPostgres.reduce((sum, { passed }) => sum + passed, 0)} passed`,
    `${total(({ passed }) => passed)} passed, ${total(({ failed }) => failed)} failed, ${total(({ skipped }) => skipped.length)} skipped`,
    '',
  ].join('\n');
}
