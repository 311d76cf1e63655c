/** Runs in a worker thread: builds some of the columns of an index. */
import { serveTasks } from '../../../core/threads/index.ts';
import { buildColumns, openStore, type BuiltParts, type ColumnsTask } from './build-columns.ts';

serveTasks(
  (task: ColumnsTask): BuiltParts => {
    const { store, written } = openStore(task.snapshot);
    buildColumns(task, store);
    return { bytes: store.finish(task.recordOfRow.length), written };
  },
  () => [],
);
