import { createLookups, type Storage } from '../../platform/index.ts';
import { findOrganization } from './find-organization.ts';
import { createOrganizationsGuards } from './guards.ts';
import { createOwnership } from './ownership.ts';
import { organizationTopic } from './day-limits.ts';
import type { OrganizationsTables } from './tables.ts';

/** What the organizations with a limit of storage keep. */
export interface StorageLimits {
  /** Those of the domains whose organization has no room for so many octets more. */
  findFull(domains: readonly string[], octets: number): Promise<ReadonlySet<string>>;
}

interface StorageLimit {
  readonly organizationId: string;
  readonly storageOctets: number;
}

export function createStorageLimits({
  storage,
  ...guarding
}: { readonly storage: Storage } & Parameters<typeof createOrganizationsGuards>[0]): StorageLimits {
  const guards = createOrganizationsGuards(guarding);
  const ownership = createOwnership({ storage, guards });
  const lookups = createLookups(storage, organizationTopic);
  const db = storage.tables<OrganizationsTables>();

  const findLimit = (domain: string): Promise<StorageLimit | undefined> =>
    lookups.find(`storage ${domain}`, async () => {
      const organizationId = (await ownership.findOwnersIn(db, [domain])).get(domain);
      if (organizationId === undefined) return undefined;
      const storageOctets = (await findOrganization(db, guards, organizationId))?.limits.storageOctets;
      return storageOctets === undefined ? undefined : { organizationId, storageOctets };
    });

  return {
    async findFull(domains, octets) {
      const full = new Set<string>();
      for (const domain of new Set(domains)) {
        const limit = await findLimit(domain);
        if (limit === undefined) continue;
        const row = await db
          .selectFrom('organization_stored')
          .select('octets')
          .where('organization_id', '=', limit.organizationId)
          .executeTakeFirst();
        if (Number(row?.octets ?? 0) + octets > limit.storageOctets) full.add(domain);
      }
      return full;
    },
  };
}
