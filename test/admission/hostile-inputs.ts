/** For each parser that outsiders reach: inputs of the largest size that it is given, made to cost as much as they can. */
import fastify from 'fastify';
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { crc32, deflateRawSync } from 'node:zlib';
import { createJsonParser } from '../../src/app/http/index.ts';
import { readAsn1 } from '../../src/lib/asn1/index.ts';
import { readMessage as readDnsMessage } from '../../src/lib/dns/message.ts';
import { createMessageReader } from '../../src/lib/ldap/message-reader.ts';
import { readEntry } from '../../src/lib/ldap/message.ts';
import { collectParts, parseEntity } from '../../src/lib/mime/index.ts';
import { readMdnOrDsn } from '../../src/lib/mdn/index.ts';
import { readSignedData, decryptCms } from '../../src/lib/smime/index.ts';
import { readCertificates, readCrl, readTrustBundle } from '../../src/lib/pki/index.ts';
import { findXmlFault, readMetadata, readXdm, sniffCcda } from '../../src/lib/xdm/index.ts';
import { openInput } from '../../src/service/directory/load/open-input.ts';
import { parseResource } from '../../src/service/directory/load/npd/fhir.ts';
import { openTable } from '../../src/service/directory/load/read-rows.ts';
import { verifyRegistration } from '../../src/service/operators/passkey-registration.ts';
import { parseBody } from '../../src/service/messaging/request/parse-body.ts';

export interface HostileInput {
  make(): Buffer | string;
  /** What came of it; the error's code if it throws. */
  read(bytes: Buffer): string | undefined | Promise<string | undefined>;
}

const megabyte = 1_000_000;
/** The largest body of send_ccda: 25 MB of attachments in base64, and the rest. */
const bodyBytes = 36 * megabyte;
const attachmentBytes = 25 * megabyte;
/** The largest message that SMTP accepts. */
const messageBytes = 40 * megabyte;

const fill = (piece: string, bytes: number): string => piece.repeat(Math.floor(bytes / piece.length));
const numbered = (bytes: number, write: (n: number) => string): string => {
  const pieces: string[] = [];
  for (let [n, length] = [0, 0]; length < bytes; n++) {
    const piece = write(n);
    pieces.push(piece);
    length += piece.length;
  }
  return pieces.join('');
};

const json = (make: () => string): HostileInput => ({ make, read: (input) => void parseBody(input) });
const xml = (make: () => string): HostileInput => ({
  make,
  read: (input) => (findXmlFault(input) === undefined ? 'well formed' : 'fault'),
});
const metadata = (make: () => string): HostileInput => ({
  make,
  read: (input) => (readMetadata(input) === undefined ? 'refused' : 'read'),
});
const mime = (make: () => string): HostileInput => ({
  make,
  read(input) {
    const parts = collectParts(parseEntity(input));
    for (const part of parts) if (part.isText) part.text();
    return `${parts.length} parts`;
  },
});

/** DER with lengths of four bytes. */
function der(tag: number, content: Buffer): Buffer {
  const head = Buffer.alloc(6);
  head[0] = tag;
  head[1] = 0x84;
  head.writeUInt32BE(content.length, 2);
  return Buffer.concat([head, content]);
}
const cms = (oid: string, content: () => Buffer): HostileInput => ({
  make: () => der(0x30, Buffer.concat([Buffer.from(oid, 'hex'), der(0xa0, content())])),
  read: (input) => void (oid === signedOid ? readSignedData(input) : decryptCms(input, [])),
});
const signedOid = '06092a864886f70d010702';
const envelopedOid = '06092a864886f70d010703';

