import { codedError, type ErrorTable } from '../../core/index.ts';

export const auditErrors = {
  AUDIT_CHAIN_BROKEN: { kind: 'internal' },
  AUDIT_CHAIN_RESET: { kind: 'internal' },
  AUDIT_STATEMENT_INVALID: { kind: 'internal' },
} as const satisfies ErrorTable;

export type AuditErrorCode = keyof typeof auditErrors;

/** The chain of audit events, or a signed statement about it, was changed after it was written. */
export class AuditError extends codedError(auditErrors) {}
