import type { Certificate } from '../../pki/index.ts';

/** The places of certificates for an address (DISC-01), in query order. */
export type DiscoverySource = 'dns-address' | 'dns-domain' | 'ldap-address' | 'ldap-domain';

/**
 * The answer of one place. `found`: there is something, good or bad, so that no other place is asked
 * (DISC-09); `absent`: definitely nothing; `unavailable`: it could not be asked, so that nothing is known.
 */
export type StepOutcome = 'found' | 'absent' | 'unavailable';

/** One step of a discovery, for people and for `agent discover`. */
export interface DiscoveryStep {
  readonly source: DiscoverySource;
  /** The query, for example `bob.direct.example.org CERT` or `mail=bob@direct.example.org`. */
  readonly query: string;
  readonly outcome: StepOutcome;
  /** The transport: `udp`, `tcp`, or `host:port` of the LDAP server that answered. */
  readonly via?: string;
  /** Certificates that could be read, and records that could not. */
  readonly certificateCount: number;
  readonly unreadableCount: number;
  /** Time for which the answer may be cached. */
  readonly ttlSeconds: number;
  /** Why it was not available, or which servers were tried. */
  readonly detail?: string;
  /** The DNS answered that the name does not exist, and not only that it has no certificate. */
  readonly isNameMissing?: true;
  /**
   * Part of the place cannot be asked at present: a certificate behind a URL (DISC-04), a naming context of
   * an LDAP server (DISC-08).
   */
  readonly isIncomplete?: true;
  readonly elapsedMs: number;
}

/** The answer of a source to the search. */
export interface SourceAnswer {
  readonly outcome: StepOutcome;
  readonly certificates: readonly Certificate[];
  readonly unreadableCount: number;
  readonly ttlSeconds: number;
  readonly query: string;
  readonly via?: string;
  readonly detail?: string;
  readonly isNameMissing?: true;
  readonly isIncomplete?: true;
}

/** True if the domain of the address does not exist, so that nothing can be published for it. */
export const isDomainMissing = (steps: readonly DiscoveryStep[]): boolean =>
  steps.some(({ source, isNameMissing }) => source === 'dns-domain' && isNameMissing === true);
