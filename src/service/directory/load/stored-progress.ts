import { errorCode } from '../../../core/index.ts';
import { storeProgress } from '../store/loads.ts';
import type { ImportContext } from './context.ts';
import type { ImportProgress } from './progress.ts';

/** Interval between stored states of one phase. */
const storeMs = 1000;

/** Stores how far a load is, once per second and at each new phase, so that every node can show it. */
export function createStoredProgress({
  storage,
  clock,
  log,
}: Pick<ImportContext, 'storage' | 'clock' | 'log'>) {
  let loadId: number | undefined;
  let storing: Promise<void> | undefined;
  let waiting: ImportProgress | undefined;
  let phase = '';
  let storedAtMs = Number.NEGATIVE_INFINITY;

  async function store(id: number): Promise<void> {
    while (waiting !== undefined) {
      const state = waiting;
      waiting = undefined;
      await storeProgress(storage, clock, id, state);
    }
  }

  return {
    begin(id: number): void {
      loadId = id;
    },
    note(state: ImportProgress): void {
      if (loadId === undefined || state.phase === 'done') return;
      const nowMs = performance.now();
      if (state.phase === phase && nowMs - storedAtMs < storeMs) return;
      phase = state.phase;
      storedAtMs = nowMs;
      waiting = { ...state, bytesRead: Math.round(state.bytesRead) };
      storing ??= store(loadId)
        // The load goes on without.
        .catch((error: unknown) =>
          log.warn({ code: errorCode(error) }, 'the progress of a load was not stored'),
        )
        .finally(() => {
          storing = undefined;
        });
    },
    /** Waits for a store that is under way; nothing is stored afterwards. */
    async end(): Promise<void> {
      loadId = undefined;
      waiting = undefined;
      await storing;
    },
  };
}
