import type { Trust } from '../../service/trust/index.ts';

/** The certificates that DNS and LDAP publish for one revision of trust, read once. */
export interface PublishedKeys {
  readonly revision: number;
  readonly domains: readonly string[];
  /** DER certificates of a domain or an address; without reading anything for one that has none. */
  findPublished(owner: string): Promise<readonly Uint8Array[]>;
}

type PublishingTrust = Pick<Trust, 'findRevision' | 'listDomains' | 'listKeyOwners' | 'findPublished'>;

/** Gives the published keys as they stand now. */
export function followPublishedKeys(trust: PublishingTrust): () => Promise<PublishedKeys> {
  let known: Promise<PublishedKeys> | undefined;
  let knownRevision: number | undefined;
  return async () => {
    const revision = await trust.findRevision();
    if (known !== undefined && knownRevision === revision) return known;
    const reading = readPublished(trust, revision);
    [known, knownRevision] = [reading, revision];
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
