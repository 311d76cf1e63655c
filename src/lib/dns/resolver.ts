import { randomBytes } from 'node:crypto';
import { isIPv4 } from 'node:net';
import { systemClock, type Clock, type Closable, type RandomSource } from '../../core/index.ts';
import { readAnswer, type DnsAnswer, type ReadAnswer } from './answer.ts';
import { createAnswerCache, type AnswerCache, type CacheLimits } from './cache.ts';
import { DnsError } from './errors.ts';
import { askOverTcp, askOverUdp, type DnsServerAddress } from './exchange.ts';
import { maxAliases, queryAttempts, queryTimeoutMs } from './limits.ts';
import { rcodes, readMessage, writeQuery, type DnsMessage } from './message.ts';
import { nameKey } from './names.ts';
import { parseIpv6 } from './rdata.ts';
import type { CertRecord, MxRecord, RecordData, RecordType, SoaRecord, SrvRecord } from './records.ts';

/**
 * Asks the DNS. Names without closing dot. Absence is an answer; failures throw a transient {@link DnsError}.
 */
export interface DnsResolver {
  resolveCert(name: string): Promise<DnsAnswer<CertRecord>>;
  /** In the server's order, not sorted. */
  resolveMx(name: string): Promise<DnsAnswer<MxRecord>>;
  /** In the server's order, not sorted. */
  resolveSrv(name: string): Promise<DnsAnswer<SrvRecord>>;
  /** IPv4 addresses first, then IPv6. Absent only when both are. */
  resolveAddresses(name: string): Promise<DnsAnswer<string>>;
  resolveNs(name: string): Promise<DnsAnswer<string>>;
  /** The names of an IP address (RFC 1035 §3.5, RFC 3596 §2.5). Throws TypeError for what is no address. */
  resolvePtr(address: string): Promise<DnsAnswer<string>>;
  resolveSoa(name: string): Promise<DnsAnswer<SoaRecord>>;
}

export interface DnsResolverOptions {
  /** Asked in this order; the next one when one fails. At least one. */
  readonly servers: readonly DnsServerAddress[];
  /** For one exchange with one server; UDP and a TCP retry count separately. Default 3,000 (DISC-11). */
  readonly timeoutMs?: number;
  /** Rounds over all servers. Default 3. */
  readonly attempts?: number;
  /** `false` switches caching off. */
  readonly cache?: CacheLimits | false;
  readonly clock?: Clock;
  readonly random?: RandomSource;
}

interface Resolver {
  readonly servers: readonly DnsServerAddress[];
  readonly timeoutMs: number;
  readonly attempts: number;
  /** Servers that were seen to change the case of names; they are asked in plain case, over UDP. */
  readonly caseChangers: Set<DnsServerAddress>;
  readonly random: RandomSource;
  readonly cache: AnswerCache | undefined;
  readonly pending: Map<string, Promise<DnsAnswer<unknown>>>;
  readonly closing: AbortController;
}

/**
 * A stub resolver over UDP with EDNS0, falling back to TCP. Closing fails queries in progress with
 * `DNS_CLOSED`.
 */
export function createDnsResolver(options: DnsResolverOptions): DnsResolver & Closable {
  if (options.servers.length === 0) throw new TypeError('A resolver needs at least one server');
  const resolver: Resolver = {
    servers: options.servers,
    timeoutMs: options.timeoutMs ?? queryTimeoutMs,
    attempts: options.attempts ?? queryAttempts,
    caseChangers: new Set(),
    random: options.random ?? { bytes: randomBytes },
    cache:
      options.cache === false ? undefined : createAnswerCache(options.clock ?? systemClock, options.cache),
    pending: new Map(),
    closing: new AbortController(),
  };
  return {
    resolveCert: (name) => resolve(resolver, name, 'CERT'),
    resolveMx: (name) => resolve(resolver, name, 'MX'),
    resolveSrv: (name) => resolve(resolver, name, 'SRV'),
    resolveAddresses: (name) => resolveAddresses(resolver, name),
    resolveNs: (name) => resolve(resolver, name, 'NS'),
    resolvePtr: (address) => resolve(resolver, reverseName(address), 'PTR'),
    resolveSoa: (name) => resolve(resolver, name, 'SOA'),
    close: async () => resolver.closing.abort(),
  };
}

/** `192.0.2.1` is `1.2.0.192.in-addr.arpa`; of IPv6 each hexadecimal digit is a label. */
function reverseName(address: string): string {
  if (isIPv4(address)) return `${address.split('.').toReversed().join('.')}.in-addr.arpa`;
  const digits = parseIpv6(address).toString('hex');
  return `${[...digits].toReversed().join('.')}.ip6.arpa`;
}

