import type { RefusedRecipient, UsableRecipient } from '../../lib/direct/index.ts';
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
  const other = verdict.refused.find(({ code }) => code !== 'PKI_EXPIRED');
  if (other === undefined && verdict.refused.length > 0) return { state: 'expired', reason: 'PKI_EXPIRED' };
  return { state: 'discoverable', reason: other?.code ?? unreadable };
}
