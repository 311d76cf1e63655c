import type { Clock, Log } from '../../core/index.ts';
import type { Config, Storage } from '../../platform/index.ts';
import { readBackupState } from './backup-state.ts';
import { createDailyWatch, type Watch } from './daily-warnings.ts';

/** Notifies operators of backups that fail or have stopped, before one is needed. */
export function createBackupWatch({
  config,
  storage,
  clock,
  log,
}: {
  readonly config: Config;
  readonly storage: Storage;
  readonly clock: Clock;
  readonly log: Log;
}): Watch {
  return createDailyWatch({
    clock,
    log,
    part: 'backup',
    what: 'backups',
    async find() {
      const state = await readBackupState({ config, storage, clock });
      if (state?.problem === undefined) return [];
      const { problem, text } = state;
      const level = problem === 'overdue' ? 'error' : 'warn';
      return [{ part: 'backup', name: problem, level, detail: text, fields: { problem } }];
    },
  });
}
