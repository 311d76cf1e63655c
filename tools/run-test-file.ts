/**
 * Runs files of tests in one process, with its own process group and a limit for the whole: `--test-timeout` ends a test, but neither
 * a file that loops, nor one that something keeps alive, nor the processes that it has started.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDeadline, timeScale } from '../test/support/time-scale.ts';

export interface TestFileOptions {
  readonly cwd: string;
  /** Time for the file on a machine that does nothing else; more is given under load. */
  readonly limitMs: number;
  /** Name of the files in results; by default the path of the first. */
  readonly label?: string;
  /** Added to the environment. */
  readonly env?: Readonly<NodeJS.ProcessEnv>;
  /** Called with each process that is started, and again with undefined when its file has ended. */
  readonly onProcess?: (end: (() => void) | undefined) => void;
}

export interface TestFileResult {
  readonly file: string;
  readonly passed: number;
  readonly failed: number;
  /** The files with failures; all of them where it is not known which. */
  readonly failedFiles: readonly string[];
  readonly skipped: readonly string[];
  /** It or one of its tests did not end, or it left processes behind. That is no matter of a busy machine, which has longer limits. */
  readonly hasHung: boolean;
  /** The text to show: the tests' output, and failures in full. */
  readonly output: string;
  readonly durationMs: number;
  /** Time of processors, without that of processes that it did not wait for. */
  readonly cpuMs: number;
  /** Codes of refusals that its tests provoked (`test/direct/support/refusals.ts`). */
  readonly codes: readonly string[];
}

/** One line of the report that `test-reporter.ts` writes. */
export type ReportLine =
  | { readonly what: 'passed' }
  | { readonly what: 'used'; readonly cpuMs: number; readonly codes: readonly string[] }
  | { readonly what: 'skipped'; readonly reason: string }
  | {
      readonly what: 'failed';
      /** Where the test is written; of several files only. */
      readonly file?: string | undefined;
      readonly name: string;
      readonly error: string;
      readonly hasTimedOut: boolean;
    };

const marker = 'OPENHISP_TEST_RUN';
const everyMs = 1000;

export async function runTestFiles(
  files: readonly string[],
  options: TestFileOptions,
): Promise<TestFileResult> {
  const id = randomUUID();
  const folder = mkdtempSync(path.join(os.tmpdir(), 'openhisp-report-'));
  const report = path.join(folder, 'report.jsonl');
  const startedAt = performance.now();
  const child = spawn(
    process.execPath,
    [
      // A test that hangs is named; the limit of the file ends everything that is not within a test.
      `--test-timeout=${Math.round((options.limitMs * 0.8 * timeScale()) / (files.length > 1 ? 2 : 1))}`,
      `--test-reporter=${path.join(import.meta.dirname, 'test-reporter.ts')}`,
      `--test-reporter-destination=${report}`,
      ...(files.length > 1 ? [path.join(import.meta.dirname, 'run-test-files.ts')] : []),
      ...files,
    ],
    {
      cwd: options.cwd,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      // The variable is that of a runner around this one.
      env: { ...process.env, ...options.env, [marker]: id, NODE_TEST_CONTEXT: undefined },
    },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-maxOutput);
    });
  const offspring = new Set<number>();
  const endAll = (): number[] => endProcesses(child.pid, id, offspring);
  options.onProcess?.(endAll);
  const deadline = createDeadline(options.limitMs);
  let isLate = false;
  const watching = setInterval(() => {
    for (const pid of listOffspring(child.pid)) offspring.add(pid);
    if (isLate || !deadline.isOver()) return;
    isLate = true;
    endAll();
  }, everyMs);
  const status = await new Promise<number | string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    // Not `close`: processes that the file has left running may hold the pipes open forever.
    child.once('exit', (code, signal) => resolve(code ?? signal ?? 1));
  });
  clearInterval(watching);
  await whenGone(() => findProcesses(child.pid, id, offspring).size > 0);
  const left = endAll();
  options.onProcess?.(undefined);
  child.stdout.destroy();
  child.stderr.destroy();
  const lines = readReport(report);
  rmSync(folder, { recursive: true, force: true });
  const problems = describeEnd({ status, isLate, left, lines, limitMs: options.limitMs });
  const { label = files[0] ?? '' } = options;
  return {
    file: label,
    passed: lines.filter(({ what }) => what === 'passed').length,
    failed: lines.filter(({ what }) => what === 'failed').length + problems.length,
    failedFiles: findFailed(files, lines, problems),
    hasHung: isLate || left.length > 0 || lines.some((line) => line.what === 'failed' && line.hasTimedOut),
    skipped: lines.flatMap((line) => (line.what === 'skipped' ? [line.reason] : [])),
    output: [
      output,
      ...lines.flatMap((line) =>
        line.what === 'failed' ? [failure(line.file ?? label, line.name, line.error)] : [],
      ),
      ...problems.map((problem) => failure(label, 'the file', problem)),
    ].join(''),
    durationMs: performance.now() - startedAt,
    cpuMs: lines.reduce((total, line) => total + (line.what === 'used' ? line.cpuMs : 0), 0),
    codes: lines.flatMap((line) => (line.what === 'used' ? line.codes : [])),
  };
}

