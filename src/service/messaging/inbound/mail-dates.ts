/** Maximum distance between the dates of a message and its arrival. Beyond the register's retention a replay could not be detected. */
export interface MailDates {
  readonly maxAgeMs: number;
  readonly maxAheadMs: number;
}
