import { AsyncLocalStorage } from 'node:async_hooks';
import type { Log } from '../../core/index.ts';
import { createFaultLog } from '../../platform/index.ts';

/** Items after which the batch is written without waiting for its time. */
const fullBatch = 2000;
/** Items per write: hashing and inserting so many holds up the event loop for about two milliseconds. */
const maxWritten = 100;

export interface Batch<Item> {
  /** Never waits: an adder may be inside the very transaction that a write would wait for. */
  add(item: Item): void;
  flush(): Promise<void>;
  close(): Promise<void>;
}

// Writing must not inherit the mark of a transaction in which an event happened to be added.
const withoutContext = AsyncLocalStorage.snapshot();

/** Collects items and writes them together; a batch that could not be written is retried with the next. */
export function createBatch<Item>(options: {
  readonly flushMs: number;
  readonly log: Log;
  write(items: readonly Item[]): Promise<void>;
}): Batch<Item> {
  const faults = createFaultLog('audit', options.log);
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
    let written = 0;
    try {
      for (; written < items.length; written += maxWritten)
        await options.write(items.slice(written, written + maxWritten));
      faults.worked('write events');
    } catch (error) {
      waiting = [...items.slice(written), ...waiting];
      faults.failed('write events', error);
      schedule();
    }
  }

  function schedule(): void {
    timer ??= withoutContext(() => setTimeout(() => void flush(), options.flushMs));
  }

  return {
    add(item) {
      waiting.push(item);
      if (waiting.length === fullBatch) void flush();
      else schedule();
    },
    flush,
    async close() {
      await flush();
      clearTimeout(timer);
    },
  };
}
