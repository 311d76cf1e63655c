import { defaultCryptoPolicy, type CryptoPolicy } from '../smime/index.ts';
import { DirectError } from './errors.ts';

/**
 * Policy settings for incoming messages (Decision 0015, Decision 0016). Plain data, so that it can be sent to
 * a thread.
 */
export interface MessagePolicy {
  /**
   * VER-02: messages signed without the message/rfc822 wrapper. True by default, as older peers send them.
   */
  readonly acceptUnwrapped: boolean;
  /** AS-39: MAIL FROM and RCPT TO must appear in the inner message. True by default. */
  readonly requireEnvelopeMatch: boolean;
  /** Algorithms accepted on receipt. */
  readonly crypto: CryptoPolicy;
}

export const defaultMessagePolicy: MessagePolicy = {
  acceptUnwrapped: true,
  requireEnvelopeMatch: true,
  crypto: defaultCryptoPolicy,
};

/**
 * Fills the gaps with the defaults. Errors: `DIRECT_POLICY_INVALID` for values that would switch a check off
 * by accident.
 */
export function completePolicy(policy: Partial<MessagePolicy> = {}): MessagePolicy {
  const complete = { ...defaultMessagePolicy, ...policy };
  const areFlags =
    typeof complete.acceptUnwrapped === 'boolean' && typeof complete.requireEnvelopeMatch === 'boolean';
  if (!areFlags || !(complete.crypto.minimumRsaBits >= 1024)) {
    throw new DirectError('DIRECT_POLICY_INVALID', 'a message policy with impossible values');
  }
  return complete;
}
