import { connect, isIP, type Socket } from 'node:net';
import { AndFilter, Client, EqualityFilter, OrFilter, PresenceFilter, type Entry } from 'ldapts';
import { errorText, viewAsBuffer } from '../../core/index.ts';
import type { DnsResolver } from '../dns/index.ts';
import { isPublicAddress } from '../fetch/index.ts';
import * as limits from './limits.ts';
import type { LdapTarget } from './targets.ts';

export interface LdapClientOptions {
  readonly dns: Pick<DnsResolver, 'resolveAddresses'>;
  /** For one server, from connecting to the last entry. Default 10 s (DISC-11). */
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

/** What one server gave. For operators and for `agent discover`. */
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
  /** DER, without repetitions, not yet looked at. */
  readonly certificates: readonly Uint8Array[];
  readonly attempts: readonly LdapAttempt[];
}

export interface LdapClient {
  /** Never rejects for what a server does; see {@link LdapAnswer}. */
  findCertificates(lookup: CertificateLookup): Promise<LdapAnswer>;
}

/** Looks up certificates as Direct discovery does (DISC-06…08): anonymous, read-only, a connection for each look-up. */
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
        detail = errorText(error);
      }
    }
  } catch (error) {
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
  const { promise: failure, reject } = Promise.withResolvers<never>();
  failure.catch(() => {});
  const socket = createLimitedSocket(host, port, options, reject);
  const timer = setTimeout(() => reject(new Error('The server did not answer in time')), timeoutMs);
  const client = new Client({
    url: 'ldap://directory',
    timeout: timeoutMs,
    // The socket is ready-made for an address that was checked; the library does no look-up of its own.
    createConnection: (() => socket) as typeof connect,
  });
  try {
    return await Promise.race([searchAll(client, mail), failure]);
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}

/** A connection that breaks off when the server sends more than any directory entry needs. */
function createLimitedSocket(
  host: string,
  port: number,
  options: LdapClientOptions,
  fail: (error: Error) => void,
): Socket {
  const socket = connect({ host, port, noDelay: true });
  const timeoutMs = Math.min(
    options.connectTimeoutMs ?? limits.connectTimeoutMs,
    options.timeoutMs ?? Infinity,
  );
  const timer = setTimeout(
    () => fail(new Error('The server did not take the connection in time')),
    timeoutMs,
  );
  let octets = 0;
  socket.on('connect', () => clearTimeout(timer));
  socket.on('close', () => {
    clearTimeout(timer);
    fail(new Error('The connection was closed'));
  });
  socket.on('error', fail);
  socket.on('data', (chunk: Buffer) => {
    octets += chunk.length;
    if (octets > limits.maxResponseOctets) fail(new Error('The server sends too much'));
  });
  return socket;
}

/** DISC-08: anonymous bind, the root's naming contexts, a subtree search under each. */
async function searchAll(client: Client, mail: string): Promise<Uint8Array[]> {
  await client.bind('', '');
  const certificates = new Map<string, Uint8Array>();
  const failures: unknown[] = [];
  const contexts = await findNamingContexts(client);
  for (const context of contexts) {
    try {
      for (const der of await searchContext(client, context, mail)) {
        if (certificates.size < limits.maxCertificates) certificates.set(der.toString('base64'), der);
      }
    } catch (error) {
      failures.push(error);
    }
  }
  // One context may be closed to us while another answers; when all fail, the server counts as not answering.
  if (failures.length === contexts.length) throw failures[0];
  return [...certificates.values()];
}

async function findNamingContexts(client: Client): Promise<string[]> {
  const { searchEntries } = await client.search('', {
    scope: 'base',
    filter: new PresenceFilter({ attribute: 'objectClass' }),
    attributes: ['namingContexts'],
  });
  const contexts = searchEntries.flatMap((entry) => valuesOf(entry, 'namingcontexts')).map(String);
  // A server that names none is searched from the root.
  return contexts.length === 0 ? [''] : contexts.slice(0, limits.maxNamingContexts);
}

const certificateAttributes = ['userCertificate;binary', 'userCertificate'];

async function searchContext(client: Client, base: string, mail: string): Promise<Buffer[]> {
  const { searchEntries } = await client.search(base, {
    scope: 'sub',
    sizeLimit: limits.maxEntries,
    timeLimit: Math.ceil(limits.lookupTimeoutMs / 1000),
    filter: new AndFilter({
      filters: [
        new EqualityFilter({ attribute: 'mail', value: mail }),
        new OrFilter({
          filters: certificateAttributes.map((attribute) => new PresenceFilter({ attribute })),
        }),
      ],
    }),
    attributes: certificateAttributes,
    // The library decodes what it takes for text, and compares names with case.
    explicitBufferAttributes: certificateAttributes.flatMap((name) => [
      name,
      name.toLowerCase(),
      name.toUpperCase(),
    ]),
  });
  return searchEntries
    .flatMap((entry) => [...valuesOf(entry, 'usercertificate;binary'), ...valuesOf(entry, 'usercertificate')])
    .filter((value) => Buffer.isBuffer(value))
    .filter((value) => value.length > 0 && value.length <= limits.maxCertificateOctets)
    .map((value) => viewAsBuffer(new Uint8Array(value)));
}

function valuesOf(entry: Entry, lowerCaseName: string): (string | Buffer)[] {
  return Object.entries(entry)
    .filter(([name]) => name.toLowerCase() === lowerCaseName)
    .flatMap(([, value]) => value);
}
