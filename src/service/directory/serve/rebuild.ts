import type { BaseIndex } from './choose-base.ts';

/** Pause after a build that has failed. */
const pauseAfterFailureMs = 60_000;

/** The one index that is being built while an older one is served. */
export interface Rebuild {
  /** Starts a build unless one is in progress or has just failed. */
  begin(): void;
  /** Fulfilled when no build is in progress. */
  settled(): Promise<void>;
  /** Returns the built index, once. */
  take(): BaseIndex | undefined;
  readonly isReady: boolean;
}

/** `build` makes the index; `onReady` is called when it can be fetched. */
export function createRebuild(
  build: () => Promise<BaseIndex>,
  onReady: () => void,
  onFailure: (error: unknown) => void,
): Rebuild {
  let running: Promise<void> | undefined;
  let ready: BaseIndex | undefined;
  let notBeforeMs = 0;

  async function run(): Promise<void> {
    try {
      ready = await build();
    } catch (error) {
      notBeforeMs = performance.now() + pauseAfterFailureMs;
      onFailure(error);
    } finally {
      running = undefined;
    }
    if (ready !== undefined) onReady();
  }

  return {
    begin() {
      if (performance.now() >= notBeforeMs) running ??= run();
    },
    settled: async () => running,
    take() {
      const taken = ready;
      ready = undefined;
      return taken;
    },
    get isReady() {
      return ready !== undefined;
    },
  };
}