/** A ZIP archive of `count` deflated files of `size` bytes. */
export function makeZip(count: number, size: number): Buffer {
  // Packs about 80 times; a package may 100 times.
  const content = Buffer.alloc(size);
  const noise = createHash('shake256', { outputLength: Math.ceil(size / 90) })
    .update('a')
    .digest();
  for (let at = 0; at * 90 < size; at += 100) noise.copy(content, at * 90, at, at + 100);
  const packed = deflateRawSync(content);
  const [files, entries]: [Buffer[], Buffer[]] = [[], []];
  let offset = 0;
  for (let n = 0; n < count; n++) {
    const name = Buffer.from(`IHE_XDM/SUBSET01/D${n}.XML`);
    const head = Buffer.alloc(46);
    head.writeUInt32LE(0x02014b50, 0);
    head.writeUInt16LE(20, 4);
    head.writeUInt16LE(20, 6);
    head.writeUInt16LE(8, 10);
    head.writeUInt32LE(crc32(content), 16);
    head.writeUInt32LE(packed.length, 20);
    head.writeUInt32LE(size, 24);
    head.writeUInt16LE(name.length, 28);
    head.writeUInt32LE(offset, 42);
    const local = Buffer.concat([Buffer.from([0x50, 0x4b, 3, 4]), head.subarray(6, 32)]);
    files.push(local, name, packed);
    entries.push(head, name);
    offset += local.length + name.length + packed.length;
  }
  const directory = Buffer.concat(entries);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...files, directory, end]);
}
const zip = (count: number, size: number): HostileInput => ({
  make: () => makeZip(count, size),
  async read(input) {
    const { documents } = await readXdm(input);
    return `${documents.length} documents`;
  },
});

function signedData(signers: Buffer): Buffer {
  return der(
    0x30,
    Buffer.concat([
      Buffer.from('020101', 'hex'),
      der(0x31, Buffer.alloc(0)),
      der(0x30, Buffer.from('06092a864886f70d010701', 'hex')),
      signers,
    ]),
  );
}

const passkey = (attestation: () => Buffer): HostileInput => ({
  make: () => attestation().toString('base64url'),
  async read(input) {
    const party = { id: 'localhost', name: 'a', origin: 'http://localhost' };
    const response = { clientDataJSON: '', attestationObject: input.toString() };
    await verifyRegistration(party, '', { id: 'a', rawId: 'a', type: 'public-key', response });
    return 'read';
  },
});

/** A set of certificates that are none. */
function certificateSet(bytes: number): Buffer {
  const certificates = der(0xa0, Buffer.alloc(bytes, Buffer.from('30020500', 'hex')));
  return der(
    0x30,
    Buffer.concat([
      Buffer.from(signedOid, 'hex'),
      der(
        0xa0,
        der(
          0x30,
          Buffer.concat([
            Buffer.from('0201013100300b06092a864886f70d010701', 'hex'),
            certificates,
            Buffer.from('3100', 'hex'),
          ]),
        ),
      ),
    ]),
  );
}

/** A list that is as long as `bytes`, of the shortest entries that differ. */
function makeCrl(bytes: number): Buffer {
  const algorithm = Buffer.from('300d06092a864886f70d01010b0500', 'hex');
  const entry = Buffer.from('3008020400000000170000'.slice(0, 20), 'hex');
  const count = Math.floor((bytes - 200) / entry.length);
  const entries = Buffer.alloc(count * entry.length, entry);
  for (let n = 0; n < count; n++) entries.writeUInt32BE(0x10_000_000 + n, n * entry.length + 4);
  const time = Buffer.from('170d3236303130313030303030305a', 'hex');
  const body = der(
    0x30,
    Buffer.concat([
      Buffer.from('020101', 'hex'),
      algorithm,
      Buffer.from('3000', 'hex'),
      time,
      time,
      der(0x30, entries),
    ]),
  );
  return der(0x30, Buffer.concat([body, algorithm, Buffer.from('03020001', 'hex')]));
}

/** 1000 records in 64 kB. */
function dnsAnswer(): Buffer {
  const head = Buffer.from('000184000001000000000000', 'hex');
  head.writeUInt16BE(1000, 6);
  const record = Buffer.from('c00c0010000100000e100030', 'hex');
  return Buffer.concat([
    head,
    Buffer.from('0161000010' + '0001', 'hex'),
    ...Array.from({ length: 1000 }, () => Buffer.concat([record, Buffer.alloc(48, Buffer.from([1, 0x61]))])),
  ]);
}

function ldapEntry(bytes: number): Buffer {
  const values = der(0x31, Buffer.alloc(bytes, Buffer.from('0400', 'hex')));
  const attribute = der(0x30, Buffer.concat([Buffer.from('040161', 'hex'), values]));
  const body = der(0x64, Buffer.concat([Buffer.from('0400', 'hex'), der(0x30, attribute)]));
  return der(0x30, Buffer.concat([Buffer.from('020101', 'hex'), body]));
}

