/** A process for the tests of `runInProcess`. */
import { getPriority } from 'node:os';
import { CodedError } from '../../src/core/index.ts';
import { serveProcess } from '../../src/core/threads/index.ts';

const table = { TEST_REFUSED: { kind: 'conflict', publicMessage: 'Refused.' } } as const;

serveProcess(async (task: string, report: (note: number) => void): Promise<unknown> => {
  if (task === 'refuse') throw new CodedError(table, 'TEST_REFUSED', 'no');
  if (task === 'end') process.exit(3);
  report(process.pid);
  if (task === 'block') await new Promise(() => setInterval(() => {}, 1000));
  if (task === 'slow') await new Promise((resolve) => setTimeout(resolve, 1000));
  report(2);
  return { at: new Date(0), priority: getPriority() };
});
