import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { threadScript } from '../../../core/index.ts';
import { ProviderIndexError } from '../errors.ts';
import type { SharedIndexBytes } from '../types.ts';
import type { ColumnsTask } from './build-columns.ts';

/** What the helper thread answers. */
export type HelperReply = { readonly bytes: SharedIndexBytes } | { readonly failure: unknown };

/** What the helper thread starts with. `signal` becomes 1 once the reply lies in the port. */
export interface HelperData {
  readonly task: ColumnsTask;
  readonly port: MessagePort;
  readonly signal: Int32Array<SharedArrayBuffer>;
}

type MessagePort = InstanceType<typeof MessageChannel>['port1'];

// The longest column of ten million records takes about two minutes.
const patienceMs = 30 * 60_000;

/** Builds columns in another thread meanwhile; `result` waits for them without giving up the calling thread. */
export function startColumnHelper(task: ColumnsTask): { result(): SharedIndexBytes } {
  const { port1, port2 } = new MessageChannel();
  const signal = new Int32Array(new SharedArrayBuffer(4));
  const data: HelperData = { task, port: port2, signal };
  const texts = task.columns.flatMap(({ values, valueOfRecord }) => [
    values.bytes.buffer,
    values.offsets.buffer,
    valueOfRecord.buffer,
  ]);
  const worker = new Worker(threadScript('column-thread', import.meta.url), {
    workerData: data,
    transferList: [port2, ...(texts as ArrayBuffer[])],
  });
  // A failure before the thread can answer leaves the signal at zero; it is told apart below by the missing reply.
  worker.on('error', () => Atomics.store(signal, 0, 1));
  return {
    result() {
      Atomics.wait(signal, 0, 0, patienceMs);
      const reply = receiveMessageOnPort(port1)?.message as HelperReply | undefined;
      port1.close();
      void worker.terminate();
      if (reply !== undefined && 'bytes' in reply) return reply.bytes;
      throw new ProviderIndexError('INDEX_BUILD_FAILED', 'The second thread of an index build failed.', {
        cause: reply?.failure,
      });
    },
  };
}
