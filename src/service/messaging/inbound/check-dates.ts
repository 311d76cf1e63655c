import { readDate, type MimeEntity } from '../../../lib/mime/index.ts';
import type { OpenedMail } from '../ports.ts';

/** How far the dates of a message may be from its arrival. Beyond the register's memory a replay could not be detected. */
export interface MailDates {
  readonly maxAgeMs: number;
  readonly maxAheadMs: number;
}

const dayMs = 86_400_000;
export const defaultMailDates: MailDates = { maxAgeMs: 30 * dayMs, maxAheadMs: dayMs };

/** What is wrong with the message's Date or signing time; both are the sender's claims, and both are optional. */
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
