/**
 * A reporter for Node's test runner that prints one line a file, every failure in full, each reason for skipping once,
 * and the totals as the last line.
 */
import type { TestEvent } from 'node:test/reporters';
import path from 'node:path';

interface FileTotals {
  passed: number;
  failed: number;
  skipped: number;
  startedAt: number;
}

interface EventData {
  readonly file?: string;
  readonly name: string;
  readonly nesting?: number;
  readonly skip?: string | boolean;
  readonly todo?: string | boolean;
  readonly details?: { readonly type?: string; readonly duration_ms?: number; readonly error?: unknown };
}

const root = path.resolve(import.meta.dirname, '..');

export async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const files = new Map<string, FileTotals>();
  const reasons = new Map<string, number>();
  for await (const event of source) {
    if (event.type !== 'test:pass' && event.type !== 'test:fail') {
      if (event.type === 'test:stderr' || event.type === 'test:stdout')
        yield String((event.data as { message?: string }).message ?? '');
      continue;
    }
    const data = event.data as EventData;
    if (data.details?.type === 'suite') continue;
    const file = data.file === undefined ? '?' : path.relative(root, data.file);
    const totals = files.get(file) ?? { passed: 0, failed: 0, skipped: 0, startedAt: Date.now() };
    files.set(file, totals);
    if (data.skip !== undefined && data.skip !== false) {
      totals.skipped++;
      const reason = typeof data.skip === 'string' ? data.skip : 'no reason given';
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    } else if (event.type === 'test:pass') {
      totals.passed++;
    } else {
      totals.failed++;
      yield `\nFAILED ${file}: ${data.name}\n${describeError(data.details?.error)}\n`;
    }
  }
  yield summary(files, reasons);
}

function describeError(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
}

function summary(files: ReadonlyMap<string, FileTotals>, reasons: ReadonlyMap<string, number>): string {
  const lines = ['', `${files.size} test files`];
  let passed = 0;
  let failed = 0;
  let skipped = 0;
  for (const totals of files.values()) {
    passed += totals.passed;
    failed += totals.failed;
    skipped += totals.skipped;
  }
  for (const [reason, count] of reasons) lines.push(`skipped ${count}: ${reason}`);
  lines.push(`${passed} passed, ${failed} failed, ${skipped} skipped`, '');
  return lines.join('\n');
}

// Node loads a reporter by its default export.
// oxlint-disable-next-line import/no-default-export
export default report;
