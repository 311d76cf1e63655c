import { readCertificate, type Certificate, type CertificateUse } from '../../lib/pki/index.ts';
import type { TrustStore } from './change.ts';
import { findUsesEver } from './key-uses.ts';
import type { TrustTables } from './tables.ts';

/** Active keys are reported from this many days before they expire. */
export const expiryWarningDays = 30;

export interface KeyWarning {
  /** A hosted domain, or an address with a pair of its own. */
  readonly owner: string;
  /** `missing`: the domain has no active pair, or none for one of the uses. */
  readonly problem: 'expired' | 'expires-soon' | 'not-yet-valid' | 'missing';
  /** Signing, encryption, or both. */
  readonly uses: readonly CertificateUse[];
  /** Of the pair that serves longest; empty if there is none. */
  readonly keyPair: string;
  readonly notAfter: Date | undefined;
}

export interface DomainKeyDates {
  readonly domain: string;
  /** Until the first of its owners is without a valid key for a use it has one for; negative afterwards. Undefined without keys. */
  readonly daysLeft: number | undefined;
  readonly warnings: readonly KeyWarning[];
}

/** When the keys of our domains end. */
export interface KeyDates {
  /** One entry for each hosted domain, or for the one named. A pair that a later one replaces is not reported. */
  findKeyDates(domain?: string): Promise<readonly DomainKeyDates[]>;
}

const dayMs = 86_400_000;
const uses: readonly CertificateUse[] = ['signing', 'encryption'];

interface ActivePair {
  readonly id: string;
  readonly owner: string;
  readonly certificate: Certificate;
  readonly uses: readonly CertificateUse[];
}

export function createKeyDates({ storage, clock }: Pick<TrustStore, 'storage' | 'clock'>): KeyDates {
  const db = storage.tables<TrustTables>();

  async function findActivePairs(): Promise<ReadonlyMap<string, readonly ActivePair[]>> {
    const rows = await db
      .selectFrom('key_pair')
      .select(['id', 'owner', 'certificate'])
      .where('status', '=', 'active')
      .orderBy('id')
      .execute();
    const pairs = rows.map(({ id, owner, certificate: bytes }) => {
      const certificate = readCertificate(bytes);
      return { id, owner, certificate, uses: findUsesEver(certificate, owner) };
    });
    return Map.groupBy(pairs, ({ owner }) => owner.slice(owner.lastIndexOf('@') + 1));
  }

  return {
    async findKeyDates(only) {
      const rows = await db.selectFrom('hosted_domain').select('domain').orderBy('domain').execute();
      const domains = rows.map(({ domain }) => domain);
      const pairs = await findActivePairs();
      return domains
        .filter((domain) => only === undefined || domain === only.toLowerCase())
        .map((domain) => judgeDomain(domain, pairs.get(domain) ?? [], clock.now()));
    },
  };
}

function judgeDomain(domain: string, pairs: readonly ActivePair[], at: Date): DomainKeyDates {
  const byOwner = Map.groupBy(pairs, ({ owner }) => owner);
  const served = [...byOwner].flatMap(([owner, own]) =>
    uses.flatMap((use) => {
      const fitting = own.filter((pair) => pair.uses.includes(use));
      return fitting.length === 0 ? [] : [{ owner, use, ...judgeUse(fitting, at) }];
    }),
  );
  const warnings = groupUses(served.filter((one) => one.problem !== undefined));
  const ofDomain = new Set((byOwner.get(domain) ?? []).flatMap((pair) => pair.uses));
  const missing = uses.filter((use) => !ofDomain.has(use));
  // A domain whose addresses all have pairs of their own needs none itself.
  if (missing.length > 0 && (byOwner.size === 0 || ofDomain.size > 0))
    warnings.push({ owner: domain, problem: 'missing', uses: missing, keyPair: '', notAfter: undefined });
  const daysLeft = Math.min(...served.map(({ last }) => daysUntil(last.certificate.notAfter, at)));
  return { domain, daysLeft: served.length === 0 ? undefined : daysLeft, warnings };
}

interface UseVerdict {
  readonly last: ActivePair;
  readonly problem: Exclude<KeyWarning['problem'], 'missing'> | undefined;
}

/** Whether one of the pairs is valid now, and for how long the last of them serves. */
function judgeUse(pairs: readonly ActivePair[], at: Date): UseVerdict {
  const last = pairs.reduce((best, pair) =>
    pair.certificate.notAfter.getTime() > best.certificate.notAfter.getTime() ? pair : best,
  );
  const now = at.getTime();
  const daysLeft = daysUntil(last.certificate.notAfter, at);
  const isServed = pairs.some(
    ({ certificate: { notBefore, notAfter } }) => notBefore.getTime() <= now && now <= notAfter.getTime(),
  );
  if (daysLeft < 0) return { last, problem: 'expired' };
  if (!isServed) return { last, problem: 'not-yet-valid' };
  return { last, problem: daysLeft <= expiryWarningDays ? 'expires-soon' : undefined };
}

/** One warning for a pair that serves both uses. */
function groupUses(
  found: readonly (UseVerdict & { readonly owner: string; readonly use: CertificateUse })[],
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
        notAfter: last.certificate.notAfter,
      },
    ];
  });
}

/** Negative after the end. */
function daysUntil(end: Date, at: Date): number {
  return (end.getTime() - at.getTime()) / dayMs;
}
