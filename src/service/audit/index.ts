/**
 * The audit trail: every action with its actor, its objects (message, record, setting), its time and its
 * outcome (SEC-02 to SEC-04).
 *
 * An append-only chain: each row carries the HMAC-SHA-256, under a key of the vault, of its canonical JSON
 * together with the hash of the row before, so that a change or a gap is detected and nobody without that key
 * can rewrite the chain. Signed checkpoints, kept elsewhere, show an end that was cut off (Decision 0024).
 * Rows hold identifiers only: never a subject, a body, patient data, tokens or secrets.
 * Appending is safe from several processes, because it happens under the database's write lock.
 *
 * Not here: the names of events; each service defines its own (`area.verb`).
 * Called by every service and by the command line.
 */
export { createAudit, type Audit } from './create-audit.ts';
export type { AuditEvent, AuditOutcome } from './audit-event.ts';
export { type AuditRecord, findFirstEvent, findLastEvent } from './find-events.ts';

export type { VerifiedChain } from './verify-chain.ts';
export { auditEncryptedColumns } from './chain-state.ts';
export { AuditError } from './errors.ts';
export type { SignedCheckpoint } from './checkpoints.ts';
export { appendToCheckpointFile, readCheckpointFile, renameCheckpointFile } from './checkpoint-file.ts';
export { readStatement, statementTypes, toJwk, type AuditPublicKey, type Checkpoint } from './statements.ts';
export { createRecentViews } from './recent-views.ts';
export {
  countEvents,
  findBounds,
  readEvents,
  type AuditPeriod,
  type EventCount,
  type PeriodBounds,
} from './summarize-events.ts';
export { searchEvents, type AuditSearch } from './search-events.ts';
export { actionText, groupOf } from './actions.ts';
export { runFrom, type AuditOrigin } from './origin.ts';
export { auditCsvHeader, toAuditCsv } from './audit-csv.ts';
