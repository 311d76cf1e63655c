import { setImmediate as nextTurn } from 'node:timers/promises';
import { readCertificate, type CertificateUse } from '../../lib/pki/index.ts';
import type { TrustStore } from './change.ts';
import { findUsesEver } from './key-uses.ts';
import type { TrustTables } from './tables.ts';

/** Active keys are reported from this many days before they expire. */
export const expiryWarningDays = 30;

export interface KeyWarning {
  /** A hosted domain, or an address with its own pair. */
  readonly owner: string;
  /** `missing`: the domain has no active pair, or none for one of the uses. */
  readonly problem: 'expired' | 'expires-soon' | 'not-yet-valid' | 'missing';
  /** Signing, encryption, or both. */
  readonly uses: readonly CertificateUse[];
  /** Of the pair that serves longest; empty if there is none. */
  readonly keyPair: string;
  readonly notAfter: Date | undefined;
  /** Of a domain that never had a key, nor any of its addresses: when it was added. */
  readonly addedAt?: Date;
}

export interface DomainKeyDates {
  readonly domain: string;
  /**
   * False if it has addresses and all of them are disabled: it neither sends nor receives, so nothing is
   * missing.
   */
  readonly isInUse: boolean;
  /**
   * Time until the first owner has no valid key for a use that it has keys for; negative afterwards.
   * Undefined without keys, and of a domain out of use.
   */
  readonly daysLeft: number | undefined;
  readonly warnings: readonly KeyWarning[];
}

/** A domain or an address whose last key for a use ends soon, or has ended. */
export interface ExpiringOwner {
  readonly owner: string;
  readonly notAfter: Date;
}

/** Expiry of the keys of our domains. */
export interface KeyDates {
  /**
   * One entry for each hosted domain, or for the one named. A pair that a later one replaces is not reported.
   */
  findKeyDates(domain?: string): Promise<readonly DomainKeyDates[]>;
  /** Owners that have no valid key for a use of theirs in so many days; without domains out of use. */
  findExpiring(withinDays: number): Promise<readonly ExpiringOwner[]>;
}

const dayMs = 86_400_000;
const uses: readonly CertificateUse[] = ['signing', 'encryption'];

/** The immutable data of a stored pair. */
interface KeyFacts {
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly uses: readonly CertificateUse[];
}

interface ActivePair extends KeyFacts {
  readonly id: string;
  readonly owner: string;
}

/** Certificates read before the event loop gets its turn; one takes up to 0.1 ms. */
const certificatesPerTurn = 100;

const domainOf = (owner: string): string => owner.slice(owner.lastIndexOf('@') + 1);

export function createKeyDates({ storage, clock }: Pick<TrustStore, 'storage' | 'clock'>): KeyDates {
  const db = storage.tables<TrustTables>();
  let known: ReadonlyMap<string, KeyFacts> = new Map();

  async function readFacts(ids: readonly string[]): Promise<Map<string, KeyFacts>> {
    const facts = new Map<string, KeyFacts>();
    for (let start = 0; start < ids.length; start += certificatesPerTurn) {
      const rows = await db
        .selectFrom('key_pair')
        .select(['id', 'owner', 'certificate'])
        .where('id', 'in', ids.slice(start, start + certificatesPerTurn))
        .execute();
      for (const row of rows) {
        const certificate = readCertificate(row.certificate);
        const { notBefore, notAfter } = certificate;
        facts.set(row.id, { notBefore, notAfter, uses: findUsesEver(certificate, row.owner) });
      }
      await nextTurn();
    }
    return facts;
  }

  async function findActivePairs(): Promise<ReadonlyMap<string, readonly ActivePair[]>> {
    const rows = await db
      .selectFrom('key_pair')
      .select(['id', 'owner'])
      .where('status', '=', 'active')
      .orderBy('id')
      .execute();
    const added = await readFacts(rows.filter(({ id }) => !known.has(id)).map(({ id }) => id));
    const pairs = rows.flatMap(({ id, owner }) => {
      const facts = known.get(id) ?? added.get(id);
      return facts === undefined ? [] : [{ id, owner, ...facts }];
    });
    known = new Map(pairs.map(({ id, notBefore, notAfter, uses }) => [id, { notBefore, notAfter, uses }]));
    return Map.groupBy(pairs, ({ owner }) => domainOf(owner));
  }

  /** Of all hosted domains, or of the one named. */
  function selectDomains(only: string | undefined) {
    return db
      .selectFrom('hosted_domain as d')
      .select('d.domain')
      .$if(only !== undefined, (query) => query.where('d.domain', '=', (only ?? '').toLowerCase()));
  }

  /** When the domains were added that never had a key, nor any of their addresses. */
  async function findNeverKeyed(only: string | undefined): Promise<ReadonlyMap<string, Date>> {
    const rows = await selectDomains(only)
      .select('d.created_at')
      .where(({ exists, not, selectFrom }) =>
        not(exists(selectFrom('key_pair as k').select('k.id').whereRef('k.owner', '=', 'd.domain'))),
      )
      .execute();
    if (rows.length === 0) return new Map();
    // In one pass: a search for each domain would read all keys each time.
    const owners = await db
      .selectFrom('key_pair')
      .select('owner')
      .distinct()
      .where('owner', 'like', `%@${only?.toLowerCase() ?? '%'}`)
      .execute();
    const keyed = new Set(owners.map(({ owner }) => domainOf(owner)));
    const never = rows.filter(({ domain }) => !keyed.has(domain));
    return new Map(never.map((row) => [row.domain, new Date(row.created_at)]));
  }

  async function findOutOfUse(only: string | undefined): Promise<ReadonlySet<string>> {
    const rows = await selectDomains(only)
      .where(({ exists, not, selectFrom }) => {
        const addresses = selectFrom('hosted_address as a')
          .select('a.address_key')
          .whereRef('a.domain', '=', 'd.domain');
        const closed = selectFrom('organization as o')
          .select('o.id')
          .whereRef('o.id', '=', 'd.organization_id')
          .where('o.closed_at', 'is not', null);
        return exists(closed).or(
          exists(addresses).and(not(exists(addresses.where('a.status', '=', 'active')))),
        );
      })
      .execute();
    return new Set(rows.map(({ domain }) => domain));
  }

  return {
    async findKeyDates(only) {
      const rows = await selectDomains(only).orderBy('d.domain').execute();
      const [outOfUse, neverKeyed] = [await findOutOfUse(only), await findNeverKeyed(only)];
      const pairs = await findActivePairs();
      return rows.map(({ domain }) =>
        outOfUse.has(domain)
          ? { domain, isInUse: false, daysLeft: undefined, warnings: [] }
          : datesOfDomain(domain, pairs.get(domain) ?? [], {
              at: clock.now(),
              addedAt: neverKeyed.get(domain),
            }),
      );
    },
    async findExpiring(withinDays) {
      const at = clock.now();
      const outOfUse = await findOutOfUse(undefined);
      return [...(await findActivePairs())]
        .filter(([domain]) => !outOfUse.has(domain))
        .flatMap(([, pairs]) => datesOfOwners(pairs, at))
        .flatMap(({ owner, served }) => {
          const [first] = served.toSorted((a, b) => a.last.notAfter.getTime() - b.last.notAfter.getTime());
          if (first === undefined || daysUntil(first.last.notAfter, at) > withinDays) return [];
          return [{ owner, notAfter: first.last.notAfter }];
        })
        .toSorted((a, b) => a.notAfter.getTime() - b.notAfter.getTime() || (a.owner < b.owner ? -1 : 1));
    },
  };
}

