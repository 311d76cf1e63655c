import { readCertificate, type Certificate } from '../../lib/pki/index.ts';
import type { TrustStore } from './change.ts';
import { expiryWarningDays } from './key-dates.ts';
import type { TrustTables } from './tables.ts';

/** An anchor that an operator added and that ends within 30 days or has ended. */
export interface AnchorWarning {
  readonly fingerprint: string;
  readonly subject: string;
  readonly notAfter: Date;
  /** The first by name of the domains that trust it, and their number. */
  readonly domain: string;
  readonly domainCount: number;
  readonly problem: 'expired' | 'expires-soon';
}

/**
 * Expiry of the anchors that operators added. Those of bundles are replaced by the publishers of the bundles.
 */
export interface AnchorDates {
  /** One entry for each certificate, however many domains trust it; the first to end first. */
  findAnchorWarnings(): Promise<readonly AnchorWarning[]>;
}

const dayMs = 86_400_000;

export function createAnchorDates({ storage, clock }: Pick<TrustStore, 'storage' | 'clock'>): AnchorDates {
  const db = storage.tables<TrustTables>();
  // The same few certificates are asked for every ten minutes, for each of many domains.
  let known: ReadonlyMap<string, { readonly subject: string; readonly notAfter: Date }> = new Map();

  return {
    async findAnchorWarnings() {
      const rows = await db
        .selectFrom('trust_anchor')
        .select(({ fn }) => [
          'fingerprint',
          fn.min('domain').as('domain'),
          fn.count<number>('domain').distinct().as('domain_count'),
        ])
        .where('bundle_id', '=', '')
        .groupBy('fingerprint')
        .execute();
      const facts = new Map<string, { readonly subject: string; readonly notAfter: Date }>();
      for (const { fingerprint } of rows) {
        const fact = known.get(fingerprint) ?? (await read(fingerprint));
        if (fact !== undefined) facts.set(fingerprint, fact);
      }
      known = facts;
      const now = clock.now().getTime();
      return rows
        .flatMap(({ fingerprint, domain, domain_count }): AnchorWarning[] => {
          const fact = facts.get(fingerprint);
          if (fact === undefined || fact.notAfter.getTime() - now > expiryWarningDays * dayMs) return [];
          const problem = fact.notAfter.getTime() < now ? 'expired' : 'expires-soon';
          return [{ fingerprint, domain, domainCount: Number(domain_count), ...fact, problem }];
        })
        .toSorted((a, b) => a.notAfter.getTime() - b.notAfter.getTime());
    },
  };

  async function read(fingerprint: string) {
    const row = await db
      .selectFrom('trust_anchor')
      .select('certificate')
      .where('fingerprint', '=', fingerprint)
      .limit(1)
      .executeTakeFirst();
    if (row === undefined) return undefined;
    const { subject, notAfter } = readCertificate(new Uint8Array(row.certificate));
    return { subject, notAfter };
  }
}

/** One sentence for operators. */
export function describeAnchorWarning({
  subject,
  domain,
  domainCount,
  problem,
  notAfter,
}: AnchorWarning): string {
  const more = domainCount === 1 ? '' : ` and ${domainCount - 1} more`;
  const date = notAfter.toISOString().slice(0, 10);
  return `The anchor ${subject} of ${domain}${more} ${problem === 'expired' ? 'expired' : 'expires'} on ${date}.`;
}

/** What speaks against trusting a certificate as an anchor now, one sentence each; empty if nothing does. */
export function describeAnchorFaults(
  { subject, isCa, notBefore, notAfter }: Certificate,
  at: Date,
): readonly string[] {
  const until = notAfter.toISOString().slice(0, 10);
  const isEnding = notAfter.getTime() - at.getTime() < expiryWarningDays * 86_400_000;
  return [
    isCa
      ? ''
      : `${subject} is not the certificate of a CA (basicConstraints): nothing that it has signed is trusted, only itself. Ask the partner for the certificate of their CA.`,
    at > notAfter
      ? `It expired on ${until}: nothing under it is trusted.`
      : at < notBefore
        ? `It is not valid before ${notBefore.toISOString().slice(0, 10)}.`
        : isEnding
          ? `${subject} is valid until ${until} only: ask the partner for its successor.`
          : '',
  ].filter((sentence) => sentence !== '');
}
