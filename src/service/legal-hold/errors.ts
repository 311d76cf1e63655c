import { codedError, type ErrorTable } from '../../core/index.ts';

export const legalHoldErrors = {
  LEGAL_HOLD_INVALID: { kind: 'invalid-input' },
  LEGAL_HOLD_EXISTS: { kind: 'conflict' },
  LEGAL_HOLD_UNKNOWN: { kind: 'not-found' },
} as const satisfies ErrorTable;

/** Why a legal hold cannot be added or released. */
export class LegalHoldError extends codedError(legalHoldErrors) {}
