import type { LeaseColumns } from '../../platform/index.ts';

/**
 * Verification state of an address. Informational only: each message finds and validates its recipients'
 * certificates again.
 */
export type VerifiedState = 'trusted' | 'discoverable' | 'expired' | 'no-certificate' | 'unreachable';

/** In the order of sorting. */
export const verifiedStates: readonly VerifiedState[] = [
  'trusted',
  'discoverable',
  'expired',
  'no-certificate',
  'unreachable',
];

/**
 * The rows that this module owns. `checked_at` is by the machine's clock, all other times by `Storage.clock`.
 */
export interface VerificationTables {
  /** One row. */
  verification_state: {
    id: number;
    is_running: number;
    changed_at: number;
    /** The generation of the directory whose domains are listed. */
    listed: string;
  };
  /** A domain of the directory: the unit of work. */
  verification_domain: LeaseColumns & {
    /**
     * DNS operator of the domain, see `findNameServer`; empty until queried, the domain itself if unknown.
     */
    name_server: string;
    next_attempt_at: number;
    /** The last address that the running cycle has checked; empty between cycles. */
    done_up_to: string;
    /** Cycles in a row in which nothing answered. */
    failures: number;
    /**
     * 1 if an address with a certificate that is not the domain's was seen, so that all addresses are asked
     * for.
     */
    asks_all: number;
    /** Cycles completed. */
    cycle: number;
    /** 0 between cycles. */
    cycle_started_at: number;
    /** Questions put to the network in the running or last cycle. */
    queries: number;
    checked_at: number | null;
  };
  verification_address: {
    address_key: string;
    domain: string;
    state: VerifiedState;
    /** Reason why it is not trusted, or why it could not be decided: a code. */
    reason: string;
    checked_at: number;
    changed_at: number;
  };
  /** Month in which a message from this service was last processed, as year × 100 + month (UTC). */
  verification_processed: {
    address_key: string;
    month: number;
    changed_at: number;
  };
}
