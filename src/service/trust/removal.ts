import { sql, type Kysely } from 'kysely';
import { countOf, quoteForShell } from '../../core/index.ts';
import { tablesOf, type AnyTransaction } from '../../platform/index.ts';
import { lockLegalHolds } from '../legal-hold/index.ts';
import { applyChangesIn, type Change, type TrustStore } from './change.ts';
import { TrustError, unknownDomain } from './errors.ts';
import { listActivePairs, lockDomain } from './keys.ts';
import type { TrustTables } from './tables.ts';

/** What keeps a domain from being removed now, and what goes with it. */
export interface DomainRemoval {
  readonly domain: string;
  readonly organizationId: string;
  readonly addresses: number;
  readonly activeAddresses: number;
  /** Active key pairs, which are retired. */
  readonly keys: number;
  readonly keyRequests: number;
  readonly anchors: number;
  readonly bundles: number;
  /** Received messages that no client has acknowledged; they stay as long as the retention says. */
  readonly unread: number;
  /** Inbound mail that could not be worked on; it can be retried only while the domain is hosted. */
  readonly deadLetters: number;
  /** Sentences, each with what to do first; the domain is removed only if there is none. */
  readonly obstacles: readonly string[];
}

/** The end of a hosted domain (Decision 0038). */
export interface Removal {
  /** Throws TRUST_DOMAIN_UNKNOWN, INTEGRITY_ROW_CHANGED. */
  describeRemoval(domain: string): Promise<DomainRemoval>;
  /**
   * Throws as `removeDomainIn` for what is in the way already, without its locks, under which everybody would
   * wait for the look through the queues.
   */
  refuseRemoval(domain: string): Promise<void>;
  /**
   * Removes a domain that has no active address and nothing under way, with its addresses, anchors and
   * bundles; its keys are retired, so that they still decrypt. `unlistIn` takes the addresses, in lower case,
   * out of the directory in the same transaction. Throws TRUST_DOMAIN_UNKNOWN, TRUST_DOMAIN_HELD,
   * TRUST_DOMAIN_IN_USE.
   */
  removeDomainIn(
    tx: AnyTransaction,
    domain: string,
    unlistIn: (addressKeys: readonly string[]) => Promise<unknown>,
  ): Promise<DomainRemoval>;
}

/** Rows of one statement. */
const batchSize = 500;

