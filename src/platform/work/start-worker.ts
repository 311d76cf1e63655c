import { AsyncLocalStorage } from 'node:async_hooks';
import { errorCode, type Log } from '../../core/index.ts';

// The loop must not inherit the asynchronous context (a transaction's mark) of whoever starts it.
const withoutContext = AsyncLocalStorage.snapshot();

export interface WorkerOptions<Item> {
  /** For the log. */
  readonly name: string;
  /** Takes due items, by lease; an empty list means that nothing is due. */
  claim(): Promise<readonly Item[]>;
  /** Works on one item and stores the result itself. What it throws is logged; the lease then runs out. */
  handle(item: Item): Promise<void>;
  /** How long to sleep when nothing is due, unless woken. */
  readonly idleMs: number;
  /** Items worked on at the same time. */
  readonly concurrency: number;
  readonly log: Log;
}

export interface Worker {
  /** Something may be due: look at once. Cheap; may be called from inside a transaction's last step. */
  wake(): void;
  /** Stops claiming and waits for the items in hand. */
  close(): Promise<void>;
}

/** Pulls due items until none is left, then sleeps until woken or `idleMs` have passed. */
export function startWorker<Item>(options: WorkerOptions<Item>): Worker {
  let isClosing = false;
  let isWoken = false;
  let endSleep = (): void => {};

  async function run(): Promise<void> {
    while (!isClosing) {
      isWoken = false;
      const items = await claimSafely(options);
      if (items.length > 0) await handleAll(options, items);
      else await sleep();
    }
  }

  function sleep(): Promise<void> {
    return new Promise((resolve) => {
      if (isWoken || isClosing) return resolve();
      const timer = setTimeout(resolve, options.idleMs);
      endSleep = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  const done = withoutContext(run);
  return {
    wake() {
      isWoken = true;
      endSleep();
    },
    async close() {
      isClosing = true;
      endSleep();
      await done;
    },
  };
}

async function claimSafely<Item>({ name, claim, log }: WorkerOptions<Item>): Promise<readonly Item[]> {
  try {
    return await claim();
  } catch (error) {
    log.error({ worker: name, code: errorCode(error), error }, 'a worker could not claim');
    return [];
  }
}

async function handleAll<Item>(options: WorkerOptions<Item>, items: readonly Item[]): Promise<void> {
  const queue = items.values();
  const hands = Array.from({ length: Math.min(options.concurrency, items.length) }, async () => {
    for (const item of queue) await handleSafely(options, item);
  });
  await Promise.all(hands);
}

async function handleSafely<Item>({ name, handle, log }: WorkerOptions<Item>, item: Item): Promise<void> {
  try {
    await handle(item);
  } catch (error) {
    log.error({ worker: name, code: errorCode(error), error }, 'a worker could not handle an item');
  }
}
