import { readDate, type MimeEntity } from '../../../lib/mime/index.ts';
import type { Config } from '../../../platform/index.ts';
import type { OpenedMail } from '../ports.ts';

/**
 * Faults of the message's Date or signing time; both are claims of the sender, and both are optional. Beyond
 * the register's retention a replay could not be detected.
 */
export function findDateFault(
  entity: MimeEntity,
  { signedAt }: Pick<OpenedMail, 'signedAt'>,
  { maxMailAgeDays, maxMailAheadHours }: Pick<Config['messaging'], 'maxMailAgeDays' | 'maxMailAheadHours'>,
  now: Date,
): 'date-too-old' | 'date-in-future' | undefined {
  const written = readDate(entity.header('date') ?? '');
  for (const date of [written, signedAt]) {
    const ageMs = date === undefined ? 0 : now.getTime() - date.getTime();
    if (ageMs > maxMailAgeDays * 86_400_000) return 'date-too-old';
    if (ageMs < -maxMailAheadHours * 3_600_000) return 'date-in-future';
  }
  return undefined;
}
