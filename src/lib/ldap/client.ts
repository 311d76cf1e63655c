import { isIP } from 'node:net';
import { errorCode, errorText, isNoSocketCode } from '../../core/index.ts';
import type { DnsResolver } from '../dns/index.ts';
import { isPublicAddress } from '../fetch/index.ts';
import { openConnection } from './connection.ts';
import { findCertificates } from './find-certificates.ts';
import * as limits from './limits.ts';
import type { LdapTarget } from './targets.ts';

export interface LdapClientOptions {
  readonly dns: Pick<DnsResolver, 'resolveAddresses'>;
  /** For one server, from connecting to the last entry. Default 5 s (DISC-11). */
  readonly timeoutMs?: number;
  /** Default 4 s, at most `timeoutMs`. */
  readonly connectTimeoutMs?: number;
  /** Servers on private addresses too: for sandbox and tests. Default false (SEC-11). */
  readonly allowPrivate?: boolean;
}

export interface CertificateLookup {
  /** In the order to try them, as {@link findLdapTargets} gives them. */
  readonly targets: readonly LdapTarget[];
  /** The value of the `mail` attribute: a Direct address or a domain. */
  readonly mail: string;
}

/** The result of querying one server. For operators and for `agent discover`. */
export interface LdapAttempt {
  readonly target: LdapTarget;
  readonly outcome: 'found' | 'absent' | 'unreachable';
  /** Why it counts as unreachable. */
  readonly detail?: string;
}

export interface LdapAnswer {
  /**
   * `found`: the first server that answered has certificates; `absent`: it has none; `unreachable`: no server
   * answered, or there is none (DISC-07).
   */
  readonly status: 'found' | 'absent' | 'unreachable';
  /** DER without duplicates, not yet parsed. */
  readonly certificates: readonly Uint8Array[];
  readonly attempts: readonly LdapAttempt[];
}

export interface LdapClient {
  /** Rejects with `LDAP_NO_SOCKET` or `DNS_NO_SOCKET`, never for failures of a server; see {@link LdapAnswer}. */
  findCertificates(lookup: CertificateLookup): Promise<LdapAnswer>;
}

/** Looks up certificates as Direct discovery does (DISC-06…08): anonymous, read-only, a connection for each lookup. */
export function createLdapClient(options: LdapClientOptions): LdapClient {
  return {
    async findCertificates({ targets, mail }) {
      const attempts: LdapAttempt[] = [];
      for (const target of targets) {
        const { attempt, certificates } = await tryTarget(target, mail, options);
        attempts.push(attempt);
        if (attempt.outcome !== 'unreachable') return { status: attempt.outcome, certificates, attempts };
      }
      return { status: 'unreachable', certificates: [], attempts };
    },
  };
}

interface TargetResult {
  readonly attempt: LdapAttempt;
  readonly certificates: readonly Uint8Array[];
}

async function tryTarget(
  target: LdapTarget,
  mail: string,
  options: LdapClientOptions,
): Promise<TargetResult> {
  let detail = 'the host has no address';
  try {
    for (const address of await findAddresses(target.host, options)) {
      try {
        const certificates = await askServer(address, target.port, mail, options);
        return { attempt: { target, outcome: certificates.length > 0 ? 'found' : 'absent' }, certificates };
      } catch (error) {
        if (isNoSocketCode(errorCode(error))) throw error;
        detail = errorText(error);
      }
    }
  } catch (error) {
    if (isNoSocketCode(errorCode(error))) throw error;
    detail = errorText(error);
  }
  return { attempt: { target, outcome: 'unreachable', detail: detail.slice(0, 200) }, certificates: [] };
}

async function findAddresses(
  host: string,
  { dns, allowPrivate }: LdapClientOptions,
): Promise<readonly string[]> {
  const addresses = isIP(host) !== 0 ? [host] : (await dns.resolveAddresses(host)).records;
  const refused = addresses.find((address) => allowPrivate !== true && !isPublicAddress(address));
  if (refused !== undefined) throw new Error(`${refused} is not a public address`);
  return addresses.slice(0, limits.maxAddressesPerTarget);
}

async function askServer(
  host: string,
  port: number,
  mail: string,
  options: LdapClientOptions,
): Promise<Uint8Array[]> {
  const timeoutMs = options.timeoutMs ?? limits.lookupTimeoutMs;
  const connectTimeoutMs = Math.min(options.connectTimeoutMs ?? limits.connectTimeoutMs, timeoutMs);
  const connection = openConnection({ host, port, timeoutMs, connectTimeoutMs });
  try {
    return await findCertificates(connection, mail);
  } finally {
    connection.close();
  }
}
