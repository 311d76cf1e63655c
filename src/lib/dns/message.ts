import { DnsError } from './errors.ts';
import { ednsUdpOctets, headerOctets, maxRecords } from './limits.ts';
import { readName, writeName } from './names.ts';
import { readRdata, writeRdata } from './rdata.ts';
import { typeCodes, type DnsRecord, type RecordData, type RecordType } from './records.ts';

/** Response codes of RFC 1035 §4.1.1, RFC 6891 §9. */
export const rcodes = {
  noError: 0,
  formErr: 1,
  servFail: 2,
  nxDomain: 3,
  notImp: 4,
  refused: 5,
  badVers: 16,
} as const;

const classIn = 1;
const optType = 41;
// The shortest question is a root name, type and class; the shortest record adds TTL and length.
const minQuestionOctets = 5;
const minRecordOctets = 11;

export interface DnsQuestion {
  readonly name: string;
  readonly type: number;
  readonly recordClass: number;
}

/** A record whose data is parsed on demand: unknown types in an answer do not affect the others. */
export interface RawRecord {
  readonly name: string;
  readonly type: number;
  readonly recordClass: number;
  readonly ttlSeconds: number;
  readonly dataStart: number;
  readonly dataEnd: number;
}

export interface DnsMessage {
  readonly bytes: Buffer;
  readonly id: number;
  readonly isResponse: boolean;
  readonly opcode: number;
  readonly isAuthoritative: boolean;
  readonly isTruncated: boolean;
  readonly isRecursionDesired: boolean;
  readonly isRecursionAvailable: boolean;
  /** With the upper bits from EDNS0. */
  readonly rcode: number;
  readonly questions: readonly DnsQuestion[];
  /** End of the question section, to echo it octet for octet. */
  readonly questionsEnd: number;
  readonly answers: readonly RawRecord[];
  readonly authorities: readonly RawRecord[];
  readonly additionals: readonly RawRecord[];
  readonly edns: { readonly udpOctets: number; readonly version: number } | undefined;
}

/**
 * Reads a DNS message (RFC 1035 §4.1). Throws `DNS_MESSAGE_INVALID` for anything malformed or over the
 * limits.
 */
export function readMessage(bytes: Buffer): DnsMessage {
  const header = readHeader(bytes);
  const { questions, end: questionsEnd } = readQuestions(bytes, header.questionCount);
  const answers = readRecords(bytes, questionsEnd, header.answerCount);
  const authorities = readRecords(bytes, answers.end, header.authorityCount);
  const additionals = readRecords(bytes, authorities.end, header.additionalCount);
  const [opt, ...furtherOpts] = additionals.records.filter((record) => record.type === optType);
  // RFC 6891 §6.1.1.
  if (furtherOpts.length > 0) throw invalid('more than one OPT record');
  return {
    bytes,
    id: bytes.readUInt16BE(0),
    isResponse: (header.flags & 0x8000) !== 0,
    opcode: (header.flags >> 11) & 0xf,
    isAuthoritative: (header.flags & 0x0400) !== 0,
    isTruncated: (header.flags & 0x0200) !== 0,
    isRecursionDesired: (header.flags & 0x0100) !== 0,
    isRecursionAvailable: (header.flags & 0x0080) !== 0,
    rcode: (header.flags & 0xf) | (opt === undefined ? 0 : (opt.ttlSeconds >>> 24) << 4),
    questions,
    questionsEnd,
    answers: answers.records,
    authorities: authorities.records,
    additionals: additionals.records,
    // RFC 6891 §6.1.2: the class holds the size, the TTL holds extended code, version and flags.
    edns: opt && { udpOctets: opt.recordClass, version: (opt.ttlSeconds >>> 16) & 0xff },
  };
}

/** The data of those records that have the type; throws `DNS_MESSAGE_INVALID` if one of them is malformed. */
export function dataOf<Type extends RecordType>(
  message: DnsMessage,
  records: readonly RawRecord[],
  type: Type,
): RecordData[Type][] {
  return records
    .filter((record) => record.type === typeCodes[type] && record.recordClass === classIn)
    .map((record) => readRdata(type, message.bytes, record.dataStart, record.dataEnd));
}

export interface QueryOptions {
  readonly id: number;
  /** Written unchanged, so that mixed case is sent. */
  readonly name: string;
  readonly type: RecordType;
  readonly isEdns: boolean;
}

/** A question with recursion desired and, if wanted, EDNS0 with 1232 octets (DISC-05). */
export function writeQuery({ id, name, type, isEdns }: QueryOptions): Buffer {
  const question = Buffer.concat([writeName(name), uint16s(typeCodes[type], classIn)]);
  const header = uint16s(id, 0x0100, 1, 0, 0, isEdns ? 1 : 0);
  return Buffer.concat([header, question, ...(isEdns ? [writeOpt(0)] : [])]);
}

export interface ResponseFields {
  readonly rcode: number;
  readonly isAuthoritative: boolean;
  readonly answers?: readonly DnsRecord[];
  readonly authorities?: readonly DnsRecord[];
  readonly additionals?: readonly DnsRecord[];
}

/**
 * Writes the response to a query, echoing its id, its question octet for octet (0x20 case included) and
 * EDNS0. When it exceeds `maxOctets`, additional records go first; if that does not suffice, a response
 * without records and with TC set is written (RFC 2181 §9).
 */
