import { isIPv4, isIPv6 } from 'node:net';
import { DnsError } from './errors.ts';
import { readName, writeName } from './names.ts';
import type { CertRecord, DnsRecord, RecordData, RecordType, SoaRecord } from './records.ts';

/**
 * Reads a record's data, `message[start, end)`; names may point back into the message.
 * Throws `DNS_MESSAGE_INVALID` when the data is shorter or longer than its type says.
 */
export function readRdata<Type extends RecordType>(
  type: Type,
  message: Buffer,
  start: number,
  end: number,
): RecordData[Type] {
  return readers[type](message, start, end);
}

type Reader<Type extends RecordType> = (message: Buffer, start: number, end: number) => RecordData[Type];

const readers: { readonly [Type in RecordType]: Reader<Type> } = {
  A: (message, start, end) => {
    expectLength(end - start === 4);
    return message.subarray(start, end).join('.');
  },
  AAAA: (message, start, end) => {
    expectLength(end - start === 16);
    return formatIpv6(message.subarray(start, end));
  },
  NS: readWholeName,
  CNAME: readWholeName,
  PTR: readWholeName,
  SOA: readSoa,
  MX: (message, start, end) => {
    expectLength(end - start >= 3);
    return { priority: message.readUInt16BE(start), exchange: readWholeName(message, start + 2, end) };
  },
  TXT: readStrings,
  SRV: (message, start, end) => {
    expectLength(end - start >= 7);
    return {
      priority: message.readUInt16BE(start),
      weight: message.readUInt16BE(start + 2),
      port: message.readUInt16BE(start + 4),
      target: readWholeName(message, start + 6, end),
    };
  },
  CERT: (message, start, end) => readCertRdata(message.subarray(start, end)),
};

/**
 * Reads the data of a CERT record: type, key tag, algorithm, certificate or URL (RFC 4398 §2). Copies the
 * rest.
 */
function readCertRdata(rdata: Uint8Array): CertRecord {
  expectLength(rdata.length >= 5);
  const view = new DataView(rdata.buffer, rdata.byteOffset, rdata.byteLength);
  return {
    certificateType: view.getUint16(0),
    keyTag: view.getUint16(2),
    algorithm: view.getUint8(4),
    // A copy, so that a cached certificate does not keep the whole answer alive.
    data: new Uint8Array(rdata.subarray(5)),
  };
}

/**
 * Writes a record's data without compression. Throws `DNS_NAME_INVALID` or, for a bad address,
 * `DNS_MESSAGE_INVALID`.
 */
export function writeRdata(record: DnsRecord): Buffer {
  switch (record.type) {
    case 'A':
      expect(isIPv4(record.data), 'an A record without an IPv4 address');
      return Buffer.from(record.data.split('.').map(Number));
    case 'AAAA':
      expect(isIPv6(record.data), 'an AAAA record without an IPv6 address');
      return parseIpv6(record.data);
    case 'NS':
    case 'CNAME':
    case 'PTR':
      return writeName(record.data);
    case 'SOA':
      return writeSoa(record.data);
    case 'MX':
      return Buffer.concat([uint16(record.data.priority), writeName(record.data.exchange)]);
    case 'TXT':
      return Buffer.concat(record.data.map(writeString));
    case 'SRV': {
      const { priority, weight, port, target } = record.data;
      return Buffer.concat([uint16(priority), uint16(weight), uint16(port), writeName(target)]);
    }
    case 'CERT': {
      const { certificateType, keyTag, algorithm, data } = record.data;
      return Buffer.concat([uint16(certificateType), uint16(keyTag), Buffer.of(algorithm), data]);
    }
  }
}

function readWholeName(message: Buffer, start: number, end: number): string {
  const read = readName(message, start);
  expectLength(read.end === end);
  return read.name;
}

function readSoa(message: Buffer, start: number, end: number): SoaRecord {
  const primary = readName(message, start);
  const mailbox = readName(message, primary.end);
  const at = mailbox.end;
  expectLength(at + 20 === end);
  return {
    primaryServer: primary.name,
    mailbox: mailbox.name,
    serial: message.readUInt32BE(at),
    refreshSeconds: message.readUInt32BE(at + 4),
    retrySeconds: message.readUInt32BE(at + 8),
    expireSeconds: message.readUInt32BE(at + 12),
    minimumSeconds: message.readUInt32BE(at + 16),
  };
}

function writeSoa(soa: SoaRecord): Buffer {
  const numbers = [soa.serial, soa.refreshSeconds, soa.retrySeconds, soa.expireSeconds, soa.minimumSeconds];
  return Buffer.concat([writeName(soa.primaryServer), writeName(soa.mailbox), ...numbers.map(uint32)]);
}

function readStrings(message: Buffer, start: number, end: number): string[] {
  const texts: string[] = [];
  for (let at = start; at < end;) {
    const next = at + 1 + (message[at] ?? 0);
    expectLength(next <= end);
    texts.push(message.toString('latin1', at + 1, next));
    at = next;
  }
  return texts;
}

function writeString(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  expect(bytes.length <= 255, 'a TXT string over 255 octets');
  return Buffer.concat([Buffer.of(bytes.length), bytes]);
}

function formatIpv6(bytes: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16));
  // The URL parser writes the shortest form (RFC 5952), as everybody expects to see it.
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}

export function parseIpv6(text: string): Buffer {
  const short = new URL(`http://[${text}]`).hostname.slice(1, -1);
  const [head = '', tail] = short.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => '0');
  return Buffer.concat([...left, ...zeros, ...right].map((group) => uint16(Number.parseInt(group, 16))));
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function expectLength(isFitting: boolean): void {
  expect(isFitting, 'record data of a wrong length');
}

function expect(isTrue: boolean, what: string): void {
  if (!isTrue) throw new DnsError('DNS_MESSAGE_INVALID', `The DNS message has ${what}`);
}
