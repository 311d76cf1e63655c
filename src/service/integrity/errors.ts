import { codedError, type ErrorTable } from '../../core/index.ts';

export const integrityErrors = {
  // Mail waits: an operator can put the row right.
  INTEGRITY_ROW_CHANGED: { kind: 'internal', isTransient: true },
  INTEGRITY_ROW_UNKNOWN: { kind: 'not-found' },
} as const satisfies ErrorTable;

/** A row of the database was not written by this service. */
export class IntegrityError extends codedError(integrityErrors) {}
