import type { Kysely } from 'kysely';
import { addressKey, domainOf, parseDirectAddress, type DirectAddress } from '../../lib/values/index.ts';
import { tablesOf, type AnyTransaction } from '../../platform/index.ts';
import { applyChangesIn, type TrustStore } from './change.ts';
import { TrustError } from './errors.ts';
import type { HostedAddress, TrustTables } from './tables.ts';

/** To which other hosted addresses what comes for an address is delivered. */
export interface Forwarding {
  /** At least one, of the same organization. */
  readonly deliverTo: readonly DirectAddress[];
  /** Whether the address gets a copy itself. */
  readonly keepsCopy: boolean;
  /** In force from then on, and until then; absent: no such bound. */
  readonly from?: Date;
  readonly until?: Date;
}

/** Why one of the addresses does not get what it should. */
export type NotDelivered = 'not-active' | 'other-organization' | 'too-many';

/** Where what comes for an address ends now. */
export interface Route {
  /** Without the address itself; may be empty. */
  readonly deliverTo: readonly DirectAddress[];
  /** Always true if nobody else gets it. */
  readonly keepsCopy: boolean;
  readonly notDelivered: readonly { readonly address: DirectAddress; readonly reason: NotDelivered }[];
}

/** Shared addresses, forwarding and absences, all of which are one rule per address (Decision 0036). */
export interface Forwardings {
  /**
   * Replaces the rule of an address, of one organization if it is given; undefined ends it. Throws
   * TRUST_ADDRESS_UNKNOWN, TRUST_FORWARDING_INVALID with the fields at fault, ORGANIZATION_CLOSED.
   */
  setForwarding(
    address: DirectAddress,
    forwarding: Forwarding | undefined,
    organizationId?: string,
  ): Promise<void>;
  findForwarding(address: DirectAddress): Promise<Forwarding | undefined>;
  /** By lower-cased address; those without a rule are absent. */
  findForwardings(addresses: readonly DirectAddress[]): Promise<ReadonlyMap<string, Forwarding>>;
  /** Follows the rules of the addresses that it leads to, for mail that has come. */
  findRoute(address: DirectAddress): Promise<Route>;
}

const maxForwards = 50;
/** Addresses one after the other; what is left there stays there. */
const maxDepth = 5;
/** Addresses that are looked at for one mail. */
const maxVisited = 500;

/** Rows of one statement. */
const batchSize = 500;

type Row = TrustTables['address_forwarding'];

