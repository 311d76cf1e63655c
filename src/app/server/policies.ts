import type { MessagePolicy } from '../../lib/direct/index.ts';
import { directTrustPolicy, type TrustPolicy } from '../../lib/pki/index.ts';
import { defaultCryptoPolicy } from '../../lib/smime/index.ts';
import type { Config } from '../../platform/index.ts';

type TrustSettings = Pick<Config, 'trust'>;

/**
 * What the settings demand of certificates, for mail of both directions and for verification (Decision 0016).
 */
export function trustPolicyOf({ trust }: TrustSettings): Partial<TrustPolicy> {
  const { requireKeyUsage, requiredPolicies } = directTrustPolicy;
  return {
    revocation: trust.failsOnUnknownRevocation ? 'hard-fail' : 'soft-fail',
    allowSha1Certificates: trust.acceptsSha1Certificates,
    requireSubjectMatch: trust.requiresSubjectMatch,
    ...(trust.requiresDirectTrustPolicies && { requireKeyUsage, requiredPolicies }),
  };
}

/** What the settings demand of received messages (VER-02, Decision 0015). */
export function messagePolicyOf({ trust }: TrustSettings): Partial<MessagePolicy> {
  return {
    acceptUnwrapped: !trust.requiresWrapping,
    ...(trust.acceptsSha1Signatures && {
      crypto: { ...defaultCryptoPolicy, weakDigests: new Set(['sha1'] as const) },
    }),
  };
}
