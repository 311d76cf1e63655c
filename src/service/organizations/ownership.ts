import type { Kysely } from 'kysely';
import { tablesOf, type AnyTransaction, type Storage } from '../../platform/index.ts';
import { closedOrganization, OrganizationsError } from './errors.ts';
import { findOrganization } from './find-organization.ts';
import type { Organization } from './organization.ts';
import type { OrganizationsGuards } from './guards.ts';
import type { OrganizationsTables } from './tables.ts';

/**
 * Whose a domain is. The services that give domains to organizations, and addresses of domains to clients,
 * decide under one lock; otherwise a client could be given an address of a domain that is moved away at the
 * same moment.
 */
export interface Ownership {
  /**
   * Takes the lock, before any other of the transaction, and refuses an organization that is not
   * known or is closed. Throws ORGANIZATION_UNKNOWN, ORGANIZATION_CLOSED.
   */
  lockIn(tx: AnyTransaction, organizationId: string): Promise<void>;
  /** The lock alone, also for what belongs to a closed organization. */
  lockAllIn(tx: AnyTransaction): Promise<void>;
  /** Undefined if there is none, which stands for a closed one. Throws INTEGRITY_ROW_CHANGED. */
  find(organizationId: string, tx?: AnyTransaction): Promise<Organization | undefined>;
  /** Those that an organization owns. Throws INTEGRITY_ROW_CHANGED. */
  listDomains(organizationId: string): Promise<readonly string[]>;
  /** Owners by domain; those that are not hosted are absent. Throws INTEGRITY_ROW_CHANGED. */
  findOwnersIn(tx: AnyTransaction, domains: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

const domainsPerQuery = 500;

export function createOwnership({
  storage,
  guards,
}: {
  readonly storage: Storage;
  readonly guards: OrganizationsGuards;
}): Ownership {
  const find = (db: Kysely<OrganizationsTables>, id: string): Promise<Organization | undefined> =>
    findOrganization(db, guards, id);

  const lockAllIn = async (tx: AnyTransaction): Promise<void> => {
    const state = tablesOf<OrganizationsTables>(tx).selectFrom('organization_state').select('id');
    await storage.forUpdate(state).execute();
  };

  return {
    lockAllIn,
    find: (id, tx) => find(tx === undefined ? storage.tables() : tablesOf(tx), id),
    async lockIn(anyTx, organizationId) {
      await lockAllIn(anyTx);
      const organization = await find(tablesOf<OrganizationsTables>(anyTx), organizationId);
      if (organization === undefined)
        throw new OrganizationsError('ORGANIZATION_UNKNOWN', `there is no organization ${organizationId}`);
      if (organization.closedAt !== undefined) throw closedOrganization(organizationId);
    },
    async listDomains(organizationId) {
      const rows = await storage
        .tables<OrganizationsTables>()
        .selectFrom('hosted_domain')
        .selectAll()
        .where('organization_id', '=', organizationId)
        .execute();
      return (await guards.domains.checkAll(rows)).map(({ domain }) => domain);
    },
    async findOwnersIn(anyTx, domains) {
      const tx = tablesOf<OrganizationsTables>(anyTx);
      const names = [...new Set(domains)];
      const owners = new Map<string, string>();
      for (let start = 0; start < names.length; start += domainsPerQuery) {
        const rows = await tx
          .selectFrom('hosted_domain')
          .selectAll()
          .where('domain', 'in', names.slice(start, start + domainsPerQuery))
          .execute();
        for (const row of await guards.domains.checkAll(rows)) owners.set(row.domain, row.organization_id);
      }
      return owners;
    },
  };
}