function datesOfDomain(
  domain: string,
  pairs: readonly ActivePair[],
  { at, addedAt }: { readonly at: Date; readonly addedAt: Date | undefined },
): DomainKeyDates {
  const byOwner = Map.groupBy(pairs, ({ owner }) => owner);
  const served = datesOfOwners(pairs, at).flatMap((one) => one.served);
  const warnings = groupUses(served.filter((one) => one.problem !== undefined));
  const ofDomain = new Set((byOwner.get(domain) ?? []).flatMap((pair) => pair.uses));
  const missing = uses.filter((use) => !ofDomain.has(use));
  // A domain whose addresses all have address-bound key pairs needs none itself.
  if (missing.length > 0 && (byOwner.size === 0 || ofDomain.size > 0))
    warnings.push({
      owner: domain,
      problem: 'missing',
      uses: missing,
      keyPair: '',
      notAfter: undefined,
      ...(addedAt !== undefined && { addedAt }),
    });
  const daysLeft = served.reduce(
    (least, { last }) => Math.min(least, daysUntil(last.notAfter, at)),
    Infinity,
  );
  return { domain, isInUse: true, daysLeft: served.length === 0 ? undefined : daysLeft, warnings };
}

/** How long the pairs of each owner serve, by use. */
function datesOfOwners(pairs: readonly ActivePair[], at: Date) {
  return [...Map.groupBy(pairs, ({ owner }) => owner)].map(([owner, own]) => ({
    owner,
    served: uses.flatMap((use) => {
      const fitting = own.filter((pair) => pair.uses.includes(use));
      return fitting.length === 0 ? [] : [{ owner, use, ...validityOf(fitting, at) }];
    }),
  }));
}

interface UseValidity {
  readonly last: ActivePair;
  readonly problem: Exclude<KeyWarning['problem'], 'missing'> | undefined;
}

/** The validity of some pairs: now, and until the last of them expires. */
function validityOf(pairs: readonly ActivePair[], at: Date): UseValidity {
  const last = pairs.reduce((best, pair) =>
    pair.notAfter.getTime() > best.notAfter.getTime() ? pair : best,
  );
  const now = at.getTime();
  const daysLeft = daysUntil(last.notAfter, at);
  const isServed = pairs.some(
    ({ notBefore, notAfter }) => notBefore.getTime() <= now && now <= notAfter.getTime(),
  );
  if (daysLeft < 0) return { last, problem: 'expired' };
  if (!isServed) return { last, problem: 'not-yet-valid' };
  return { last, problem: daysLeft <= expiryWarningDays ? 'expires-soon' : undefined };
}

/** One warning for a pair that serves both uses. */
function groupUses(
  found: readonly (UseValidity & { readonly owner: string; readonly use: CertificateUse })[],
): KeyWarning[] {
  const groups = Map.groupBy(found, ({ owner, last, problem }) => `${owner} ${last.id} ${problem}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first?.problem === undefined) return [];
    const { owner, problem, last } = first;
    return [
      {
        owner,
        problem,
        uses: group.map(({ use }) => use),
        keyPair: last.id,
        notAfter: last.notAfter,
      },
    ];
  });
}

/** Negative after the end. */
function daysUntil(end: Date, at: Date): number {
  return (end.getTime() - at.getTime()) / dayMs;
}

/** One sentence for operators. */
export function describeKeyWarning({ owner, problem, uses, notAfter }: KeyWarning): string {
  const until = notAfter?.toISOString().slice(0, 10) ?? '';
  const use = uses.join(' and ');
  switch (problem) {
    case 'missing':
      return `${owner} has no active key for ${use}.`;
    case 'expired':
      return `The key of ${owner} for ${use} expired on ${until}.`;
    case 'not-yet-valid':
      return `No key of ${owner} for ${use} is valid yet.`;
    case 'expires-soon':
      return `The key of ${owner} for ${use} expires on ${until}.`;
  }
}
