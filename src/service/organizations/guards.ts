import { createRowGuard, type GuardedTable, type RowGuard } from '../integrity/index.ts';
import type { OrganizationsTables } from './tables.ts';

const organizations: GuardedTable = {
  table: 'organization',
  key: 'id',
  columns: [
    'id',
    'name',
    'npi',
    'postal_address',
    'contacts',
    'limits',
    'closed_at',
    'closed_reason',
    'created_at',
    'updated_at',
  ],
};
/** Of the trust service; here because it names the owner, which is read below the trust service, too. */
const domains: GuardedTable = {
  table: 'hosted_domain',
  key: 'domain',
  columns: ['domain', 'organization_id'],
};

/** The tables whose rows carry a MAC (Decision 0024). */
export const organizationsGuardedTables: readonly GuardedTable[] = [organizations, domains];

export type DomainGuard = RowGuard<OrganizationsTables['hosted_domain']>;

export interface OrganizationsGuards {
  readonly organizations: RowGuard<OrganizationsTables['organization']>;
  readonly domains: DomainGuard;
}

export function createOrganizationsGuards(deps: Parameters<typeof createRowGuard>[0]): OrganizationsGuards {
  return {
    organizations: createRowGuard(deps, organizations),
    domains: createRowGuard(deps, domains),
  };
}
