import type { Kysely } from 'kysely';
import { addressKey, domainOf, isQualifiedDomain, type DirectAddress } from '../../lib/values/index.ts';
import { quoteForShell } from '../../core/index.ts';
import { tablesOf, type AnyTransaction } from '../../platform/index.ts';
import { isOrganizationOnHold, lockLegalHolds } from '../legal-hold/index.ts';
import { closedOrganization, operatorOrganization } from '../organizations/index.ts';
import { applyChangesIn, type TrustStore } from './change.ts';
import { countByDomain } from './count-by-domain.ts';
import { TrustError, unknownDomain } from './errors.ts';
import { findBeyondLimitsIn, limitAddressesIn, requireHostedIn } from './limit-addresses.ts';
import type { AddressStatus, HostedAddress, TrustTables } from './tables.ts';

export interface PreparedAddresses {
  /** Stores those that are new or differ, each with its audit row; with `isDry`, none. */
  storeIn(tx: AnyTransaction, isDry: boolean): Promise<readonly ('added' | 'changed' | 'unchanged')[]>;
}

export interface OwnedPage {
  readonly domain?: string | undefined;
  readonly status?: AddressStatus | undefined;
  /** The lower-cased address that the page begins behind. */
  readonly after?: string | undefined;
  readonly limit: number;
}

/** Our domains and the addresses under them. */
export interface Addresses {
  /**
   * Adds a domain, the operator's own unless an organization is given; adding it again changes nothing.
   * Throws TRUST_DOMAIN_INVALID, ORGANIZATION_UNKNOWN, and TRUST_DOMAIN_TAKEN if it belongs to another
   * organization, or did before it was removed, or a client outside the organization has addresses of it.
   */
  addDomain(domain: string, organizationId?: string): Promise<void>;
  /**
   * With its addresses and keys. Throws TRUST_DOMAIN_UNKNOWN, ORGANIZATION_UNKNOWN, ORGANIZATION_CLOSED (of
   * either), TRUST_DOMAIN_TAKEN, TRUST_DOMAIN_HELD, ORGANIZATION_ADDRESSES_FULL.
   */
  moveDomain(domain: string, organizationId: string): Promise<void>;
  /**
   * Keeps domains with their organization until the end of the transaction, of which it takes the first lock.
   * Throws TRUST_DOMAIN_UNKNOWN for those that are not its own, ORGANIZATION_UNKNOWN, ORGANIZATION_CLOSED.
   */
  lockOwnedIn(tx: AnyTransaction, organizationId: string, domains: readonly string[]): Promise<void>;
  /** The organization of each hosted domain. Throws INTEGRITY_ROW_CHANGED. */
  findOwners(): Promise<ReadonlyMap<string, string>>;
  listDomains(): Promise<readonly string[]>;
  isHostedDomain(domain: string): Promise<boolean>;
  /** Of a domain whose organization is closed no address is active. Undefined: it is not hosted. */
  findDomainState(domain: string): Promise<'open' | 'closed' | undefined>;
  /**
   * Adds an address under a hosted domain, or changes its status. Throws TRUST_DOMAIN_UNKNOWN,
   * ORGANIZATION_CLOSED, ORGANIZATION_ADDRESSES_FULL.
   */
  putAddress(address: DirectAddress, status?: AddressStatus): Promise<void>;
  /** Many, to be stored at once; throws as `putAddress`: what is slow is done before the transaction. */
  prepareAddresses(
    addresses: readonly { readonly address: DirectAddress; readonly status: AddressStatus }[],
  ): Promise<PreparedAddresses>;
  /**
   * The statuses of those that are hosted, by lower-cased address; they stay as they are until the end of the
   * transaction. Throws INTEGRITY_ROW_CHANGED.
   */
  findStatusesIn(
    tx: AnyTransaction,
    addresses: readonly DirectAddress[],
  ): Promise<ReadonlyMap<string, AddressStatus>>;
  /**
   * Which rows cannot be stored because their organization is closed or has as many active addresses as it
   * may, by their position, and why. With `isTogether` the rows count as one change, otherwise in their order
   * as far as they can be stored.
   */
  findBeyondLimitsIn(
    tx: AnyTransaction,
    rows: readonly HostedAddress[],
    isTogether: boolean,
  ): Promise<ReadonlyMap<number, string>>;
  findAddress(address: DirectAddress): Promise<HostedAddress | undefined>;
  /** Those of an organization, by lower-cased address. */
  listOwned(organizationId: string, page: OwnedPage): Promise<readonly HostedAddress[]>;
  listAddresses(domain: string): Promise<readonly HostedAddress[]>;
  /** The number of addresses by domain; domains without any are absent. */
  countAddresses(): Promise<ReadonlyMap<string, number>>;
}

