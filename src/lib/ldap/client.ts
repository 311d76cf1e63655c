import { isIP } from 'node:net';
import { errorCode, errorText, isNoSocketCode } from '../../core/index.ts';
import type { DnsResolver } from '../dns/index.ts';
import { isPublicAddress } from '../fetch/index.ts';
import { openConnection } from './connection.ts';
import { findCertificates, type FoundCertificates } from './find-certificates.ts';
import * as limits from './limits.ts';
import type { LdapTarget } from './targets.ts';

export interface LdapClientOptions {
  readonly dns: Pick<DnsResolver, 'resolveAddresses'>;
  /** For one server, from connecting to the last entry. Default 5 s (DISC-11). */
  readonly timeoutMs?: number;
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
  /** Why it counts as unreachable, or why its answer is incomplete. */
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
  /** A naming context of the server could not be searched, which may have others (DISC-11). */
  readonly isIncomplete?: true;
  readonly attempts: readonly LdapAttempt[];
}

export interface LdapClient {
  /**
   * Rejects with `LDAP_NO_SOCKET` or `DNS_NO_SOCKET`, never for failures of a server; see {@link LdapAnswer}.
   */
  findCertificates(lookup: CertificateLookup): Promise<LdapAnswer>;
}

/**
 * Looks up certificates as Direct discovery does (DISC-06…08): anonymous, read-only, a connection for each
 * lookup.
 */
export function createLdapClient(options: LdapClientOptions): LdapClient {
  return {
    async findCertificates({ targets, mail }) {
      const attempts: LdapAttempt[] = [];
      for (const target of targets) {
        const { attempt, ...found } = await tryTarget(target, mail, options);
        attempts.push(attempt);
        if (attempt.outcome !== 'unreachable') return { status: attempt.outcome, ...found, attempts };
      }
      return { status: 'unreachable', certificates: [], attempts };
    },
  };
}

interface TargetResult extends Pick<LdapAnswer, 'certificates' | 'isIncomplete'> {
  readonly attempt: LdapAttempt;
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
        return readResult(target, await askServer(address, target.port, mail, options));
      } catch (error) {
        if (isNoSocketCode(errorCode(error))) throw error;
        detail = errorText(error);
      }
    }
  } catch (error) {
    if (isNoSocketCode(errorCode(error))) throw error;
    detail = errorText(error);
  }
  return {
    attempt: { target, outcome: 'unreachable', detail: detail.slice(0, maxDetail) },
    certificates: [],
  };
}

const maxDetail = 200;

function readResult(target: LdapTarget, { certificates, failure }: FoundCertificates): TargetResult {
  const outcome = certificates.length > 0 ? 'found' : 'absent';
  if (failure === undefined) return { attempt: { target, outcome }, certificates };
  const detail = errorText(failure).slice(0, maxDetail);
  return { attempt: { target, outcome, detail }, certificates, isIncomplete: true };
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
): Promise<FoundCertificates> {
  const timeoutMs = options.timeoutMs ?? limits.lookupTimeoutMs;
  const connectTimeoutMs = Math.min(limits.connectTimeoutMs, timeoutMs);
  const connection = openConnection({ host, port, timeoutMs, connectTimeoutMs });
  try {
    return await findCertificates(connection, mail);
  } finally {
    connection.close();
  }
}
