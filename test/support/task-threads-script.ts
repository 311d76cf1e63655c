/** A thread for the tests of `createTaskThreads`. */
import { CodedError } from '../../src/core/index.ts';
import { serveTasks } from '../../src/core/threads/index.ts';

const table = { TEST_REFUSED: { kind: 'conflict', publicMessage: 'Refused.' } } as const;

serveTasks(
  async (task: Uint8Array | string): Promise<Uint8Array> => {
    if (task instanceof Uint8Array) return task.toReversed();
    const problems = [{ field: 'a', reason: 'b', detail: 'c' }];
    if (task === 'refuse') throw new CodedError(table, 'TEST_REFUSED', 'no', { problems });
    if (task === 'fail') throw new TypeError('broken');
    if (task === 'block') await new Promise(() => setInterval(() => {}, 1000));
    process.exit(1);
  },
  (result) => [result],
);
