import { readDate, type MimeEntity } from '../../../lib/mime/index.ts';
import { defaultSettings } from '../../../platform/index.ts';
import type { OpenedMail } from '../ports.ts';
import type { MailDates } from './mail-dates.ts';

const dayMs = 86_400_000;
const { maxMailAgeDays, maxMailAheadHours } = defaultSettings.messaging;
export const defaultMailDates: MailDates = {
  maxAgeMs: maxMailAgeDays * dayMs,
  maxAheadMs: maxMailAheadHours * 3_600_000,
};

/** Faults of the message's Date or signing time; both are claims of the sender, and both are optional. */
export function findDateFault(
  entity: MimeEntity,
  { signedAt }: Pick<OpenedMail, 'signedAt'>,
  { maxAgeMs, maxAheadMs }: MailDates,
  now: Date,
): 'date-too-old' | 'date-in-future' | undefined {
  const written = readDate(entity.header('date') ?? '');
  for (const date of [written, signedAt]) {
    const ageMs = date === undefined ? 0 : now.getTime() - date.getTime();
    if (ageMs > maxAgeMs) return 'date-too-old';
    if (ageMs < -maxAheadMs) return 'date-in-future';
  }
  return undefined;
}