/** The name in lower case. Throws TRUST_DOMAIN_UNKNOWN. */
export async function requireHostedDomain(
  trust: Pick<Addresses, 'isHostedDomain'>,
  name: string,
): Promise<string> {
  const domain = name.toLowerCase();
  if (await trust.isHostedDomain(domain)) return domain;
  return unknownDomain(domain);
}

/** An address stays as it was first written: the case of its letters says nothing. */
function spellingOf(address: DirectAddress, before: string | undefined): DirectAddress {
  return before?.toLowerCase() === addressKey(address) ? (before as DirectAddress) : address;
}

const domainTaken = (text: string): TrustError =>
  new TrustError('TRUST_DOMAIN_TAKEN', text, {
    publicMessage: `${text[0]?.toUpperCase() ?? ''}${text.slice(1)}.`,
  });

export function createAddresses(store: TrustStore): Addresses {
  const { clock, guards } = store;
  const db = store.storage.tables<TrustTables>();

  async function isHostedDomain(domain: string): Promise<boolean> {
    return (await findDomainState(domain)) !== undefined;
  }

  function findDomainState(domain: string): Promise<'open' | 'closed' | undefined> {
    const name = domain.toLowerCase();
    return store.lookups.find(`domain ${name}`, async () => {
      const row = await db
        .selectFrom('hosted_domain')
        .selectAll()
        .where('domain', '=', name)
        .executeTakeFirst();
      if (row === undefined) return undefined;
      const { organization_id: owner } = await guards.domains.check(row);
      const organization = await store.ownership.find(owner);
      return organization === undefined || organization.closedAt !== undefined ? 'closed' : 'open';
    });
  }

  /** Throws TRUST_DOMAIN_TAKEN. */
  async function refuseHeld(tx: AnyTransaction, domain: string, organizationId: string): Promise<void> {
    const holder = await store.findHolder(tx, domain, organizationId);
    if (holder !== undefined)
      throw domainTaken(
        `client ${holder.clientId} of organization ${holder.organizationId} has addresses of ${domain}; take them from it first`,
      );
  }

  /** Nobody gets to read what another organization received. Throws TRUST_DOMAIN_TAKEN. */
  async function refuseFormer(
    tx: Kysely<TrustTables>,
    domain: string,
    organizationId: string,
  ): Promise<void> {
    const row = await tx
      .selectFrom('removed_domain')
      .selectAll()
      .where('domain', '=', domain)
      .executeTakeFirst();
    if (row === undefined) return;
    const { organization_id: former } = await guards.removedDomains.check(row);
    if (former === organizationId) return;
    const shown = quoteForShell(domain);
    throw domainTaken(
      `${domain} was removed from organization ${former}, and what it received may still be stored. To give that away with it: openhisp domain add ${shown} --organization ${quoteForShell(former)}, then openhisp organization move-domain ${shown} ${quoteForShell(organizationId)}`,
    );
  }

  async function addDomain(domain: string, organizationId?: string): Promise<void> {
    if (!isQualifiedDomain(domain)) {
      throw new TrustError(
        'TRUST_DOMAIN_INVALID',
        'A Direct domain is a fully qualified name of letters, digits and hyphens, without a final dot.',
      );
    }
    if (organizationId === undefined && (await isHostedDomain(domain))) return;
    const row = {
      domain: domain.toLowerCase(),
      organization_id: organizationId ?? operatorOrganization,
      created_at: clock.now().getTime(),
    };
    await store.storage.transaction<TrustTables, void>(async (tx) => {
      await store.ownership.lockIn(tx, row.organization_id);
      const owner = (await store.ownership.findOwnersIn(tx, [row.domain])).get(row.domain);
      if (owner !== undefined && owner !== (organizationId ?? owner))
        throw domainTaken(
          `${row.domain} belongs to organization ${owner}. Move it: openhisp organization move-domain ${quoteForShell(row.domain)} ${quoteForShell(row.organization_id)}`,
        );
      if (owner !== undefined) {
        // This node may still remember that it is not hosted.
        store.lookups.clear();
        return;
      }
      await refuseHeld(tx, row.domain, row.organization_id);
      await refuseFormer(tx, row.domain, row.organization_id);
      await tx.deleteFrom('removed_domain').where('domain', '=', row.domain).execute();
      await tx.insertInto('hosted_domain').values(guards.domains.withMac(row)).execute();
      await applyChangesIn(tx, store, [
        { action: 'domain.add', objects: { domain: row.domain, organization: row.organization_id } },
      ]);
    });
  }

  async function moveDomain(name: string, organizationId: string): Promise<void> {
    const domain = name.toLowerCase();
    await store.storage.transaction<TrustTables, void>(async (tx) => {
      // Before any other lock, and so that no hold is added until the end.
      await lockLegalHolds(store.storage, tx);
      await store.ownership.lockIn(tx, organizationId);
      const { mac: _old, ...row } = await guards.domains.check(
        (await tx.selectFrom('hosted_domain').selectAll().where('domain', '=', domain).executeTakeFirst()) ??
          unknownDomain(domain),
      );
      if (row.organization_id === organizationId) return;
      // The end of its keys is planned, which opening the organization again takes back.
      if ((await store.ownership.find(row.organization_id, tx))?.closedAt !== undefined)
        throw closedOrganization(row.organization_id);
      if (await isOrganizationOnHold(tx, row.organization_id))
        throw new TrustError(
          'TRUST_DOMAIN_HELD',
          `organization ${row.organization_id} is on legal hold, under which the mail of ${domain} stays. Release it first: openhisp legal-hold list`,
        );
      await refuseHeld(tx, domain, organizationId);
      await tx
        .updateTable('hosted_domain')
        .set(guards.domains.withMac({ ...row, organization_id: organizationId }))
        .where('domain', '=', domain)
        .execute();
      await applyChangesIn(tx, store, [
        { action: 'domain.move', objects: { domain, from: row.organization_id, to: organizationId } },
      ]);
      await limitAddressesIn(tx, store, [domain]);
    });
  }

  async function putAddress(address: DirectAddress, status: AddressStatus = 'active'): Promise<void> {
    const domain = domainOf(address);
    const address_key = addressKey(address);
    await store.storage.transaction<TrustTables, void>(async (tx) => {
      await requireHostedIn(tx, store, [domain]);
      const query = tx.selectFrom('hosted_address').select(['address', 'status']);
      const before = await store.storage
        .forUpdate(query.where('address_key', '=', address_key))
        .executeTakeFirst();
      const { created_at, ...row } = guards.addresses.withMac({
        address_key,
        address: spellingOf(address, before?.address),
        domain,
        status,
        created_at: clock.now().getTime(),
      });
      await tx
        .insertInto('hosted_address')
        .values({ ...row, created_at })
        .onConflict((conflict) => conflict.column('address_key').doUpdateSet(row))
        .execute();
      await applyChangesIn(tx, store, [
        { action: `address.${status === 'active' ? 'enable' : 'disable'}`, objects: { address } },
      ]);
      if (status === 'active')
        await limitAddressesIn(tx, store, [domain], before?.status === 'active' ? [] : [domain]);
    });
  }

  /** Rows of one statement. */
  const batchSize = 500;

  async function findKnownIn(
    anyTx: AnyTransaction,
    given: readonly string[],
  ): Promise<Map<string, { readonly address: string; readonly status: AddressStatus }>> {
    const tx = tablesOf<TrustTables>(anyTx);
    const known = new Map<string, { readonly address: string; readonly status: AddressStatus }>();
    // In one order, so that two transactions do not wait for each other.
    const keys = given.toSorted();
    for (let start = 0; start < keys.length; start += batchSize) {
      const query = tx
        .selectFrom('hosted_address')
        .selectAll()
        .where('address_key', 'in', keys.slice(start, start + batchSize))
        .orderBy('address_key');
      const found = await store.storage.forUpdate(query).execute();
      for (const row of await guards.addresses.checkAll(found)) known.set(row.address_key, row);
    }
    return known;
  }

  async function findStatusesIn(
    tx: AnyTransaction,
    addresses: readonly DirectAddress[],
  ): Promise<ReadonlyMap<string, AddressStatus>> {
    const known = await findKnownIn(tx, addresses.map(addressKey));
    return new Map([...known].map(([key, { status }]) => [key, status]));
  }

  async function prepareAddresses(
    addresses: readonly { readonly address: DirectAddress; readonly status: AddressStatus }[],
  ): Promise<PreparedAddresses> {
    const nowMs = clock.now().getTime();
    const rows = addresses.map(({ address, status }) =>
      guards.addresses.withMac({
        address_key: addressKey(address),
        address,
        domain: domainOf(address),
        status,
        created_at: nowMs,
      }),
    );
    return {
      async storeIn(anyTx, isDry) {
        const tx = tablesOf<TrustTables>(anyTx);
        const known = await findKnownIn(
          tx,
          rows.map((row) => row.address_key),
        );
        const outcomes = rows.map((row) => {
          const old = known.get(row.address_key);
          if (old === undefined) return 'added' as const;
          return old.status === row.status ? 'unchanged' : 'changed';
        });
        const changed = rows
          .filter((_row, index) => outcomes[index] !== 'unchanged')
          .map(({ mac, ...row }) => {
            const address = spellingOf(row.address as DirectAddress, known.get(row.address_key)?.address);
            return address === row.address ? { ...row, mac } : guards.addresses.withMac({ ...row, address });
          });
        if (isDry || changed.length === 0) return outcomes;
        await requireHostedIn(
          tx,
          store,
          changed.map(({ domain }) => domain),
        );
        for (let start = 0; start < changed.length; start += batchSize)
          await tx
            .insertInto('hosted_address')
            .values(changed.slice(start, start + batchSize))
            .onConflict((conflict) =>
              conflict.column('address_key').doUpdateSet((eb) => ({
                address: eb.ref('excluded.address'),
                domain: eb.ref('excluded.domain'),
                status: eb.ref('excluded.status'),
                mac: eb.ref('excluded.mac'),
              })),
            )
            .execute();
        await applyChangesIn(
          anyTx,
          store,
          changed.map(({ address, status }) => ({
            action: `address.${status === 'active' ? 'enable' : 'disable'}`,
            objects: { address },
          })),
        );
        const active = changed.filter(({ status }) => status === 'active');
        const grown = active.filter(({ address_key: key }) => known.get(key)?.status !== 'active');
        await limitAddressesIn(
          anyTx,
          store,
          active.map(({ domain }) => domain),
          grown.map(({ domain }) => domain),
        );
        return outcomes;
      },
    };
  }

  function findAddress(address: DirectAddress): Promise<HostedAddress | undefined> {
    const key = addressKey(address);
    return store.lookups.find(`address ${key}`, async () => {
      const row = await db
        .selectFrom('hosted_address')
        .selectAll()
        .where('address_key', '=', key)
        .executeTakeFirst();
      if (row === undefined) return undefined;
      await guards.addresses.check(row);
      const isOpen = (await findDomainState(row.domain)) === 'open';
      return { address: row.address as DirectAddress, status: isOpen ? row.status : 'disabled' };
    });
  }

  return {
    addDomain,
    moveDomain,
    async lockOwnedIn(tx, organizationId, domains) {
      await store.ownership.lockIn(tx, organizationId);
      const owners = await store.ownership.findOwnersIn(tx, domains);
      const other = domains.find((domain) => owners.get(domain) !== organizationId);
      if (other !== undefined) unknownDomain(other);
    },
    async findOwners() {
      const rows = await guards.domains.checkAll(await db.selectFrom('hosted_domain').selectAll().execute());
      return new Map(rows.map((row) => [row.domain, row.organization_id]));
    },
    isHostedDomain,
    findDomainState,
    putAddress,
    prepareAddresses,
    findStatusesIn,
    async findBeyondLimitsIn(tx, rows, isTogether) {
      const before = await findStatusesIn(
        tx,
        rows.map(({ address }) => address),
      );
      return findBeyondLimitsIn(tx, store, { rows, before, isTogether });
    },
    findAddress,
    async listOwned(organizationId, { domain, status, after, limit }) {
      const rows = await db
        .selectFrom('hosted_address as a')
        .innerJoin('hosted_domain as d', 'd.domain', 'a.domain')
        .selectAll('a')
        .where('d.organization_id', '=', organizationId)
        .$if(domain !== undefined, (query) => query.where('a.domain', '=', domain?.toLowerCase() ?? ''))
        .$if(status !== undefined, (query) => query.where('a.status', '=', status ?? 'active'))
        .$if(after !== undefined, (query) => query.where('a.address_key', '>', after ?? ''))
        .orderBy('a.address_key')
        .limit(limit)
        .execute();
      const owners = await store.ownership.findOwnersIn(
        db,
        rows.map((row) => row.domain),
      );
      return (await guards.addresses.checkAll(rows))
        .filter((row) => owners.get(row.domain) === organizationId)
        .map((row) => ({ address: row.address as DirectAddress, status: row.status }));
    },
    async listDomains() {
      const rows = await db.selectFrom('hosted_domain').select('domain').orderBy('domain').execute();
      return rows.map((row) => row.domain);
    },
    async listAddresses(domain) {
      const rows = await db
        .selectFrom('hosted_address')
        .select(['address', 'status'])
        .where('domain', '=', domain.toLowerCase())
        .orderBy('address_key')
        .execute();
      return rows.map((row) => ({ address: row.address as DirectAddress, status: row.status }));
    },
    countAddresses: () => countByDomain(db, 'hosted_address'),
  };
}
