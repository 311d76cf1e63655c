import type { Clock, Log } from '../../core/index.ts';
import type { Config, Storage } from '../../platform/index.ts';
import { readBackupState } from './backup-state.ts';
import { createDailyWarnings, type Watch } from './daily-warnings.ts';

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
  const daily = createDailyWarnings({
    clock,
    log,
    part: 'backup',
    what: 'backups',
    more: { level: 'warn', text: () => 'more backups need attention: openhisp doctor' },
  });
  return {
    async run() {
      const state = await readBackupState({ config, storage, clock });
      if (state?.problem === undefined) return daily.replace([]);
      const { problem, text } = state;
      const level = problem === 'overdue' ? 'error' : 'warn';
      daily.replace([{ part: 'backup', name: problem, level, detail: text, fields: { problem } }]);
    },
    degraded: () => daily.degraded(),
  };
}