export function writeResponse(query: DnsMessage, fields: ResponseFields, maxOctets: number): Buffer {
  const { answers = [], authorities = [], additionals = [] } = fields;
  const full = assemble(query, fields, { answers, authorities, additionals }, false);
  if (full.length <= maxOctets) return full;
  const needed = assemble(query, fields, { answers, authorities, additionals: [] }, false);
  if (needed.length <= maxOctets) return needed;
  return assemble(query, fields, { answers: [], authorities: [], additionals: [] }, true);
}

interface Sections {
  readonly answers: readonly DnsRecord[];
  readonly authorities: readonly DnsRecord[];
  readonly additionals: readonly DnsRecord[];
}

function assemble(
  query: DnsMessage,
  fields: ResponseFields,
  sections: Sections,
  isTruncated: boolean,
): Buffer {
  const flags =
    0x8000 |
    (query.opcode << 11) |
    (fields.isAuthoritative ? 0x0400 : 0) |
    (isTruncated ? 0x0200 : 0) |
    (query.isRecursionDesired ? 0x0100 : 0) |
    (fields.rcode & 0xf);
  const opt = query.edns === undefined ? [] : [writeOpt(fields.rcode >>> 4)];
  const counts = [
    sections.answers.length,
    sections.authorities.length,
    sections.additionals.length + opt.length,
  ];
  const records = [...sections.answers, ...sections.authorities, ...sections.additionals].map(writeRecord);
  const question = query.bytes.subarray(headerOctets, query.questionsEnd);
  return Buffer.concat([
    uint16s(query.id, flags, query.questions.length, ...counts),
    question,
    ...records,
    ...opt,
  ]);
}

/** The response to a query whose body is malformed. */
export function writeFormatError(bytes: Buffer): Buffer {
  return uint16s(
    bytes.readUInt16BE(0),
    0x8000 | (bytes.readUInt16BE(2) & 0x7900) | rcodes.formErr,
    0,
    0,
    0,
    0,
  );
}

function writeRecord(record: DnsRecord): Buffer {
  const rdata = writeRdata(record);
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(typeCodes[record.type], 0);
  fixed.writeUInt16BE(classIn, 2);
  fixed.writeUInt32BE(record.ttlSeconds, 4);
  fixed.writeUInt16BE(rdata.length, 8);
  return Buffer.concat([writeName(record.name), fixed, rdata]);
}

function writeOpt(extendedRcode: number): Buffer {
  return Buffer.concat([
    Buffer.of(0),
    uint16s(optType, ednsUdpOctets),
    Buffer.of(extendedRcode, 0, 0, 0, 0, 0),
  ]);
}

function readHeader(bytes: Buffer) {
  if (bytes.length < headerOctets) throw invalid('fewer than 12 octets');
  const header = {
    flags: bytes.readUInt16BE(2),
    questionCount: bytes.readUInt16BE(4),
    answerCount: bytes.readUInt16BE(6),
    authorityCount: bytes.readUInt16BE(8),
    additionalCount: bytes.readUInt16BE(10),
  };
  const recordCount = header.answerCount + header.authorityCount + header.additionalCount;
  const needed = headerOctets + header.questionCount * minQuestionOctets + recordCount * minRecordOctets;
  if (needed > bytes.length || recordCount > maxRecords) throw invalid('counts that its length cannot hold');
  // RFC 9619 §4: no message has more.
  if (header.questionCount > 1) throw invalid('more than one question');
  return header;
}

function readQuestions(bytes: Buffer, count: number): { questions: DnsQuestion[]; end: number } {
  const questions: DnsQuestion[] = [];
  let at = headerOctets;
  for (let index = 0; index < count; index++) {
    const { name, end } = readName(bytes, at);
    if (end + 4 > bytes.length) throw invalid('an unfinished question');
    questions.push({ name, type: bytes.readUInt16BE(end), recordClass: bytes.readUInt16BE(end + 2) });
    at = end + 4;
  }
  return { questions, end: at };
}

function readRecords(bytes: Buffer, start: number, count: number): { records: RawRecord[]; end: number } {
  const records: RawRecord[] = [];
  let at = start;
  for (let index = 0; index < count; index++) {
    const { name, end } = readName(bytes, at);
    if (end + 10 > bytes.length) throw invalid('an unfinished record');
    const type = bytes.readUInt16BE(end);
    const ttl = bytes.readUInt32BE(end + 4);
    const dataStart = end + 10;
    const dataEnd = dataStart + bytes.readUInt16BE(end + 8);
    if (dataEnd > bytes.length) throw invalid('record data beyond its end');
    // RFC 2181 §8: a TTL with the highest bit set counts as zero. In OPT the field is not a TTL.
    const ttlSeconds = type === optType || ttl <= 0x7fffffff ? ttl : 0;
    records.push({ name, type, recordClass: bytes.readUInt16BE(end + 2), ttlSeconds, dataStart, dataEnd });
    at = dataEnd;
  }
  return { records, end: at };
}

function uint16s(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2);
  values.forEach((value, index) => bytes.writeUInt16BE(value, index * 2));
  return bytes;
}

function invalid(what: string): DnsError {
  return new DnsError('DNS_MESSAGE_INVALID', `The DNS message has ${what}`);
}
