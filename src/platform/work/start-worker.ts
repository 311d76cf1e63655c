/**
 * Work as rows with a time and a lease: workers, fair shares, nodes, one process for a data folder.
 * Used by `platform`; others by its `index.ts`.
 * Begin with `startWorker` here, for plain work; `fair-worker.ts` where parties share slots (Decision
 * 0023).
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { errorCode, type Log } from '../../core/index.ts';
import { createFaultLog, type FaultLog } from './fault-log.ts';
import { untilLook } from './until-look.ts';

// The loop must not inherit the asynchronous context (a transaction's mark) of its caller.
const withoutContext = AsyncLocalStorage.snapshot();

export interface WorkerOptions<Item> {
  /** For the log. */
  readonly name: string;
  /** Takes due items by lease, at best no more than `limit`; an empty list means that nothing is due. */
  readonly claim: (limit: number) => Promise<readonly Item[]>;
  /** Works on one item and stores the result itself. Errors are logged; the lease then expires. */
  readonly handle: (item: Item) => Promise<void>;
  /** Longest sleep when nothing is due. */
  readonly idleMs: number;
  /** Items worked on at the same time. */
  readonly concurrency: number;
  readonly log: Log;
}

export interface Worker {
  /** Something may be due: look at once. Cheap; may be called from inside a transaction's last step. */
  wake(): void;
  /** Stops claiming and waits for the items in progress. */
  close(): Promise<void>;
}

/**
 * Pulls due items until none is left, then sleeps until woken or `idleMs` have passed. A slow item occupies
 * one slot and no other item: the next ones are claimed as soon as another slot is free.
 */
export function startWorker<Item>(options: WorkerOptions<Item>): Worker {
  const running = new Set<Promise<void>>();
  const faults = createFaultLog(options.name, options.log);
  let isClosing = false;
  let isWoken = false;
  let endSleep = (): void => {};

  async function run(): Promise<void> {
    // The caller gets its worker before the first look, so that claim and handle may use it.
    await Promise.resolve();
    while (!isClosing) {
      isWoken = false;
      const items = await claimSafely(options, faults, options.concurrency - running.size);
      for (const item of items) await give(item);
      if (items.length === 0) await sleep();
      else await whenFree();
    }
    await Promise.all(running);
  }

  /** A claim may bring more than there are slots; the rest wait here. */
  async function give(item: Item): Promise<void> {
    await whenFree();
    const work = handleSafely(options, item).then(() => {
      running.delete(work);
      // Follow-up work of the item, or an item that waited for its slot, may be due.
      wake();
    });
    running.add(work);
  }

  async function whenFree(): Promise<void> {
    while (running.size >= options.concurrency) await Promise.race(running);
  }

  function sleep(): Promise<void> {
    return new Promise((resolve) => {
      if (isWoken || isClosing) return resolve();
      const timer = setTimeout(resolve, untilLook(options.idleMs));
      endSleep = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  function wake(): void {
    isWoken = true;
    endSleep();
  }

  const done = withoutContext(run);
  return {
    wake,
    async close() {
      isClosing = true;
      endSleep();
      await done;
    },
  };
}

async function claimSafely<Item>(
  { claim }: WorkerOptions<Item>,
  faults: FaultLog,
  limit: number,
): Promise<readonly Item[]> {
  try {
    const items = await claim(limit);
    faults.worked('claim');
    return items;
  } catch (error) {
    faults.failed('claim', error);
    return [];
  }
}

async function handleSafely<Item>({ name, handle, log }: WorkerOptions<Item>, item: Item): Promise<void> {
  try {
    await handle(item);
  } catch (error) {
    log.error({ worker: name, code: errorCode(error), error }, 'a worker could not handle an item');
  }
}
