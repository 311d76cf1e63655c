import type { Kysely } from 'kysely';
import { tablesOf, type AnyTransaction } from '../../platform/index.ts';
import { OrganizationsError } from '../organizations/index.ts';
import type { TrustStore } from './change.ts';
import type { TrustTables } from './tables.ts';

/**
 * Refuses what a transaction has made of the addresses of these domains, if their organization is closed or
 * has more active ones than it may. Called behind the change of `trust_state`, for which changes wait for one
 * another. Throws ORGANIZATION_CLOSED, ORGANIZATION_ADDRESSES_FULL.
 */
export async function limitAddressesIn(
  tx: AnyTransaction,
  { ownership }: Pick<TrustStore, 'ownership'>,
  domains: readonly string[],
): Promise<void> {
  const owners = await ownership.findOwnersIn(tx, domains);
  for (const id of new Set(owners.values())) {
    const organization = await ownership.find(id, tx);
    if (organization === undefined || organization.closedAt !== undefined)
      throw new OrganizationsError('ORGANIZATION_CLOSED', `organization ${id} is closed`);
    const { addresses: allowed } = organization.limits;
    if (allowed === undefined) continue;
    const count = (await countActive(tablesOf(tx), id)).get(id) ?? 0;
    if (count <= allowed) continue;
    const detail = `Organization ${id} may have ${allowed} active addresses, and this would make ${count}.`;
    throw new OrganizationsError('ORGANIZATION_ADDRESSES_FULL', detail, {
      publicMessage: detail,
      problems: [{ field: 'address', reason: 'limit', detail }],
    });
  }
}

/** The number of active addresses by organization, or of one; those without any are absent. */
export async function countActive(
  db: Kysely<TrustTables>,
  only?: string,
): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('hosted_address as a')
    .innerJoin('hosted_domain as d', 'd.domain', 'a.domain')
    .where('a.status', '=', 'active')
    .$if(only !== undefined, (query) => query.where('d.organization_id', '=', only ?? ''))
    .select(({ fn }) => ['d.organization_id as id', fn.countAll<number>().as('count')])
    .groupBy('d.organization_id')
    .execute();
  return new Map(rows.map(({ id, count }) => [id, Number(count)]));
}