export function createRemoval(store: TrustStore): Removal {
  const { clock, guards, storage } = store;

  /** The parts of the domain, and what is in the way; the holds first. */
  async function describe(
    anyTx: AnyTransaction,
    name: string,
  ): Promise<{ readonly removal: DomainRemoval; readonly isHeld: boolean }> {
    const tx = tablesOf<TrustTables>(anyTx);
    const domain = name.toLowerCase();
    const row = await tx
      .selectFrom('hosted_domain')
      .selectAll()
      .where('domain', '=', domain)
      .executeTakeFirst();
    if (row === undefined) return unknownDomain(domain);
    const { organization_id: organizationId } = await guards.domains.check(row);
    const organization = await store.ownership.find(organizationId, anyTx);
    const isOpen = organization !== undefined && organization.closedAt === undefined;
    const { active, ...counts } = await countParts(tx, domain);
    const activeAddresses = isOpen ? active : 0;
    const holds = await listHolds(tx, domain, organizationId);
    const underWay = await describeUnderWay(tx, domain);
    const shown = quoteForShell(domain);
    const obstacles = [
      ...holds.map((subject) => `${subject} is on legal hold. Release it first: openhisp legal-hold list.`),
      ...(activeAddresses === 0
        ? []
        : [
            `${countOf(activeAddresses, 'address', 'addresses')} of ${domain} can still send and receive. Disable them first, so that nothing new comes: openhisp domain disable ${shown}.`,
          ]),
      ...(underWay === '' ? [] : [underWay]),
    ];
    return {
      removal: { domain, organizationId, ...counts, activeAddresses, obstacles },
      isHeld: holds.length > 0,
    };
  }

  async function requireRemovable(tx: AnyTransaction, name: string): Promise<DomainRemoval> {
    const { removal, isHeld } = await describe(tx, name);
    if (removal.obstacles.length > 0) throw inTheWay(removal.obstacles, isHeld);
    return removal;
  }

  async function retireKeys(tx: Kysely<TrustTables>, domain: string): Promise<Change[]> {
    const pairs = await listActivePairs(store, tx, domain);
    for (const { mac: _old, ...pair } of pairs)
      await tx
        .updateTable('key_pair')
        .set(guards.keys.withMac({ ...pair, status: 'retired' }))
        .where('id', '=', pair.id)
        .execute();
    return pairs.map(({ id }) => ({ action: 'key.retire', objects: { keyPair: id } }));
  }

  return {
    describeRemoval: async (domain) => (await describe(storage.tables<TrustTables>(), domain)).removal,
    async refuseRemoval(domain) {
      await requireRemovable(storage.tables<TrustTables>(), domain);
    },
    async removeDomainIn(anyTx, name, unlistIn) {
      const tx = tablesOf<TrustTables>(anyTx);
      // Before any other lock, and so that no hold is added until the end.
      await lockLegalHolds(storage, anyTx);
      await store.ownership.lockAllIn(anyTx);
      const removal = await requireRemovable(anyTx, name);
      const { domain, organizationId } = removal;
      const addresses = await tx
        .selectFrom('hosted_address as a')
        .leftJoin('address_proofing as p', 'p.address_key', 'a.address_key')
        .select(['a.address_key', 'a.address', 'p.level', 'p.method', 'p.proofed_on', 'p.verifier'])
        .select('p.reference')
        .where('a.domain', '=', domain)
        .execute();
      const keys = addresses.map(({ address_key: key }) => key);
      await unlistIn(keys);
      // In the order of Decision 0022: a refresh that holds a bundle stores its anchors first.
      await tx.deleteFrom('trust_bundle_change').where('bundle_id', 'in', bundlesOf(tx, domain)).execute();
      await tx.deleteFrom('trust_bundle').where('domain', '=', domain).execute();
      await lockDomain(store, tx, domain);
      const keyChanges = await retireKeys(tx, domain);
      await tx.deleteFrom('trust_anchor').where('domain', '=', domain).execute();
      await tx.deleteFrom('key_request').where('domain', '=', domain).execute();
      for (let start = 0; start < keys.length; start += batchSize) {
        const some = keys.slice(start, start + batchSize);
        await tx.deleteFrom('address_forwarding').where('address_key', 'in', some).execute();
        await tx.deleteFrom('address_proofing').where('address_key', 'in', some).execute();
        const gone = await tx
          .deleteFrom('hosted_address')
          .where('address_key', 'in', some)
          .returning('status')
          .execute();
        // Enabled behind the look at what is in the way.
        if (gone.some(({ status }) => status === 'active'))
          await refuseEnabled(anyTx, organizationId, domain);
      }
      const former = guards.removedDomains.withMac({
        domain,
        organization_id: organizationId,
        removed_at: clock.now().getTime(),
      });
      await tx
        .insertInto('removed_domain')
        .values(former)
        .onConflict((conflict) => conflict.column('domain').doUpdateSet(former))
        .execute();
      await tx.deleteFrom('hosted_domain').where('domain', '=', domain).execute();
      await applyChangesIn(anyTx, store, [
        ...keyChanges,
        ...addresses.map(({ address, level, method, proofed_on: date, verifier, reference }): Change => ({
          action: 'address.remove',
          objects: {
            address,
            // The record of who it was would be gone else.
            ...(level !== null && { level, method: method ?? '', date: date ?? '' }),
            ...(verifier !== null && { verifier, reference: reference ?? '' }),
          },
        })),
        {
          action: 'domain.remove',
          objects: {
            domain,
            organization: organizationId,
            addresses: String(removal.addresses),
            anchors: String(removal.anchors),
            bundles: String(removal.bundles),
            unread: String(removal.unread),
            deadLetters: String(removal.deadLetters),
          },
        },
      ]);
      return removal;
    },
  };

  /** Those of a closed organization are not active, whatever their rows say. */
  async function refuseEnabled(tx: AnyTransaction, organizationId: string, domain: string): Promise<void> {
    const organization = await store.ownership.find(organizationId, tx);
    if (organization !== undefined && organization.closedAt === undefined)
      throw inTheWay([`An address of ${domain} was enabled meanwhile; look again.`], false);
  }
}

