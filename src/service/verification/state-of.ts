import { areExpired, type RefusedRecipient, type UsableRecipient } from '../../lib/direct/index.ts';
import type { VerifiedState } from './tables.ts';

export interface Verified {
  readonly state: VerifiedState;
  /** A code; empty if there is nothing to say. */
  readonly reason: string;
}

/** None of the certificates found could be read. */
const unreadable = 'DIRECT_RECIPIENT_CERTIFICATES_INVALID';

/** The state that a verdict means. Only a validated path makes an address trusted. */
export function stateOf(verdict: UsableRecipient | RefusedRecipient): Verified {
  if (verdict.outcome === 'usable')
    return { state: 'trusted', reason: verdict.certificates[0].warnings[0]?.code ?? '' };
  if (verdict.reason === 'no-certificate')
    return { state: verdict.isTransient ? 'unreachable' : 'no-certificate', reason: verdict.code };
  if (areExpired(verdict.refused)) return { state: 'expired', reason: 'PKI_EXPIRED' };
  const other = verdict.refused.find((one) => !areExpired([one]));
  return { state: 'discoverable', reason: other?.code ?? unreadable };
}
