import { countOf, type Clock } from '../../core/index.ts';
import type { Config, Storage } from '../../platform/index.ts';
import { findFirstEvent, findLastEvent } from '../../service/audit/index.ts';

/** What an operator should know of the backups of the database. */
export interface BackupState {
  /** No backup has succeeded yet. */
  readonly isNever: boolean;
  /** Since the last backup; since the installation if there is none. */
  readonly ageMs: number;
  /**
   * `overdue`: older than `storage.backupWarningDays`. `failed`: the last attempt failed, and the backup
   * before it is not overdue.
   */
  readonly problem: 'overdue' | 'failed' | undefined;
  /** One sentence. */
  readonly text: string;
}

const dayMs = 86_400_000;
/** The audit action of `openhisp backup`: its outcome is `ok` once the copy is written and checked. */
const action = 'backup.write';

/**
 * The backups that `openhisp backup` has recorded in the audit trail. Undefined for those that it cannot know
 * of: PostgreSQL is backed up by its own tools, and `storage.backupWarningDays` 0 says that this database is
 * backed up by other means.
 */
export async function readBackupState({
  config,
  storage,
  clock,
}: {
  readonly config: Config;
  readonly storage: Storage;
  readonly clock: Clock;
}): Promise<BackupState | undefined> {
  const { url, backupWarningDays } = config.storage;
  if (url !== undefined || backupWarningDays === 0) return undefined;
  const [first, done, failed] = await Promise.all([
    findFirstEvent(storage),
    findLastEvent(storage, { action, outcome: 'ok' }),
    findLastEvent(storage, { action, outcome: 'failed' }),
  ]);
  const nowMs = clock.now().getTime();
  const ageMs = nowMs - ((done ?? first)?.recordedAt.getTime() ?? nowMs);
  const isFailing = failed !== undefined && failed.sequence > (done?.sequence ?? 0);
  const isOverdue = ageMs > backupWarningDays * dayMs;
  const fullDays = Math.max(0, Math.floor(ageMs / dayMs));
  const days = countOf(fullDays, 'day');
  const last =
    done !== undefined
      ? `The last backup of the database was made ${fullDays === 0 ? 'less than a day' : days} ago`
      : `The database has never been backed up${fullDays === 0 ? '' : ` in the ${days} since its installation`}`;
  // To the minute, in UTC.
  const attempt = isFailing ? `; an attempt failed at ${failed.recordedAt.toISOString().slice(0, 16)}Z` : '';
  return {
    isNever: done === undefined,
    ageMs,
    problem: isOverdue ? 'overdue' : isFailing ? 'failed' : undefined,
    text: `${last}${attempt}.`,
  };
}
