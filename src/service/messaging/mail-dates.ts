import { defaultSettings, type Config } from '../../platform/index.ts';

/**
 * Maximum distance between the dates of a message and its arrival. Beyond the register's retention a replay
 * could not be detected.
 */
export interface MailDates {
  readonly maxAgeMs: number;
  readonly maxAheadMs: number;
}

export function mailDatesOf(settings: Config['messaging']): MailDates {
  return {
    maxAgeMs: settings.maxMailAgeDays * 86_400_000,
    maxAheadMs: settings.maxMailAheadHours * 3_600_000,
  };
}

export const defaultMailDates: MailDates = mailDatesOf(defaultSettings.messaging);
