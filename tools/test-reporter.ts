/** A reporter for Node's test runner: one line of JSON for each test, as `run-test-file.ts` reads it. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { TestEvent } from 'node:test/reporters';
import type { ReportLine } from './run-test-file.ts';

/** Node's words for what a test threw after its end, for which no test is named as failed. */
const isLateError = (message: string): boolean =>
  message.includes('asynchronous activity after the test ended');

interface EventData {
  readonly name: string;
  readonly nesting: number;
  readonly file?: string;
  readonly skip?: string | boolean;
  readonly details?: { readonly type?: string; readonly error?: unknown };
}

/** With several files each is a suite (`run-test-files.ts`). */
const ofSeveral = process.argv[1]?.endsWith('run-test-files.ts') === true;

export async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  let tests = 0;
  for await (const event of source) {
    if (event.type === 'test:diagnostic' && isLateError(event.data.message))
      yield `${JSON.stringify({ what: 'failed', name: 'after a test', error: event.data.message, hasTimedOut: false } satisfies ReportLine)}\n`;
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue;
    const data = event.data as EventData;
    // A suite that is skipped stands for its tests.
    const isSkipped = data.skip !== undefined && data.skip !== false;
    if (data.details?.type !== 'suite' || isSkipped) tests++;
    else if (ofSeveral && data.nesting === 0) {
      if (tests === 0 && event.type === 'test:pass')
        yield `${JSON.stringify({ what: 'failed', name: data.name, error: 'It ran no test.', hasTimedOut: false } satisfies ReportLine)}\n`;
      tests = 0;
    }
    if (data.details?.type === 'suite' && event.type === 'test:pass' && !isSkipped) continue;
    const line = describe(event.type === 'test:pass', data);
    if (line !== undefined) yield `${JSON.stringify(line)}\n`;
  }
  const codes = [...((globalThis as { provokedCodes?: Set<string> }).provokedCodes ?? [])];
  yield `${JSON.stringify({ what: 'used', cpuMs: readCpuMs(), codes } satisfies ReportLine)}\n`;
}

/** Time of processors that this process and the children that it has waited for have used; 0 where there is no `/proc`. */
function readCpuMs(): number {
  try {
    const text = readFileSync('/proc/self/stat', 'latin1');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    // utime, stime, cutime, cstime in hundredths of a second.
    return 10 * fields.slice(11, 15).reduce((total, ticks) => total + Number(ticks), 0);
  } catch {
    return 0;
  }
}

function describe(isPass: boolean, { name, file, skip, details }: EventData): ReportLine | undefined {
  if (skip !== undefined && skip !== false)
    return { what: 'skipped', reason: typeof skip === 'string' ? skip : 'no reason given' };
  if (isPass) return { what: 'passed' };
  // A suite fails because a test in it did, which is reported, or because one of its hooks did.
  const { error } = details ?? {};
  if (details?.type === 'suite' && (error as { failureType?: string }).failureType === 'subtestsFailed')
    return undefined;
  const hasTimedOut = (error as { failureType?: string }).failureType === 'testTimeoutFailure';
  const where = ofSeveral && file !== undefined ? path.relative('.', file) : undefined;
  return { what: 'failed', file: where, name, error: describeError(error), hasTimedOut };
}

function describeError(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
}

// Node loads a reporter by its default export.
// oxlint-disable-next-line import/no-default-export
export default report;
