import { DnsError } from './errors.ts';
import { maxAliases, maxNegativeCacheSeconds } from './limits.ts';
import { dataOf, rcodes, type DnsMessage, type RawRecord } from './message.ts';
import { nameKey } from './names.ts';
import { readRdata } from './rdata.ts';
import { typeCodes, type RecordData, type RecordType } from './records.ts';

/** The DNS answer for one name and type. Failures are thrown, never returned. */
export interface DnsAnswer<T> {
  /** `nodata`: the name exists without this type; `nxdomain`: there is no such name. Both are definite. */
  readonly status: 'found' | 'nodata' | 'nxdomain';
  /** Empty unless found. In the server's order. */
  readonly records: readonly T[];
  /** Remaining time for which the answer may be cached; for absence from the SOA's minimum (RFC 2308 §5). */
  readonly ttlSeconds: number;
  readonly transport: 'udp' | 'tcp';
}

export interface ReadAnswer<T> {
  readonly answer: DnsAnswer<T>;
  /** Set when the answer ends in an alias whose target must be queried; `answer` is then meaningless. */
  readonly alias?: { readonly target: string; readonly ttlSeconds: number };
}

/**
 * Reads the answer to `name` and `type` out of a response, following the CNAME records in it.
 * Throws `DNS_SERVER_FAILURE` for failures and referrals, `DNS_ALIAS_LOOP` for circles,
 * `DNS_MESSAGE_INVALID`.
 */
export function readAnswer<Type extends RecordType>(
  message: DnsMessage,
  name: string,
  type: Type,
  transport: 'udp' | 'tcp',
): ReadAnswer<RecordData[Type]> {
  if (message.rcode !== rcodes.noError && message.rcode !== rcodes.nxDomain) throw serverFailure(message);
  const chain = followAliases(message, name, type);
  if (chain.records.length > 0) {
    const ttlSeconds = Math.min(chain.ttlSeconds, ...chain.records.map((record) => record.ttlSeconds));
    const records = chain.records.map((record) =>
      readRdata(type, message.bytes, record.dataStart, record.dataEnd),
    );
    return { answer: { status: 'found', records, ttlSeconds, transport } };
  }
  if (message.rcode === rcodes.nxDomain)
    return { answer: absence('nxdomain', message, chain.ttlSeconds, transport) };
  const answer = absence('nodata', message, chain.ttlSeconds, transport);
  if (chain.name !== nameKey(name)) {
    return { answer, alias: { target: chain.name, ttlSeconds: chain.ttlSeconds } };
  }
  if (isReferral(message)) throw new DnsError('DNS_SERVER_FAILURE', 'The DNS server refers to other servers');
  return { answer };
}

interface AliasChain {
  readonly name: string;
  readonly records: readonly RawRecord[];
  readonly ttlSeconds: number;
}

function followAliases(message: DnsMessage, name: string, type: RecordType): AliasChain {
  let current = nameKey(name);
  let ttlSeconds = Number.MAX_SAFE_INTEGER;
  for (let step = 0; step <= maxAliases; step++) {
    const records = recordsAt(message, current, typeCodes[type]);
    const [alias] = recordsAt(message, current, typeCodes.CNAME);
    if (records.length > 0 || alias === undefined) return { name: current, records, ttlSeconds };
    ttlSeconds = Math.min(ttlSeconds, alias.ttlSeconds);
    current = nameKey(readRdata('CNAME', message.bytes, alias.dataStart, alias.dataEnd));
  }
  throw new DnsError('DNS_ALIAS_LOOP', 'Too many CNAME records in a row', { fields: { name } });
}

function recordsAt(message: DnsMessage, key: string, type: number): RawRecord[] {
  return message.answers.filter(
    (record) => record.type === type && record.recordClass === 1 && nameKey(record.name) === key,
  );
}

function absence(
  status: 'nodata' | 'nxdomain',
  message: DnsMessage,
  chainTtlSeconds: number,
  transport: 'udp' | 'tcp',
): DnsAnswer<never> {
  const soaRecord = message.authorities.find((record) => record.type === typeCodes.SOA);
  const [soa] = dataOf(message, soaRecord === undefined ? [] : [soaRecord], 'SOA');
  // RFC 2308 §5: without SOA, absence is not to be cached.
  const soaSeconds = soa && soaRecord ? Math.min(soa.minimumSeconds, soaRecord.ttlSeconds) : 0;
  return {
    status,
    records: [],
    ttlSeconds: Math.min(chainTtlSeconds, soaSeconds, maxNegativeCacheSeconds),
    transport,
  };
}

/**
 * No answer, not its own zone, only NS records: a server that leaves the search to us (RFC 2308 §2.2, type
 * 4).
 */
function isReferral(message: DnsMessage): boolean {
  const has = (type: number) => message.authorities.some((record) => record.type === type);
  return (
    !message.isAuthoritative && !message.isRecursionAvailable && has(typeCodes.NS) && !has(typeCodes.SOA)
  );
}

function serverFailure(message: DnsMessage): DnsError {
  return new DnsError('DNS_SERVER_FAILURE', `The DNS server answered with code ${message.rcode}`, {
    fields: { rcode: message.rcode },
  });
}
