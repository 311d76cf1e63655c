/** Runs in a worker thread: builds some of the columns of an index. */
import { serveTasks } from '../../../core/threads/index.ts';
import { createArrayStore } from '../arrays.ts';
import type { SharedIndexBytes } from '../types.ts';
import { buildColumns, type ColumnsTask } from './build-columns.ts';

serveTasks(
  (task: ColumnsTask): SharedIndexBytes => {
    const store = createArrayStore();
    buildColumns(task, store);
    return store.finish(task.recordOfRow.length);
  },
  () => [],
);
