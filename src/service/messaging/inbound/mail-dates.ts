/** How far the dates of a message may be from its arrival. Beyond the register's memory a replay could not be detected. */
export interface MailDates {
  readonly maxAgeMs: number;
  readonly maxAheadMs: number;
}
