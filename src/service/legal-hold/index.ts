/**
 * Legal holds: what retention must not delete, and the one way by which retention deletes (Decision 0034).
 *
 * The rule reads the tables of other services by name, because all of them ask it; none of them is imported
 * here. Not to be confused with a destination on hold, to which nothing is sent.
 */
export { createLegalHolds, findHoldsOn, type LegalHold, type LegalHolds } from './legal-holds.ts';
export { deleteOldRows, type OldRows } from './delete-old-rows.ts';
export {
  isAnyLegalHold,
  isAttemptOnHold,
  isMailOnHold,
  isMessageOnHold,
  isNotificationOnHold,
  isOrganizationOnHold,
  isReceivedMessageOnHold,
  isSentMessageOnHold,
  lockLegalHolds,
} from './rule.ts';
export type { LegalHoldTables } from './tables.ts';
