import { AsyncLocalStorage } from 'node:async_hooks';
import { errorCode, type Log } from '../../core/index.ts';

/** Events that may wait; beyond it an adder waits for the database. */
const maxWaiting = 5000;

export interface Batch<Item> {
  add(item: Item): Promise<void>;
  flush(): Promise<void>;
  close(): Promise<void>;
}

// Writing must not inherit the mark of a transaction in which an event happened to be added.
const withoutContext = AsyncLocalStorage.snapshot();

/** Collects items and writes them together; what could not be written is tried again with the next. */
export function createBatch<Item>(options: {
  readonly flushMs: number;
  readonly log: Log;
  write(items: readonly Item[]): Promise<void>;
}): Batch<Item> {
  let waiting: Item[] = [];
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    writing = writing.then(() => withoutContext(writeWaiting));
    return writing;
  }

  async function writeWaiting(): Promise<void> {
    const items = waiting;
    if (items.length === 0) return;
    waiting = [];
    try {
      await options.write(items);
    } catch (error) {
      waiting = [...items, ...waiting];
      options.log.error({ code: errorCode(error), error, waiting: waiting.length }, 'audit events could not be written');
      schedule();
    }
  }

  function schedule(): void {
    timer ??= withoutContext(() => setTimeout(() => void flush(), options.flushMs));
  }

  return {
    async add(item) {
      waiting.push(item);
      if (waiting.length >= maxWaiting) await flush();
      else schedule();
    },
    flush,
    async close() {
      await flush();
      clearTimeout(timer);
    },
  };
}
