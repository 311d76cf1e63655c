/** For each parser that outsiders reach: inputs of the largest size that it is given, made to cost as much as they can. */
import fastify from 'fastify';
import { createHash } from 'node:crypto';
import { crc32, deflateRawSync } from 'node:zlib';
import { createJsonParser } from '../../src/app/http/index.ts';
import { readAsn1 } from '../../src/lib/asn1/index.ts';
import { collectParts, parseEntity } from '../../src/lib/mime/index.ts';
import { readMdnOrDsn } from '../../src/lib/mdn/index.ts';
import { readSignedData, decryptCms } from '../../src/lib/smime/index.ts';
import { findXmlFault, readMetadata, readXdm, sniffCcda } from '../../src/lib/xdm/index.ts';
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
};
