import { CodedError, type ErrorOptionsFor, type ErrorTable } from '../../core/index.ts';

export const organizationsErrors = {
  ORGANIZATION_UNKNOWN: { kind: 'not-found', publicMessage: 'There is no such organization.' },
  ORGANIZATION_EXISTS: { kind: 'conflict', publicMessage: 'There is an organization of this id already.' },
  ORGANIZATION_SETTINGS_INVALID: { kind: 'invalid-input' },
} as const satisfies ErrorTable;

export type OrganizationsErrorCode = keyof typeof organizationsErrors;

export class OrganizationsError extends CodedError<OrganizationsErrorCode> {
  constructor(code: OrganizationsErrorCode, message: string, options: ErrorOptionsFor = {}) {
    super(organizationsErrors, code, message, options);
  }
}