async function resolveAddresses(resolver: Resolver, name: string): Promise<DnsAnswer<string>> {
  const [ipv4, ipv6] = await Promise.allSettled([
    resolve(resolver, name, 'A'),
    resolve(resolver, name, 'AAAA'),
  ]);
  const answers = [ipv4, ipv6].flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const found = answers.filter((answer) => answer.status === 'found');
  // One family suffices to continue; absence, though, is only certain when both questions were answered.
  if (found.length === 0) {
    if (ipv4.status === 'rejected') throw ipv4.reason;
    if (ipv6.status === 'rejected') throw ipv6.reason;
  }
  const [first, ...others] = found.length > 0 ? found : answers;
  if (first === undefined) throw new TypeError('A settled question has neither value nor reason');
  const ttlSeconds = Math.min(first.ttlSeconds, ...others.map((answer) => answer.ttlSeconds));
  return { ...first, records: found.flatMap((answer) => answer.records), ttlSeconds };
}

/** One query, from the cache, from an equal query in progress, or from the servers. */
async function resolve<Type extends RecordType>(
  resolver: Resolver,
  name: string,
  type: Type,
): Promise<DnsAnswer<RecordData[Type]>> {
  const key = `${type} ${nameKey(name)}`;
  // The type is part of the key, so the cached answer has the data of that type.
  const kept = resolver.cache?.find(key) as DnsAnswer<RecordData[Type]> | undefined;
  if (kept !== undefined) return kept;
  const pending = resolver.pending.get(key) as Promise<DnsAnswer<RecordData[Type]>> | undefined;
  if (pending !== undefined) return pending;
  const asking = resolveThroughAliases(resolver, name, type, key);
  resolver.pending.set(key, asking);
  try {
    return await asking;
  } finally {
    resolver.pending.delete(key);
  }
}

async function resolveThroughAliases<Type extends RecordType>(
  resolver: Resolver,
  name: string,
  type: Type,
  key: string,
): Promise<DnsAnswer<RecordData[Type]>> {
  let current = name;
  let ttlSeconds = Number.MAX_SAFE_INTEGER;
  for (let step = 0; step <= maxAliases; step++) {
    const { read, octets } = await askServers(resolver, current, type);
    ttlSeconds = Math.min(ttlSeconds, read.alias?.ttlSeconds ?? read.answer.ttlSeconds);
    if (read.alias === undefined) {
      const answer = { ...read.answer, ttlSeconds };
      resolver.cache?.keep(key, answer, octets);
      return answer;
    }
    current = read.alias.target;
  }
  throw new DnsError('DNS_ALIAS_LOOP', 'Too many CNAME records in a row', { fields: { name } });
}

interface ServerAnswer<T> {
  readonly read: ReadAnswer<T>;
  readonly octets: number;
}

async function askServers<Type extends RecordType>(
  resolver: Resolver,
  name: string,
  type: Type,
): Promise<ServerAnswer<RecordData[Type]>> {
  let failure: unknown;
  for (let attempt = 0; attempt < resolver.attempts; attempt++) {
    for (const server of resolver.servers) {
      try {
        return await askServer(resolver, server, name, type);
      } catch (error) {
        // A name that cannot be written, or a closed resolver, fails the same way everywhere.
        if (!(error instanceof DnsError) || !error.isTransient || error.code === 'DNS_CLOSED') throw error;
        failure = error;
      }
    }
  }
  throw failure;
}

async function askServer<Type extends RecordType>(
  resolver: Resolver,
  server: DnsServerAddress,
  name: string,
  type: Type,
): Promise<ServerAnswer<RecordData[Type]>> {
  let exchanged = await exchange(resolver, server, name, type, true);
  // RFC 6891 §7: a server from before EDNS0 answers with these codes; it gets the question without.
  if (exchanged.message.rcode === rcodes.formErr || exchanged.message.rcode === rcodes.notImp) {
    exchanged = await exchange(resolver, server, name, type, false);
  }
  const { message, transport } = exchanged;
  return { read: readAnswer(message, name, type, transport), octets: message.bytes.length };
}

async function exchange(
  resolver: Resolver,
  server: DnsServerAddress,
  name: string,
  type: RecordType,
  isEdns: boolean,
): Promise<{ message: DnsMessage; transport: 'udp' | 'tcp' }> {
  const id = Buffer.from(resolver.random.bytes(2)).readUInt16BE(0);
  // Names in mixed case come back so, which makes answers harder to forge.
  const isMixed = !resolver.caseChangers.has(server);
  const query = writeQuery({ id, name: isMixed ? mixCase(name, resolver.random) : name, type, isEdns });
  const options = { server, query, timeoutMs: resolver.timeoutMs, signal: resolver.closing.signal };
  const outcome = await askOverUdp(options);
  if (outcome !== 'use-tcp') return { message: outcome, transport: 'udp' };
  const message = await askOverTcp(options);
  // Nobody else can speak in a TCP connection, so here the server itself has changed the name.
  if (isMixed && message.questions[0]?.name !== readMessage(query).questions[0]?.name) {
    resolver.caseChangers.add(server);
  }
  return { message, transport: 'tcp' };
}

/** Random case for each letter: bits that a forger who does not see the question has to guess as well. */
function mixCase(name: string, random: RandomSource): string {
  const bits = random.bytes(name.length);
  return name.replace(/[A-Za-z]/g, (letter, index: number) =>
    ((bits[index] ?? 0) & 1) === 1 ? letter.toUpperCase() : letter.toLowerCase(),
  );
}
