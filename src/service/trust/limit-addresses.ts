import type { Kysely } from 'kysely';
import { addressKey, domainOf } from '../../lib/values/index.ts';
import { tablesOf, type AnyTransaction } from '../../platform/index.ts';
import { closedOrganization, OrganizationsError } from '../organizations/index.ts';
import type { TrustStore } from './change.ts';
import { unknownDomain } from './errors.ts';
import type { AddressStatus, HostedAddress, TrustTables } from './tables.ts';

/**
 * Refuses what a transaction has made of the addresses of these domains, if their organization is closed or
 * has more active ones than it may; the latter only if a domain is among `grown`, those with an address that
 * was not active there before. Called behind the change of `trust_state`, for which changes wait for one
 * another. Throws ORGANIZATION_CLOSED, ORGANIZATION_ADDRESSES_FULL.
 */
export async function limitAddressesIn(
  tx: AnyTransaction,
  { ownership }: Pick<TrustStore, 'ownership'>,
  domains: readonly string[],
  grown: readonly string[] = domains,
): Promise<void> {
  const owners = await ownership.findOwnersIn(tx, domains);
  const counted = new Set(grown.map((domain) => owners.get(domain)));
  for (const id of new Set(owners.values())) {
    const organization = await ownership.find(id, tx);
    if (organization === undefined || organization.closedAt !== undefined) throw closedOrganization(id);
    const { addresses: allowed } = organization.limits;
    if (allowed === undefined || !counted.has(id)) continue;
    const count = (await countActive(tablesOf(tx), id)).get(id) ?? 0;
    if (count <= allowed) continue;
    const detail = `Organization ${id} may have ${allowed} active addresses, and this would make ${count}.`;
    throw new OrganizationsError('ORGANIZATION_ADDRESSES_FULL', detail, {
      publicMessage: detail,
      problems: [{ field: 'address', reason: 'limit', detail }],
    });
  }
}

interface PlannedRows {
  readonly rows: readonly HostedAddress[];
  /** The statuses that are stored, by lower-cased address. */
  readonly before: ReadonlyMap<string, AddressStatus>;
  readonly isTogether: boolean;
}

/** All addresses of an organization for each that may be active: disabled ones cost space, too. */
const allForEachActive = 10;

/** See `findBeyondLimitsIn` of the addresses. */
export async function findBeyondLimitsIn(
  tx: AnyTransaction,
  { ownership }: Pick<TrustStore, 'ownership'>,
  { rows, before, isTogether }: PlannedRows,
): Promise<ReadonlyMap<number, string>> {
  const refused = new Map<number, string>();
  const owners = await ownership.findOwnersIn(
    tx,
    rows.map(({ address }) => domainOf(address)),
  );
  const states = new Map<string, { allowed: number; count: number; all: number } | 'closed'>();
  for (const id of new Set(owners.values())) {
    const organization = await ownership.find(id, tx);
    if (organization === undefined || organization.closedAt !== undefined) states.set(id, 'closed');
    else if (organization.limits.addresses !== undefined)
      states.set(id, {
        allowed: organization.limits.addresses,
        count: (await countActive(tablesOf(tx), id)).get(id) ?? 0,
        all: (await countAll(tablesOf(tx), id)).get(id) ?? 0,
      });
  }
  const planned = rows.map(({ address, status }) => ({
    owner: owners.get(domainOf(address)) ?? '',
    status,
    wasActive: before.get(addressKey(address)) === 'active',
    isNew: !before.has(addressKey(address)),
  }));
  const isEnded = ({ status, wasActive }: (typeof planned)[number]): boolean =>
    status === 'disabled' && wasActive;
  if (isTogether)
    for (const row of planned.filter(isEnded)) {
      const state = states.get(row.owner);
      if (typeof state === 'object') state.count--;
    }
  for (const [position, row] of planned.entries()) {
    const state = states.get(row.owner);
    if (state === 'closed') refused.set(position, `Organization ${row.owner} is closed.`);
    else if (state === undefined) continue;
    else if (row.isNew && state.all >= state.allowed * allForEachActive)
      refused.set(
        position,
        `Organization ${row.owner} may have ${state.allowed * allForEachActive} addresses, with the disabled ones, and this would be one more.`,
      );
    else if (isEnded(row)) state.count -= isTogether ? 0 : 1;
    else if (row.status === 'active' && !row.wasActive) {
      if (state.count < state.allowed) state.count++;
      else
        refused.set(
          position,
          `Organization ${row.owner} may have ${state.allowed} active addresses, and this would be one more.`,
        );
    }
    if (typeof state === 'object' && row.isNew && !refused.has(position)) state.all++;
  }
  return refused;
}

/** Of domains that may have been removed since they were looked at. Throws TRUST_DOMAIN_UNKNOWN. */
export async function requireHostedIn(
  tx: AnyTransaction,
  { ownership }: Pick<TrustStore, 'ownership'>,
  domains: readonly string[],
): Promise<void> {
  const owners = await ownership.findOwnersIn(tx, domains);
  const missing = domains.find((domain) => !owners.has(domain));
  if (missing !== undefined) unknownDomain(missing);
}

/**
 * Called under the lock of the domain, which closing and removal take too. Throws ORGANIZATION_CLOSED,
 * TRUST_DOMAIN_UNKNOWN.
 */
export async function refuseClosedIn(
  tx: AnyTransaction,
  { ownership }: Pick<TrustStore, 'ownership'>,
  owner: string,
): Promise<void> {
  const domain = owner.slice(owner.lastIndexOf('@') + 1);
  const id = (await ownership.findOwnersIn(tx, [domain])).get(domain);
  if (id === undefined) return unknownDomain(domain);
  const organization = await ownership.find(id, tx);
  if (organization === undefined || organization.closedAt !== undefined) throw closedOrganization(id);
}

/** The number of active addresses by organization, or of one; those without any are absent. */
export function countActive(db: Kysely<TrustTables>, only?: string): Promise<ReadonlyMap<string, number>> {
  return countBy(db, only, 'active');
}

const countAll = (db: Kysely<TrustTables>, only: string): Promise<ReadonlyMap<string, number>> =>
  countBy(db, only, undefined);

async function countBy(
  db: Kysely<TrustTables>,
  only: string | undefined,
  status: AddressStatus | undefined,
): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('hosted_address as a')
    .innerJoin('hosted_domain as d', 'd.domain', 'a.domain')
    .$if(status !== undefined, (query) => query.where('a.status', '=', status ?? 'active'))
    .$if(only !== undefined, (query) => query.where('d.organization_id', '=', only ?? ''))
    .select(({ fn }) => ['d.organization_id as id', fn.countAll<number>().as('count')])
    .groupBy('d.organization_id')
    .execute();
  return new Map(rows.map(({ id, count }) => [id, Number(count)]));
}