function readLdap(input: Buffer): string {
  const kept: unknown[] = [];
  const reader = createMessageReader((message) => kept.push(readEntry(message)));
  for (let at = 0; at < input.length; at += 65_536) reader.push(input.subarray(at, at + 65_536));
  return `${kept.length} messages`;
}

const csv = (make: () => string): HostileInput => ({
  make,
  async read(input) {
    const pieces = Array.from({ length: Math.ceil(input.length / 262_144) }, (_, n) =>
      input.subarray(n * 262_144, (n + 1) * 262_144),
    );
    const table = await openTable(Readable.from(pieces));
    let count = 0;
    for await (const rows of table.rows(table.header.map(() => true))) for (const _row of rows) count++;
    return `${count} rows`;
  },
});

/** The longest line of a release. */
const resourceBytes = 20 * megabyte;
const fhir = (make: () => string): HostileInput => ({
  make: () => `{"resourceType":"Endpoint","a":[${make()}0]}`,
  read: (input) => (parseResource(input, 0, input.length, 'Endpoint') === undefined ? 'refused' : 'read'),
});

/** A ZIP archive that holds nothing but a list of files. */
function zipDirectory(bytes: number): Buffer {
  const entry = Buffer.alloc(46 + 5);
  entry.writeUInt32LE(0x02014b50, 0);
  entry.writeUInt16LE(5, 28);
  entry.write('a.csv', 46);
  const count = Math.floor(bytes / entry.length);
  const directory = Buffer.alloc(count * entry.length, entry);
  const start = Buffer.from('PK\x03\x04', 'latin1');
  const end64 = Buffer.alloc(56);
  end64.writeUInt32LE(0x06064b50, 0);
  end64.writeBigUInt64LE(44n, 4);
  end64.writeBigUInt64LE(BigInt(count), 24);
  end64.writeBigUInt64LE(BigInt(count), 32);
  end64.writeBigUInt64LE(BigInt(directory.length), 40);
  end64.writeBigUInt64LE(BigInt(start.length), 48);
  const locator = Buffer.alloc(20);
  locator.writeUInt32LE(0x07064b50, 0);
  locator.writeBigUInt64LE(BigInt(start.length + directory.length), 8);
  locator.writeUInt32LE(1, 16);
  const end = Buffer.alloc(22, 0xff);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt32LE(0, 4);
  end.writeUInt16LE(0, 20);
  return Buffer.concat([start, directory, end64, locator, end]);
}

const cdaStart = '<ClinicalDocument xmlns="urn:hl7-org:v3">';
const multipart = (boundary: string): string =>
  `MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=${boundary}\r\n\r\n`;

