import { guardTables } from '../integrity/index.ts';
import type { OrganizationsTables } from './tables.ts';

const guarded = guardTables<OrganizationsTables>()({
  organizations: [
    'organization',
    'id name npi postal_address contacts limits closed_at closed_reason created_at updated_at',
  ],
  /** Of the trust service; here because it names the owner, which is read below the trust service, too. */
  domains: ['hosted_domain', 'domain organization_id'],
});

/** The tables whose rows carry a MAC (Decision 0024). */
export const organizationsGuardedTables = guarded.tables;

export const createOrganizationsGuards = guarded.create;

export type OrganizationsGuards = ReturnType<typeof createOrganizationsGuards>;

export type DomainGuard = OrganizationsGuards['domains'];
