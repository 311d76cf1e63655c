import type { Clock } from '../../core/index.ts';
import {
  resolveRecipient,
  type Discovery,
  type RefusedRecipient,
  type UsableRecipient,
} from '../../lib/direct/index.ts';
import type { IssuerFetcher, RevocationChecker, TrustPolicy } from '../../lib/pki/index.ts';
import type { DirectAddress } from '../../lib/values/index.ts';
import type { Trust } from '../trust/index.ts';

export interface JudgeOptions {
  readonly trust: Pick<Trust, 'findAnchors' | 'listDomains'>;
  readonly fetchIssuers: IssuerFetcher;
  readonly checkRevocation: RevocationChecker;
  readonly clock: Clock;
  readonly trustPolicy?: Partial<TrustPolicy>;
  /** The hosted domain whose anchors decide; the first one by name if omitted. */
  readonly domain?: string | undefined;
}

/** Judges addresses as a send would, for one of our domains, without sending: discovery, path, revocation. */
export interface RecipientJudge {
  judge(address: DirectAddress, discovery: Discovery): Promise<UsableRecipient | RefusedRecipient>;
}

/** Its fetchers and caches are separate from those of mail. */
export function createRecipientJudge(options: JudgeOptions): RecipientJudge {
  const { trust, clock, fetchIssuers, checkRevocation, trustPolicy } = options;

  async function findDomain(): Promise<string | undefined> {
    if (options.domain !== undefined) return options.domain.toLowerCase();
    return [...(await trust.listDomains())].sort()[0];
  }

  return {
    async judge(address, discovery) {
      const domain = await findDomain();
      return resolveRecipient(address, {
        discovery,
        at: clock.now(),
        anchors: domain === undefined ? [] : await trust.findAnchors(domain, 'outgoing'),
        fetchIssuers,
        checkRevocation,
        ...(trustPolicy && { policy: trustPolicy }),
      });
    },
  };
}