function inTheWay(obstacles: readonly string[], isHeld: boolean): TrustError {
  const text = obstacles.join(' ');
  return new TrustError(isHeld ? 'TRUST_DOMAIN_HELD' : 'TRUST_DOMAIN_IN_USE', text, { publicMessage: text });
}

const bundlesOf = (tx: Kysely<TrustTables>, domain: string) =>
  tx.selectFrom('trust_bundle').select('id').where('domain', '=', domain);

type Counts = Omit<DomainRemoval, 'domain' | 'organizationId' | 'activeAddresses' | 'obstacles'> & {
  readonly active: number;
};

async function countParts(tx: Kysely<TrustTables>, domain: string): Promise<Counts> {
  const under = `%@${domain}`;
  const { rows } = await sql<Record<keyof Counts, number | string>>`select
    (select count(*) from hosted_address where domain = ${domain}) as addresses,
    (select count(*) from hosted_address where domain = ${domain} and status = 'active') as active,
    (select count(*) from key_pair where status = 'active' and (owner = ${domain} or owner like ${under})) as keys,
    (select count(*) from key_request where domain = ${domain}) as "keyRequests",
    (select count(*) from trust_anchor where domain = ${domain}) as anchors,
    (select count(*) from trust_bundle where domain = ${domain}) as bundles,
    (select count(*) from inbox_copy where domain = ${domain} and acknowledged_at is null) as unread,
    (select count(*) from inbound_mail where state = 'dead-letter'
      and lower(recipients) like ${`%@${domain}"%`}) as "deadLetters"`.execute(tx);
  const [row] = rows;
  return Object.fromEntries(
    Object.entries(row ?? {}).map(([name, count]) => [name, Number(count)]),
  ) as unknown as Counts;
}

/** What a hold names that covers the domain or an address under it. */
async function listHolds(
  tx: Kysely<TrustTables>,
  domain: string,
  organizationId: string,
): Promise<readonly string[]> {
  const { rows } = await sql<{ kind: string; subject: string }>`
    select kind, subject from legal_hold where released_at is null and (
      (kind = 'organization' and subject = ${organizationId})
      or (kind = 'address' and subject like ${`%@${domain}`})
    ) order by kind, subject`.execute(tx);
  return rows.map(({ kind, subject }) => (kind === 'organization' ? `Organization ${subject}` : subject));
}

/**
 * Mail that still needs the keys and anchors of the domain: what it sends, MDNs and DSNs included, MDNs that
 * it waits for, and received mail that is being worked on; empty if there is none. The tables are read by
 * their names, as legal holds do: their services build upon this one.
 */
async function describeUnderWay(tx: Kysely<TrustTables>, domain: string): Promise<string> {
  const under = `%@${domain}`;
  const { rows } = await sql<
    Record<'outgoing' | 'awaited' | 'inbound' | 'until', number | string | null>
  >`select
    (select count(*) from delivery where lower(sender) like ${under}) as outgoing,
    (select count(*) from message_recipient where deadline_at > 0 and sender_key like ${under}) as awaited,
    (select count(*) from inbound_mail where state = 'waiting'
      and lower(recipients) like ${`%@${domain}"%`}) as inbound,
    (select max(deadline_at) from message_recipient
      where deadline_at > 0 and sender_key like ${under}) as until`.execute(tx);
  const [row] = rows;
  const [outgoing, awaited, inbound] = [row?.outgoing, row?.awaited, row?.inbound].map(Number);
  const parts = [
    outgoing && `${countOf(outgoing, 'message')} from it on the way out (openhisp queue list)`,
    awaited &&
      `${countOf(awaited, 'recipient')} whose MDN is awaited, until ${new Date(Number(row?.until)).toISOString()} at the latest`,
    inbound && `${countOf(inbound, 'received message')} being processed`,
  ].filter((part) => typeof part === 'string');
  return parts.length === 0 ? '' : `Still under way: ${parts.join('; ')}. Remove it when that is over.`;
}