export function createForwardings(
  store: TrustStore,
  findAddress: (address: DirectAddress) => Promise<HostedAddress | undefined>,
): Forwardings {
  const { storage, clock, guards, ownership } = store;
  const db = storage.tables<TrustTables>();

  async function read(tx: Kysely<TrustTables>, key: string): Promise<Forwarding | undefined> {
    const row = await tx
      .selectFrom('address_forwarding')
      .selectAll()
      .where('address_key', '=', key)
      .executeTakeFirst();
    return row && toForwarding(await guards.forwardings.check(row));
  }

  const findForwarding = (address: DirectAddress): Promise<Forwarding | undefined> =>
    store.lookups.find(`forwarding ${addressKey(address)}`, () => read(db, addressKey(address)));

  const findOwner = (domain: string): Promise<string | undefined> =>
    store.lookups.find(`owner ${domain}`, async () =>
      (await ownership.findOwnersIn(db, [domain])).get(domain),
    );

  async function findRoute(address: DirectAddress): Promise<Route> {
    const now = clock.now();
    const rule = await findForwarding(address);
    if (rule === undefined || !isInForce(rule, now)) return straight;
    const owner = await findOwner(domainOf(address));
    const notDelivered: { address: DirectAddress; reason: NotDelivered }[] = [];
    const ends = new Map<string, DirectAddress>();
    const visited = new Set([addressKey(address)]);

    async function follow(current: DirectAddress, { deliverTo, keepsCopy }: Forwarding, depth: number) {
      let isDelivered = false;
      for (const target of deliverTo) {
        const key = addressKey(target);
        // Whoever has it already does not get it again, and no rule is followed twice.
        if (visited.has(key)) {
          isDelivered ||= ends.has(key);
          continue;
        }
        if (ends.size >= maxForwards || visited.size >= maxVisited) {
          notDelivered.push({ address: target, reason: 'too-many' });
          continue;
        }
        visited.add(key);
        const hosted = await findAddress(target);
        const fault =
          hosted?.status !== 'active'
            ? 'not-active'
            : (await findOwner(domainOf(target))) !== owner
              ? 'other-organization'
              : undefined;
        if (fault !== undefined || hosted === undefined) {
          notDelivered.push({ address: target, reason: fault ?? 'not-active' });
          continue;
        }
        isDelivered = true;
        const next = depth < maxDepth ? await findForwarding(hosted.address) : undefined;
        if (next === undefined || !isInForce(next, now)) ends.set(key, hosted.address);
        else await follow(hosted.address, next, depth + 1);
      }
      if (depth === 1 || (isDelivered && !keepsCopy)) return;
      if (ends.size < maxForwards) ends.set(addressKey(current), current);
      else notDelivered.push({ address: current, reason: 'too-many' });
    }

    await follow(address, rule, 1);
    return {
      deliverTo: [...ends.values()],
      keepsCopy: rule.keepsCopy || ends.size === 0,
      notDelivered,
    };
  }

  /** Throws TRUST_FORWARDING_INVALID. */
  async function refuseFaults(
    tx: AnyTransaction,
    address: DirectAddress,
    { deliverTo, from, until }: Forwarding,
  ): Promise<void> {
    const keys = [...new Set(deliverTo.map(addressKey))];
    if (keys.length === 0 || keys.length > maxForwards)
      throw invalid('deliverTo', `deliverTo: 1 to ${maxForwards} addresses.`);
    if (keys.includes(addressKey(address)))
      throw invalid('deliverTo', 'deliverTo: the address itself; say that it keeps a copy instead.');
    if (from !== undefined && until !== undefined && from >= until)
      throw invalid('until', 'until: not after from.');
    if (until !== undefined && until <= clock.now()) throw invalid('until', 'until: in the past.');
    const owners = await ownership.findOwnersIn(tx, [address, ...deliverTo].map(domainOf));
    const rows = await guards.addresses.checkAll(
      await tablesOf<TrustTables>(tx)
        .selectFrom('hosted_address')
        .selectAll()
        .where('address_key', 'in', keys)
        .execute(),
    );
    const active = new Set(rows.flatMap((row) => (row.status === 'active' ? [row.address_key] : [])));
    // The same words for what is another organization's as for what nobody has.
    const other = deliverTo.find(
      (target) =>
        !active.has(addressKey(target)) || owners.get(domainOf(target)) !== owners.get(domainOf(address)),
    );
    if (other !== undefined)
      throw invalid(
        'deliverTo',
        `deliverTo: ${other} is not an active hosted address of the same organization.`,
      );
    const loop = await findLoop(tablesOf<TrustTables>(tx), address, keys);
    if (loop !== undefined)
      throw invalid('deliverTo', `deliverTo: ${loop} leads back to ${address}. End one of the two rules.`);
  }

  /** One of the keys from which rules lead back to the address. */
  async function findLoop(
    tx: Kysely<TrustTables>,
    address: DirectAddress,
    keys: readonly string[],
  ): Promise<string | undefined> {
    for (const key of keys) {
      const seen = new Set([key]);
      for (const one of seen) {
        if (one === addressKey(address)) return key;
        if (seen.size > maxForwards * maxDepth) break;
        for (const next of (await read(tx, one))?.deliverTo ?? []) seen.add(addressKey(next));
      }
    }
    return undefined;
  }

  return {
    findForwarding,
    async findForwardings(addresses) {
      const found = new Map<string, Forwarding>();
      for (let start = 0; start < addresses.length; start += batchSize) {
        const rows = await db
          .selectFrom('address_forwarding')
          .selectAll()
          .where('address_key', 'in', addresses.slice(start, start + batchSize).map(addressKey))
          .execute();
        for (const row of await guards.forwardings.checkAll(rows))
          found.set(row.address_key, toForwarding(row));
      }
      return found;
    },
    findRoute,
    setForwarding: (address, forwarding, organizationId) =>
      storage.transaction<TrustTables, void>(async (tx) => {
        const key = addressKey(address);
        const domain = domainOf(address);
        const findOwnerIn = async () => (await ownership.findOwnersIn(tx, [domain])).get(domain);
        const unlocked = organizationId ?? (await findOwnerIn());
        // No domain moves until the end.
        if (unlocked !== undefined) await ownership.lockIn(tx, unlocked);
        const isOther = organizationId !== undefined && (await findOwnerIn()) !== organizationId;
        const known = await tx
          .selectFrom('hosted_address')
          .select('address')
          .where('address_key', '=', key)
          .executeTakeFirst();
        if (known === undefined || isOther)
          throw new TrustError('TRUST_ADDRESS_UNKNOWN', `${address} is not a hosted address.`);
        if (forwarding === undefined) {
          const removed = await tx
            .deleteFrom('address_forwarding')
            .where('address_key', '=', key)
            .executeTakeFirst();
          if (removed.numDeletedRows === 0n) return;
          await applyChangesIn(tx, store, [{ action: 'address.forward-end', objects: { address } }]);
          return;
        }
        await refuseFaults(tx, address, forwarding);
        const { keepsCopy, from, until } = forwarding;
        const deliverTo = [...new Set(forwarding.deliverTo.map(addressKey))].sort();
        const row = guards.forwardings.withMac({
          address_key: key,
          deliver_to: deliverTo.join(' '),
          keeps_copy: keepsCopy ? 1 : 0,
          begins_at: from?.getTime() ?? null,
          ends_at: until?.getTime() ?? null,
        });
        await tx
          .insertInto('address_forwarding')
          .values(row)
          .onConflict((conflict) => conflict.column('address_key').doUpdateSet(row))
          .execute();
        await applyChangesIn(tx, store, [
          {
            action: 'address.forward',
            objects: {
              address,
              to: deliverTo.join(' '),
              keepsCopy: String(keepsCopy),
              ...(from !== undefined && { from: from.toISOString() }),
              ...(until !== undefined && { until: until.toISOString() }),
            },
          },
        ]);
      }),
  };
}

const straight: Route = { deliverTo: [], keepsCopy: true, notDelivered: [] };

function isInForce({ from, until }: Forwarding, now: Date): boolean {
  return (from === undefined || from <= now) && (until === undefined || now < until);
}

function toForwarding(row: Row): Forwarding {
  return {
    deliverTo: row.deliver_to.split(' ').map((text) => parseDirectAddress(text)),
    keepsCopy: row.keeps_copy === 1,
    ...(row.begins_at === null ? {} : { from: new Date(Number(row.begins_at)) }),
    ...(row.ends_at === null ? {} : { until: new Date(Number(row.ends_at)) }),
  };
}

function invalid(field: string, detail: string): TrustError {
  return new TrustError('TRUST_FORWARDING_INVALID', detail, {
    problems: [{ field, reason: 'invalid', detail }],
    publicMessage: detail,
  });
}
