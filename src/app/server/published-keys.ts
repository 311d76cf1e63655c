import type { Clock } from '../../core/index.ts';
import type { Trust } from '../../service/trust/index.ts';

/** The certificates that DNS and LDAP publish for one revision of trust, read once in a while. */
export interface PublishedKeys {
  readonly revision: number;
  readonly domains: readonly string[];
  /** DER certificates of a domain or an address; without reading anything for one that has none. */
  findPublished(owner: string): Promise<readonly Uint8Array[]>;
}

type PublishingTrust = Pick<Trust, 'findRevision' | 'listDomains' | 'listKeyOwners' | 'findPublished'>;

/** A certificate expires, or becomes valid, without a change of trust. */
const maxAgeMs = 60_000;

/** Gives the published keys as they stand now. */
export function followPublishedKeys(trust: PublishingTrust, clock: Clock): () => Promise<PublishedKeys> {
  let known: Promise<PublishedKeys> | undefined;
  let knownRevision: number | undefined;
  let readAtMs = 0;
  return async () => {
    const revision = await trust.findRevision();
    const nowMs = clock.now().getTime();
    if (known !== undefined && knownRevision === revision && Math.abs(nowMs - readAtMs) < maxAgeMs)
      return known;
    const reading = readPublished(trust, revision);
    [known, knownRevision, readAtMs] = [reading, revision, nowMs];
    reading.catch(() => {
      if (known === reading) known = undefined;
    });
    return reading;
  };
}

async function readPublished(trust: PublishingTrust, revision: number): Promise<PublishedKeys> {
  const domains = await trust.listDomains();
  const owners = new Set((await Promise.all(domains.map((domain) => trust.listKeyOwners(domain)))).flat());
  const found = new Map<string, Promise<readonly Uint8Array[]>>();
  return {
    revision,
    domains,
    async findPublished(name) {
      const owner = name.toLowerCase();
      if (!owners.has(owner)) return [];
      const known = found.get(owner);
      if (known !== undefined) return known;
      const reading = trust.findPublished(owner);
      found.set(owner, reading);
      reading.catch(() => found.delete(owner));
      return reading;
    },
  };
}
