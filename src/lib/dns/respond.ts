import { DnsError } from './errors.ts';
import { ednsUdpOctets, maxAliases, maxTcpOctets, plainUdpOctets } from './limits.ts';
import {
  type DnsMessage,
  rcodes,
  readMessage,
  type ResponseFields,
  writeFormatError,
  writeResponse,
} from './message.ts';
import { isWithin, nameKey, parentName } from './names.ts';
import { type DnsRecord, typeCodes } from './records.ts';

/** Finds the zones that we are the authority for; called for every question. */
export type ListZones = () => readonly DnsZone[] | Promise<readonly DnsZone[]>;

const classIn = 1;
const anyType = 255;
const transferTypes: ReadonlySet<number> = new Set([251, 252]);

/**
 * Answers one query message (HOST-02), or returns undefined if it must not be answered: a response, or too
 * few octets. Foreign zones, zone transfers and other classes are refused, nothing is looked up elsewhere; a
 * failing source gives SERVFAIL, and `onError` its error. Over UDP the response fits the asker's announced
 * size, else TC is set.
 */
export async function respond(
  bytes: Buffer,
  transport: 'udp' | 'tcp',
  listZones: ListZones,
  onError?: (error: unknown) => void,
): Promise<Buffer | undefined> {
  if (bytes.length < 12 || (bytes[2] ?? 0) >= 0x80) return undefined;
  const query = tryRead(bytes);
  if (query === undefined) return writeFormatError(bytes);
  const maxOctets = transport === 'tcp' ? maxTcpOctets : udpOctets(query);
  try {
    return writeResponse(query, await answer(query, listZones), maxOctets);
  } catch (error) {
    // The database behind the zone, or a record that cannot be written: the asker shall try again.
    onError?.(error);
    return writeResponse(query, { rcode: rcodes.servFail, isAuthoritative: false }, maxOctets);
  }
}

/**
 * A truncated answer without a lookup, for clients that exceed their UDP limit. Undefined if the message is
 * not a query.
 */
export function respondTruncated(bytes: Buffer): Buffer | undefined {
  if (bytes.length < 12 || (bytes[2] ?? 0) >= 0x80) return undefined;
  const query = tryRead(bytes);
  return query && writeResponse(query, { rcode: rcodes.noError, isAuthoritative: true }, 0);
}

function udpOctets(query: DnsMessage): number {
  if (query.edns === undefined) return plainUdpOctets;
  return Math.min(Math.max(query.edns.udpOctets, plainUdpOctets), ednsUdpOctets);
}

async function answer(query: DnsMessage, listZones: ListZones): Promise<ResponseFields> {
  const [question] = query.questions;
  if (query.opcode !== 0) return refusal(rcodes.notImp);
  if (question === undefined) return refusal(rcodes.formErr);
  if (query.edns !== undefined && query.edns.version > 0) return refusal(rcodes.badVers);
  if (question.recordClass !== classIn || transferTypes.has(question.type)) return refusal(rcodes.refused);
  const zone = findZone(await listZones(), nameKey(question.name));
  return zone === undefined ? refusal(rcodes.refused) : answerFromZone(zone, question.name, question.type);
}

async function answerFromZone(zone: DnsZone, name: string, type: number): Promise<ResponseFields> {
  const answers: DnsRecord[] = [];
  let current = name;
  for (let step = 0; step <= maxAliases; step++) {
    const records = await zone.findRecords(nameKey(current));
    // An alias whose target is missing is still an answer, but its code is that of the last name
    // (RFC 6604 §3).
    if (records === undefined) return absence(zone, answers, rcodes.nxDomain);
    const wanted = pickRecords(records, type);
    if (wanted.length > 0) return presence(zone, [...answers, ...asNamed(wanted, current)]);
    const alias = records.find((record) => record.type === 'CNAME');
    if (alias === undefined) return absence(zone, answers, rcodes.noError);
    answers.push(...asNamed([alias], current));
    current = alias.data;
    if (!isWithin(nameKey(current), nameKey(zone.name))) return presence(zone, answers);
  }
  return refusal(rcodes.servFail);
}

