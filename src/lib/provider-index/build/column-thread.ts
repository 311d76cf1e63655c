/** Runs in a worker thread: builds some of the columns of an index. */
import { workerData } from 'node:worker_threads';
import { createArrayStore } from '../arrays.ts';
import { buildColumns } from './build-columns.ts';
import type { HelperData, HelperReply } from './column-helper.ts';

const { task, port, signal } = workerData as HelperData;

function build(): HelperReply {
  try {
    const store = createArrayStore();
    buildColumns(task, store);
    return { bytes: store.finish(task.recordOfRow.length) };
  } catch (failure) {
    return { failure };
  }
}

port.postMessage(build());
Atomics.store(signal, 0, 1);
Atomics.notify(signal, 0);
