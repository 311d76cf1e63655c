import { readDate, type MimeEntity } from '../../../lib/mime/index.ts';
import type { OpenedMail } from '../ports.ts';
import type { MailDates } from '../mail-dates.ts';

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
