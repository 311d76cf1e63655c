import { closeSync, fdatasync, openSync } from 'node:fs';
import { PlatformError } from '../../errors.ts';

/** Flushes a file's data to the disk, as `fdatasync` does. */
export type Sync = (descriptor: number, done: (error: Error | null) => void) => void;

/**
 * Brings the write-ahead log to the disk: one `fdatasync` in Node's thread pool for all transactions that
 * committed before it began (Decision 0021: Durability on SQLite).
 *
 * This is safe together with `synchronous=NORMAL`: a frame is either in the log, which was flushed, or a
 * checkpoint has moved it, and a checkpoint flushes the log before it and the database after it. A log that
 * is restarted writes and flushes its header first, and the frames behind it are flushed here.
 */
export class LogFlusher {
  readonly #file: string;
  readonly #sync: Sync;
  #descriptor: number | undefined;
  #waiting: PromiseWithResolvers<void> | undefined;
  #isFlushing = false;
  #latest: Promise<void> | undefined;
  #failure: PlatformError | undefined;
  count = 0;

  /** `file` is the database; its log is next to it. */
  constructor(file: string, sync: Sync = fdatasync) {
    this.#file = `${file}-wal`;
    this.#sync = sync;
  }

  /**
   * Fulfilled when everything committed until now is on disk. Rejects with PLATFORM_STORAGE_UNAVAILABLE if
   * the flush failed: from then on the state of the disk is unknown, because the kernel may have dropped the
   * pages.
   */
  flush(): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    this.#waiting ??= Promise.withResolvers();
    const { promise } = this.#waiting;
    this.#latest = promise;
    if (!this.#isFlushing) this.#start();
    return promise;
  }

  /** The flush that everything committed until now waits for; undefined if all of it is on disk. */
  get pending(): Promise<void> | undefined {
    return this.#latest;
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  #start(): void {
    const served = this.#waiting;
    if (served === undefined) return;
    this.#waiting = undefined;
    this.#isFlushing = true;
    this.count++;
    try {
      this.#descriptor ??= openSync(this.#file, 'r+');
    } catch (error) {
      this.#finish(served, error);
      return;
    }
    this.#sync(this.#descriptor, (error) => this.#finish(served, error));
  }

  #finish(served: PromiseWithResolvers<void>, error: unknown): void {
    this.#isFlushing = false;
    if (error === null || error === undefined) {
      if (this.#latest === served.promise) this.#latest = undefined;
      served.resolve();
    } else {
      this.#failure = new PlatformError('PLATFORM_STORAGE_UNAVAILABLE', 'the disk refused to be flushed', {
        cause: error,
      });
      served.reject(this.#failure);
      this.#waiting?.reject(this.#failure);
      this.#waiting = undefined;
    }
    this.#start();
  }
}