function findFailed(
  files: readonly string[],
  lines: readonly ReportLine[],
  problems: readonly string[],
): readonly string[] {
  const named = lines.flatMap((line) => (line.what === 'failed' ? [line.file ?? ''] : []));
  const isKnown = problems.length === 0 && named.every((file) => files.includes(file));
  return isKnown ? [...new Set(named)] : files;
}

const maxOutput = 200_000;

const failure = (file: string, name: string, error: string): string =>
  `\nFAILED ${file}: ${name}\n${error}\n`;

interface FileEnd {
  readonly status: number | string;
  readonly isLate: boolean;
  readonly left: readonly number[];
  readonly lines: readonly ReportLine[];
  readonly limitMs: number;
}

function describeEnd({ status, isLate, left, lines, limitMs }: FileEnd): string[] {
  if (isLate) return [`It did not end within ${limitMs / 1000} s and was killed with all its processes.`];
  const problems: string[] = [];
  if (left.length > 0) problems.push(`It left processes behind, which were killed: ${left.join(', ')}.`);
  const isExplained = status === 0 || lines.some(({ what }) => what === 'failed');
  if (!isExplained) problems.push(`Its process ended with ${status}.`);
  else if (lines.every(({ what }) => what === 'used')) problems.push('It ran no test.');
  // The last line of a report: a test that ends the process takes all after it along.
  else if (status === 0 && !lines.some(({ what }) => what === 'used'))
    problems.push('Its process ended before its tests.');
  return problems;
}

function readReport(file: string): readonly ReportLine[] {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line.endsWith('}'))
      .map((line) => JSON.parse(line) as ReportLine);
  } catch {
    return [];
  }
}

/**
 * Kills the process group, everything that was seen to descend from it, and everything that carries its mark in the environment. Returns
 * the processes that still ran, except the leader of the group.
 */
function endProcesses(leader: number | undefined, id: string, offspring: ReadonlySet<number>): number[] {
  const found = findProcesses(leader, id, offspring);
  if (leader !== undefined) kill(-leader);
  for (const pid of found) kill(pid);
  return [...found];
}

function findProcesses(leader: number | undefined, id: string, offspring: ReadonlySet<number>): Set<number> {
  const found = new Set(listMarked(id));
  for (const pid of [...listOffspring(leader), ...offspring]) if (isSameRun(pid, offspring)) found.add(pid);
  found.delete(leader ?? 0);
  return found;
}

// A process that a test ended without waiting for it disappears within a moment.
async function whenGone(isThere: () => boolean): Promise<void> {
  for (let tries = 0; tries < 40 && isThere(); tries++) await sleep(50);
}

// A process number may have been given to somebody else since it was seen; ours has the start time that it had then.
const startTimes = new Map<number, string>();

function isSameRun(pid: number, offspring: ReadonlySet<number>): boolean {
  const stat = readStat(pid);
  if (stat === undefined || stat.state === 'Z') return false;
  return !offspring.has(pid) || startTimes.get(pid) === stat.startTime;
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

interface Stat {
  readonly parent: number;
  readonly state: string;
  readonly startTime: string;
}

/** Of `/proc`, where there is one; elsewhere only the process group is ended. */
function readStat(pid: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] ?? '', parent: Number(fields[1]), startTime: fields[19] ?? '' };
  } catch {
    return undefined;
  }
}

function listProcesses(): readonly number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

function listOffspring(leader: number | undefined): readonly number[] {
  const children = new Map<number, number[]>();
  for (const pid of listProcesses()) {
    const stat = readStat(pid);
    if (stat === undefined) continue;
    children.set(stat.parent, [...(children.get(stat.parent) ?? []), pid]);
    startTimes.set(pid, stat.startTime);
  }
  const found: number[] = [];
  const visit = (pid: number): void => {
    for (const child of children.get(pid) ?? []) {
      found.push(child);
      visit(child);
    }
  };
  if (leader !== undefined) visit(leader);
  return found;
}

function listMarked(id: string): readonly number[] {
  return listProcesses().filter((pid) => {
    try {
      return (
        readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`${marker}=${id}`) &&
        readStat(pid)?.state !== 'Z'
      );
    } catch {
      return false;
    }
  });
}