function pickRecords(records: readonly DnsRecord[], type: number): readonly DnsRecord[] {
  if (type !== anyType) return records.filter((record) => typeCodes[record.type] === type);
  // RFC 8482 §4.1: one set of records suffices, and gives nothing to those who want a large answer sent
  // elsewhere.
  const first = records[0]?.type;
  return records.filter((record) => record.type === first);
}

/** The owner as the asker wrote it, so that its case survives. */
function asNamed(records: readonly DnsRecord[], name: string): DnsRecord[] {
  return records.map((record) => ({ ...record, name }));
}

async function presence(zone: DnsZone, answers: readonly DnsRecord[]): Promise<ResponseFields> {
  return {
    rcode: rcodes.noError,
    isAuthoritative: true,
    answers,
    additionals: await findHostAddresses(zone, answers),
  };
}

async function absence(zone: DnsZone, answers: readonly DnsRecord[], rcode: number): Promise<ResponseFields> {
  const apex = (await zone.findRecords(nameKey(zone.name))) ?? [];
  const soa = apex.find((record) => record.type === 'SOA');
  if (soa === undefined) return refusal(rcodes.servFail);
  // RFC 2308 §3: the TTL of the SOA in a negative answer is not above its minimum field.
  const ttlSeconds = Math.min(soa.ttlSeconds, soa.data.minimumSeconds);
  return { rcode, isAuthoritative: true, answers, authorities: [{ ...soa, ttlSeconds }] };
}

/**
 * Addresses of our hosts named in MX, SRV and NS records, to spare the asker a question (RFC 1035 §3.3.9).
 */
async function findHostAddresses(zone: DnsZone, answers: readonly DnsRecord[]): Promise<DnsRecord[]> {
  const apex = nameKey(zone.name);
  const hosts = new Set(
    answers.map(hostOf).filter((host) => host !== undefined && isWithin(nameKey(host), apex)),
  );
  const found: DnsRecord[] = [];
  for (const host of hosts) {
    const records = (await zone.findRecords(nameKey(host ?? ''))) ?? [];
    found.push(...records.filter((record) => record.type === 'A' || record.type === 'AAAA'));
  }
  return found;
}

function hostOf(record: DnsRecord): string | undefined {
  if (record.type === 'MX') return record.data.exchange;
  if (record.type === 'SRV') return record.data.target;
  return record.type === 'NS' ? record.data : undefined;
}

/** The longest zone that contains the name. */
function findZone(zones: readonly DnsZone[], key: string): DnsZone | undefined {
  let found: DnsZone | undefined;
  for (const zone of zones) {
    if (isWithin(key, nameKey(zone.name)) && zone.name.length >= (found?.name.length ?? 0)) found = zone;
  }
  return found;
}

function refusal(rcode: number): ResponseFields {
  return { rcode, isAuthoritative: false };
}

function tryRead(bytes: Buffer): DnsMessage | undefined {
  try {
    return readMessage(bytes);
  } catch (error) {
    if (error instanceof DnsError) return undefined;
    throw error;
  }
}

/** A zone for which this server is authoritative. */
export interface DnsZone {
  /** Its apex, for example `direct.example.org`. */
  readonly name: string;
  /**
   * All records at one name (in lower case, inside the zone), of every type. Empty when the name exists
   * without records, undefined when it does not exist. The apex must have one SOA record.
   */
  findRecords(name: string): readonly DnsRecord[] | undefined | Promise<readonly DnsRecord[] | undefined>;
}

/** A zone over a fixed list of records. Names above a record exist too, without records (RFC 8020 §2). */
export function createStaticZone(name: string, records: readonly DnsRecord[]): DnsZone {
  const apex = nameKey(name);
  const recordsByName = new Map<string, DnsRecord[]>([[apex, []]]);
  for (const record of records) {
    const key = nameKey(record.name);
    if (!isWithin(key, apex)) throw new TypeError(`A record of another zone than ${apex}`);
    recordsByName.set(key, [...(recordsByName.get(key) ?? []), record]);
    for (
      let above = parentName(key);
      isWithin(above, apex) && !recordsByName.has(above);
      above = parentName(above)
    ) {
      recordsByName.set(above, []);
    }
  }
  return { name: apex, findRecords: (key) => recordsByName.get(key) };
}