export const hostileInputs: Readonly<Record<string, HostileInput>> = {
  'JSON: arrays in arrays': json(() => fill('[', bodyBytes)),
  'JSON: objects in objects': json(() => fill('{"a":', bodyBytes)),
  'JSON: two million names': json(() => `{${numbered(bodyBytes, (n) => `"n${n}":1,`)}"z":1}`),
  'JSON: a list of numbers': json(() => `[${fill('1,', bodyBytes)}1]`),
  'JSON: a long number': json(() => fill('1', bodyBytes)),
  'JSON: one long string': json(() => `{"messageBody":"${fill('é', bodyBytes / 2)}"}`),
  'JSON: one string of two-byte characters and escapes': json(
    () => `{"messageBody":"${fill(String.raw`Ж\n`, (bodyBytes * 3) / 4)}"}`,
  ),
  'JSON: one content with escaped slashes': json(
    () => `{"emailAttachmentList":[{"attachmentContent":"${fill(String.raw`AAA\/`, bodyBytes)}"}]}`,
  ),
  'JSON: contents of 16 kB': json(
    () =>
      `{"emailAttachmentList":[${fill(`{"attachmentContent":"${fill('QUJD', 20_000)}"},`, bodyBytes)}{}]}`,
  ),
  'JSON: a body of the console': {
    make: () => Buffer.alloc(megabyte, '['),
    read: async (input) => void (await createJsonParser(fastify() as never)({} as never, input)),
  },
  'XML: elements in elements': xml(() => fill('<a>', attachmentBytes)),
  'XML: attributes': xml(() => `<a ${numbered(attachmentBytes, (n) => `a${n}="" `)}/>`),
  'XML: a long name': xml(() => `<${fill('a', attachmentBytes)}/>`),
  'XML: a long value': xml(() => `<a b="${fill('é', attachmentBytes / 2)}"/>`),
  'XML: a long text': xml(() => `<a>${fill('é&amp;', attachmentBytes * 0.85)}</a>`),
  'XML: a long comment': xml(() => `<a><!--${fill('Ж', attachmentBytes / 2)}--></a>`),
  'XML: many elements': xml(() => `<a>${fill('<b c="d"/>', attachmentBytes)}</a>`),
  'XML: processing instructions': xml(() => `<a>${fill('<?b c?>', attachmentBytes)}</a>`),
  'C-CDA header: attributes': {
    make: () => Buffer.from(`${cdaStart}<id ${numbered(attachmentBytes, (n) => `a${n}="" `)}/>`),
    read: (input) => (sniffCcda(input) === undefined ? 'none' : 'read'),
  },
  'C-CDA header: templates': {
    make: () => Buffer.from(`${cdaStart}${fill('<templateId root="1.2"/>', attachmentBytes)}`),
    read: (input) => (sniffCcda(input) === undefined ? 'none' : 'read'),
  },
  'XDM metadata: attributes': metadata(() => `<a ${numbered(4 * megabyte, (n) => `a${n}="" `)}/>`),
  'XDM metadata: namespaces': metadata(() => `<a ${numbered(4 * megabyte, (n) => `xmlns:a${n}="b" `)}/>`),
  'XDM metadata: objects': metadata(() => `<a>${fill('<ExtrinsicObject/>', 4 * megabyte)}</a>`),
  'XDM metadata: values': metadata(
    () =>
      `<ExtrinsicObject><Slot name="a">${fill('<Value>b</Value>', 4 * megabyte)}</Slot></ExtrinsicObject>`,
  ),
  'MIME: header fields': mime(() => fill('a:\r\n', messageBytes)),
  'MIME: header fields of a thousand parts': mime(
    () => `${multipart('b')}${fill(`--b\r\n${fill('a:\r\n', 3990)}\r\n\r\n`, 990 * 4010)}--b--`,
  ),
  'MIME: long header fields of a thousand parts': mime(
    () =>
      `${multipart('b')}${fill(`--b\r\n${fill('abcdefghij: 012345678901234567890123456\r\n', 40_000)}\r\n\r\n`, messageBytes)}--b--`,
  ),
  'MIME: parts': mime(() => `${multipart('b')}${fill('--b\r\n\r\n', messageBytes)}`),
  'MIME: multiparts in multiparts': mime(() =>
    numbered(messageBytes, (n) => `${multipart(`b${n}`)}--b${n}\r\n`),
  ),
  'MIME: parameters': mime(
    () =>
      `Content-Type: text/plain; ${numbered(60_000, (n) => `a*${n}=b;`)}\r\n\r\n${fill('a', messageBytes)}`,
  ),
  'MIME: quoted-printable text': mime(
    () =>
      `Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n${fill('=C3=A9', messageBytes)}`,
  ),
  'MIME: base64 text': mime(
    () =>
      `Content-Type: text/plain; charset=utf-16\r\nContent-Transfer-Encoding: base64\r\n\r\n${fill('QUJD', messageBytes)}`,
  ),
  'MDN: fields': {
    make: () =>
      Buffer.from(
        `Content-Type: multipart/report; report-type=disposition-notification; boundary=b\r\n\r\n--b\r\n\r\nx\r\n--b\r\nContent-Type: message/disposition-notification\r\n\r\n${fill('a: b\r\n', messageBytes)}\r\n--b--`,
      ),
    read: (input) => void readMdnOrDsn(parseEntity(input)),
  },
  'DSN: recipients': {
    make: () =>
      Buffer.from(
        `Content-Type: multipart/report; report-type=delivery-status; boundary=b\r\n\r\n--b\r\n\r\nx\r\n--b\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; a\r\n\r\n${fill('Final-Recipient: rfc822; a@b.example\r\nAction: failed\r\n\r\n', messageBytes)}\r\n--b--`,
      ),
    read: (input) => void readMdnOrDsn(parseEntity(input)),
  },
  'ASN.1: nodes': {
    make: () => der(0x30, Buffer.alloc(messageBytes, Buffer.from([5, 0]))),
    read: (input) => void readAsn1(input),
  },
  'ASN.1: nested': {
    make: () => Buffer.alloc(messageBytes, Buffer.from([0x30, 0x80])),
    read: (input) => void readAsn1(input),
  },
  'CMS: certificates': cms(signedOid, () =>
    der(
      0x30,
      Buffer.concat([
        Buffer.from('020101', 'hex'),
        der(0x31, Buffer.alloc(0)),
        der(0x30, Buffer.from('06092a864886f70d010701', 'hex')),
        der(0xa0, Buffer.alloc(messageBytes, Buffer.from('30020500', 'hex'))),
        der(0x31, Buffer.alloc(0)),
      ]),
    ),
  ),
  'CMS: recipients': cms(envelopedOid, () =>
    der(
      0x30,
      Buffer.concat([
        Buffer.from('020100', 'hex'),
        der(0x31, Buffer.alloc(messageBytes, Buffer.from('30020500', 'hex'))),
      ]),
    ),
  ),
  'CMS: content in pieces': cms(envelopedOid, () =>
    der(
      0x30,
      Buffer.concat([
        Buffer.from('020100', 'hex'),
        der(0x31, Buffer.alloc(0)),
        der(
          0x30,
          Buffer.concat([
            Buffer.from('06092a864886f70d010701', 'hex'),
            der(0xa0, Buffer.alloc(messageBytes, Buffer.from('040161', 'hex'))),
          ]),
        ),
      ]),
    ),
  ),
  'ZIP: a package that unpacks to 60 MB': zip(6, 10 * megabyte),
  'ZIP: a package that unpacks to 200 MB': zip(20, 10 * megabyte),
  'ZIP: a package of many files': zip(60_000, 10),
  'CMS: signed attributes': cms(signedOid, () =>
    signedData(
      der(
        0x31,
        der(
          0x30,
          Buffer.concat([
            Buffer.from('0201013000300d06096086480165030402010500', 'hex'),
            der(0xa0, Buffer.alloc(messageBytes, Buffer.from('30073105300306012a', 'hex'))),
          ]),
        ),
      ),
    ),
  ),
  'CRL: entries': {
    make: () => makeCrl(32 * megabyte),
    read: (input) => `${readCrl(input).entryCount} entries`,
  },
  'passkey: empty lists': passkey(() =>
    Buffer.concat([Buffer.from('99bb00', 'hex'), Buffer.alloc(47_872, 0x80)]),
  ),
  'AIA: certificates of a set': {
    make: () => certificateSet(4 * megabyte),
    read: (input) =>
      `${readCertificates(input, { first: 32, subjectKey: 'a', onUnreadable: () => {} }).length} certificates`,
  },
  'bundle: certificates': {
    make: () => certificateSet(20 * megabyte),
    read: (input) => void readTrustBundle(input),
  },
  'DNS answer: records': {
    make: () => dnsAnswer(),
    read: (input) => `${readDnsMessage(input).answers.length} answers`,
  },
  'LDAP answer: entries': {
    make: () => Buffer.concat(Array.from({ length: 5000 }, () => ldapEntry(800))),
    read: readLdap,
  },
  'CSV: columns': csv(
    () => `serv_direct_addr,${fill('a,', 250_000)}\n${fill(fill(',', 250_000) + '\n', 20 * megabyte)}`,
  ),
  'CSV: a quote that is not closed': csv(() => `serv_direct_addr,b\n${fill('"a\n', 20 * megabyte)}`),
  'NDJSON: empty lists': fhir(() => fill('[],', resourceBytes)),
  'NDJSON: a million lists': fhir(() => fill('[],', 3 * 999_990)),
  'NDJSON: 300,000 names': fhir(
    () => `{${numbered(10 * megabyte, (n) => (n < 300_000 ? `"name of a member ${n}":1,` : ' '))}"z":1},`,
  ),
  'ZIP of an import: entries': {
    make: () => zipDirectory(20 * megabyte),
    async read() {
      return `${(await openInput(process.argv[3] ?? '')).length} files`;
    },
  },
};
