import { codedError, quoteForShell, type ErrorTable } from '../../core/index.ts';

export const organizationsErrors = {
  ORGANIZATION_UNKNOWN: { kind: 'not-found', publicMessage: 'Organization not found.' },
  ORGANIZATION_EXISTS: { kind: 'conflict', publicMessage: 'There is an organization of this id already.' },
  ORGANIZATION_SETTINGS_INVALID: { kind: 'invalid-input' },
  ORGANIZATION_BUILT_IN: {
    kind: 'conflict',
    publicMessage: "The operator's own organization is not closed.",
  },
  ORGANIZATION_CLOSED: { kind: 'conflict', publicMessage: 'The organization is closed.' },
  ORGANIZATION_ADDRESSES_FULL: { kind: 'conflict' },
  ORGANIZATION_DAY_FULL: { kind: 'rate-limited' },
} as const satisfies ErrorTable;

export class OrganizationsError extends codedError(organizationsErrors) {}

export const closedOrganization = (id: string): OrganizationsError =>
  new OrganizationsError(
    'ORGANIZATION_CLOSED',
    `organization ${id} is closed. Open it first: openhisp organization reopen ${quoteForShell(id)}`,
  );
