import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { buildXdm } from './build-xdm.ts';
import { decodeXml } from './decode-xml.ts';
import { isXdm } from './is-xdm.ts';
import { readMetadata } from './read-metadata.ts';
import { readXdm } from './read-xdm.ts';
import type { XdmPackage } from './xdm-package.ts';
import { writeZip } from './build-xdm.ts';
import { readZip } from './zip-reader.ts';
import { defaultXdmLimits } from './limits.ts';

const at = new Date('2026-11-21T10:36:55Z');
const fixtures = join(import.meta.dirname, '../../../test/fixtures/found/xdm');
const fixture = (name: string) => readFileSync(join(fixtures, `${name}.zip`));
const subset = 'IHE_XDM/SUBSET01/';
const request = {
  from: 'alice@direct.alpha.example',
  to: ['bob@direct.beta.example'],
  messageUuid: '6f1c2c5e-8a43-4d5e-9c0b-0d6f3f1f2a11',
  sourceId: '1.3.6.1.4.1.99999.1',
  at,
  documents: [
    { mediaType: 'text/plain', content: Buffer.from('one'), fileName: 'ONE.TXT' },
    { mediaType: 'application/pdf', content: Buffer.from('two'), fileName: 'TWO.PDF' },
  ],
};

/** The package of the request, some files of it replaced, left out (undefined) or added. */
async function packageWith(changes: Readonly<Record<string, string | Buffer | undefined>> = {}) {
  const files = new Map<string, Buffer | string | undefined>(
    (await readZip(await buildXdm(request), defaultXdmLimits)).map(({ name, content }) => [name, content]),
  );
  for (const [name, content] of Object.entries(changes)) files.set(name, content);
  const items = [...files].flatMap(([name, content]) =>
    content === undefined ? [] : [{ name, content: Buffer.from(content as string) }],
  );
  return writeZip(items, at);
}

async function metadata(): Promise<string> {
  const files = await readZip(await buildXdm(request), defaultXdmLimits);
  return files.find(({ name }) => name.endsWith('METADATA.XML'))?.content.toString() ?? '';
}

const damageOf = ({ damage }: XdmPackage) =>
  damage.map(({ fault, position, path }) => `${fault} ${position ?? '-'} ${path}`);

/** The same archive with another checksum of a file. */
function withChecksum(zip: Buffer, name: string): Buffer {
  const copy = Buffer.from(zip);
  for (let entry = copy.indexOf('PK\u0001\u0002', 0, 'latin1'); entry >= 0;) {
    const length = copy.readUInt16LE(entry + 28);
    if (copy.toString('latin1', entry + 46, entry + 46 + length) === name)
      copy.writeUInt32LE((copy.readUInt32LE(entry + 16) ^ 1) >>> 0, entry + 16);
    entry = copy.indexOf('PK\u0001\u0002', entry + 46, 'latin1');
  }
  return copy;
}

/** Where the header of the file is, with that signature: its own, or that of the directory. */
function headerOf(zip: Buffer, name: string, signature: string, nameOffset: number): number {
  for (let at = zip.indexOf(signature, 0, 'latin1'); at >= 0; at = zip.indexOf(signature, at + 4, 'latin1'))
    if (zip.toString('latin1', at + nameOffset, at + nameOffset + name.length) === name) return at;
  throw new Error('no such file');
}

/** The archive with 16 bits of a file's header changed: of its own, or of that in the directory. */
function withField(zip: Buffer, name: string, offset: number, value: number, isOwn = false): Buffer {
  const copy = Buffer.from(zip);
  const at = isOwn ? headerOf(copy, name, 'PK\u0003\u0004', 30) : headerOf(copy, name, 'PK\u0001\u0002', 46);
  copy.writeUInt16LE(value, at + offset);
  return copy;
}

/** The archive with 16 bits of its end record changed. */
function withEnd(zip: Buffer, offset: number, value: number): Buffer {
  const copy = Buffer.from(zip);
  copy.writeUInt16LE(value, copy.lastIndexOf('PK\u0005\u0006', undefined, 'latin1') + offset);
  return copy;
}

describe('damage is told with its place', () => {
  const one = `${subset}ONE.TXT`;
  const two = `${subset}TWO.PDF`;
  const xml = `${subset}METADATA.XML`;
  const sha1 = 'fe05bcdcdc4928012781a5f1a2a77cbb5398e106';

  test('the found packages', async () => {
    const document = `${subset}DOC00001.XML`;
    assert.deepEqual(damageOf(await readXdm(fixture('crc-bad'))), [`checksum-mismatch 0 ${document}`]);
    assert.deepEqual(damageOf(await readXdm(fixture('hash-wrong'))), [`hash-mismatch 0 ${document}`]);
    for (const name of ['meta-declared-utf16-is-utf8', 'leading-slash']) {
      const { damage, documents, submissionSets } = await readXdm(fixture(name));
      assert.deepEqual([damage, documents.length, submissionSets.length], [[], 1, 1], name);
      assert.notEqual(documents[0]?.entry, undefined, name);
    }
  });

  const cases: readonly (readonly [name: string, make: () => Promise<Buffer>, damage: readonly string[]])[] =
    [
      ['none', () => packageWith(), []],
      ['second document changed', () => packageWith({ [two]: 'TWO' }), [`hash-mismatch 1 ${two}`]],
      [
        'both changed, one in its size',
        () => packageWith({ [one]: 'o', [two]: 'TWO' }),
        [`hash-mismatch 0 ${one}`, `size-mismatch 0 ${one}`, `hash-mismatch 1 ${two}`],
      ],
      ['first document missing', () => packageWith({ [one]: undefined }), ['document-missing - ONE.TXT']],
      [
        'checksum and hash',
        async () => withChecksum(await packageWith({ [two]: 'TWO' }), two),
        [`checksum-mismatch 1 ${two}`, `hash-mismatch 1 ${two}`],
      ],
      [
        'checksum of the metadata, which are readable',
        async () => withChecksum(await packageWith(), xml),
        [`checksum-mismatch - ${xml}`],
      ],
      [
        'checksum of a cover',
        async () => withChecksum(await packageWith(), 'INDEX.HTM'),
        ['checksum-mismatch - INDEX.HTM'],
      ],
      ['no metadata', () => packageWith({ [xml]: undefined }), ['metadata-missing - IHE_XDM/SUBSET01']],
      [
        'metadata cut',
        async () => packageWith({ [xml]: (await metadata()).slice(0, 900) }),
        [`metadata-unreadable - ${xml}`],
      ],
      ['metadata empty', () => packageWith({ [xml]: '' }), [`metadata-unreadable - ${xml}`]],
      [
        'metadata with octets behind them',
        async () => packageWith({ [xml]: `${await metadata()}\0\ufeff scanned` }),
        [],
      ],
      [
        'metadata with a bare ampersand and a control character',
        async () =>
          packageWith({ [xml]: (await metadata()).replace('<LocalizedString value="', '$&A & B\u0001') }),
        [],
      ],
      ...['A &#1; B', 'A &#x1F; B', 'A &#55296; B', 'A &#x110000; B'].map(
        (value) =>
          [
            `metadata with ${value}`,
            async () =>
              packageWith({ [xml]: (await metadata()).replace('<LocalizedString value="', `$&${value}`) }),
            [],
          ] as const,
      ),
      ...['sha384', 'sha512'].map(
        (algorithm) =>
          [
            `a hash of ${algorithm} in base64, of another file`,
            async () => {
              const other = createHash(algorithm).update('TWO').digest('base64');
              return packageWith({ [xml]: (await metadata()).replace(sha1, other) });
            },
            [`hash-mismatch 0 ${one}`],
          ] as const,
      ),
      [
        'metadata with a bare ampersand, and one in CDATA that names the document',
        async () =>
          packageWith({
            [xml]: (await metadata())
              .replaceAll('"hash"', '"other"')
              .replace('<LocalizedString value="', '$&A & B')
              .replace('>ONE.TXT<', '><![CDATA[1&2.TXT]]><'),
            [one]: undefined,
            [`${subset}1&2.TXT`]: 'one',
          }),
        [],
      ],
      [
        'hashes of SHA-512 and in groups, of other files',
        async () => {
          const other = createHash('sha512').update('TWO').digest('hex');
          const written = (await metadata()).replace(sha1, sha1.replaceAll(/../g, '$&:').replace('fe', 'ff'));
          return packageWith({ [xml]: written.replace(/(?<=>)[\da-f]{40}(?=<)/, other) });
        },
        [`hash-mismatch 0 ${one}`, `hash-mismatch 1 ${two}`],
      ],
      [
        'size alone, without a hash',
        async () =>
          packageWith({ [xml]: (await metadata()).replaceAll('"hash"', '"other"'), [two]: 'longer' }),
        [`size-mismatch 1 ${two}`],
      ],
      [
        'size wrong, hash right: no damage',
        async () =>
          packageWith({ [xml]: (await metadata()).replace(/(name="size"><ValueList><Value>)3/, '$14') }),
        [],
      ],
      [
        'hash in base64',
        async () =>
          packageWith({
            [xml]: (await metadata()).replace(sha1, Buffer.from(sha1, 'hex').toString('base64')),
          }),
        [],
      ],
      [
        'hash of SHA-256, of the other file too',
        async () => {
          const hashes = ['one', 'TWO'].map((text) => createHash('sha256').update(text).digest('hex'));
          const written = (await metadata()).replace(sha1, hashes[0] ?? '');
          return packageWith({ [xml]: written.replace(/(?<=>)[\da-f]{40}(?=<)/, hashes[1] ?? '') });
        },
        [`hash-mismatch 1 ${two}`],
      ],
      [
        'hash of no known form',
        async () => packageWith({ [xml]: (await metadata()).replace(sha1, '0') }),
        [],
      ],
      [
        'a document encrypted',
        async () => withField(await packageWith(), one, 8, 1),
        [`document-unreadable - ${one}`],
      ],
      [
        'a document packed by another method',
        async () => withField(await packageWith(), two, 10, 12),
        [`document-unreadable - ${two}`],
      ],
      [
        'a document whose data are no deflate',
        async () => withField(await packageWith(), one, 30 + one.length, 0xffff, true),
        [`document-unreadable - ${one}`],
      ],
      [
        'a document whose own header is damaged',
        async () => withField(await packageWith(), two, 0, 0, true),
        [`document-unreadable - ${two}`],
      ],
      [
        'metadata that cannot be unpacked',
        async () => withField(await packageWith(), xml, 10, 12),
        [`metadata-unreadable - ${xml}`],
      ],
      [
        'a cover that cannot be unpacked',
        async () => withField(await packageWith(), 'INDEX.HTM', 10, 12),
        ['document-unreadable - INDEX.HTM'],
      ],
      [
        'an entry of the directory damaged',
        async () => withField(await packageWith(), two, 0, 0),
        ['archive-damaged - '],
      ],
      ['a wrong number of files', async () => withEnd(await packageWith(), 10, 20), ['archive-damaged - ']],
      ['too few files', async () => withEnd(await packageWith(), 10, 2), ['archive-damaged - ']],
      ['no files', async () => withEnd(await packageWith(), 10, 0), ['archive-damaged - ']],
      [
        'a wrong place of the directory',
        async () => withEnd(await packageWith(), 16, 3),
        ['archive-damaged - '],
      ],
      ['a disk that is not there', async () => withEnd(await packageWith(), 4, 1), ['archive-damaged - ']],
      ['its end cut', async () => (await packageWith()).subarray(0, -5), ['archive-damaged - ']],
      [
        'the last document cut',
        async () => {
          const whole = await packageWith();
          return whole.subarray(0, headerOf(whole, two, 'PK\u0003\u0004', 30) + 30 + two.length + 2);
        },
        ['archive-damaged - ', `document-unreadable - ${two}`],
      ],
      [
        'hash in capitals',
        async () => packageWith({ [xml]: (await metadata()).replace(sha1, sha1.toUpperCase()) }),
        [],
      ],
      ['a style sheet without metadata', () => packageWith({ [`${subset}CDA.XSL`]: 'x' }), []],
      [
        'checksum of a file without metadata',
        async () => withChecksum(await packageWith({ [`${subset}CDA.XSL`]: 'x' }), `${subset}CDA.XSL`),
        [`checksum-mismatch 2 ${subset}CDA.XSL`],
      ],
      ['covers missing', () => packageWith({ 'INDEX.HTM': undefined, 'README.TXT': undefined }), []],
      [
        'second subset changed',
        async () =>
          packageWith({
            'IHE_XDM/SUBSET02/METADATA.XML': await metadata(),
            'IHE_XDM/SUBSET02/ONE.TXT': 'one',
            'IHE_XDM/SUBSET02/TWO.PDF': 'TWO',
          }),
        ['hash-mismatch 3 IHE_XDM/SUBSET02/TWO.PDF'],
      ],
    ];
  for (const [name, make, damage] of cases)
    test(name, async () => assert.deepEqual(damageOf(await readXdm(await make())), damage));

  test('what is whole in a damaged archive is read, and nothing else', async () => {
    const whole = await packageWith();
    for (const [zip, contents] of [
      [whole.subarray(0, -5), ['one', 'two']],
      [withField(whole, one, 8, 1), ['two']],
      [withField(whole, one, 30 + one.length, 0xffff, true), ['two']],
      [withEnd(withField(whole, two, 8, 12, true), 4, 1), ['one']],
    ] as const) {
      const { documents } = await readXdm(zip);
      assert.deepEqual(
        documents.map(({ content }) => content.toString()),
        contents,
      );
    }
    // What is found without the directory is bounded, too, and no name leads out of it.
    const bomb = (await packageWith({ [one]: Buffer.alloc(40_000_000) })).subarray(0, -5);
    await assert.rejects(readXdm(bomb), { code: 'XDM_TOO_LARGE' });
    await assert.rejects(readXdm(whole.subarray(0, -5), { maxEntries: 2 }), { code: 'XDM_TOO_LARGE' });
    const up = Buffer.from(whole.toString('latin1').replaceAll('SUBSET01/ONE', '../../../ONE'), 'latin1');
    await assert.rejects(readXdm(up.subarray(0, -5)), { code: 'XDM_UNSAFE_NAME' });
  });

  test('names the unique identifier, and is bounded', async () => {
    const { damage, documents } = await readXdm(await packageWith({ [two]: 'TWO' }));
    assert.equal(damage[0]?.uniqueId, documents[1]?.entry?.uniqueId);
    assert.match(damage[0]?.uniqueId ?? '', /^2\.25\.\d+$/);
    const entries = '<ExtrinsicObject id="a" mimeType="text/plain"/>'.repeat(1200);
    const many = await readXdm(
      await packageWith({ [xml]: `<a>${entries}</a>`, 'IHE_XDM/SUBSET02/METADATA.XML': `<a>${entries}</a>` }),
    );
    assert.equal(many.damage.length, defaultXdmLimits.maxEntries);
  });
});

describe('the octets of metadata tell how they are written', () => {
  const text = (encoding: string) =>
    `<?xml version="1.0"${encoding === '' ? '' : ` encoding="${encoding}"`}?><a><ExtrinsicObject id="d"><Name><LocalizedString value="Größe"/></Name></ExtrinsicObject></a>`;
  const wide = (value: string, isBig = false) => {
    const bytes = Buffer.from(value, 'utf16le');
    return isBig ? bytes.swap16() : bytes;
  };
  const cases: readonly (readonly [name: string, bytes: Buffer])[] = [
    ['UTF-8 that says utf-16', Buffer.from(text('utf-16'))],
    ['UTF-8 that says UTF-16LE', Buffer.from(text('UTF-16LE'))],
    ['UTF-8 that says UTF16', Buffer.from(text('UTF16'))],
    ['UTF-8 that says ISO-10646-UCS-2', Buffer.from(text('ISO-10646-UCS-2'))],
    ['UTF-8 that says UCS-4', Buffer.from(text('UCS-4'))],
    ['UTF-8 that says unicode', Buffer.from(text('unicode'))],
    ['UTF-8 with its mark that says utf-16', Buffer.from(`\ufeff${text('utf-16')}`)],
    ['UTF-8 that says what nobody knows', Buffer.from(text('x-none'))],
    ['UTF-8 that says nothing', Buffer.from(text(''))],
    ['windows-1252 that says utf-16', Buffer.from(text('utf-16'), 'latin1')],
    ['ISO-8859-1 that says so', Buffer.from(text('ISO-8859-1'), 'latin1')],
    [
      'ISO-8859-1 that says so in apostrophes',
      Buffer.from(text('ISO-8859-1').replaceAll('"', "'"), 'latin1'),
    ],
    ['UTF-16LE without mark that says utf-8', wide(text('utf-8'))],
    ['UTF-16BE without mark that says utf-8', wide(text('utf-8'), true)],
    ['UTF-16LE without mark or declaration', wide(text('').slice(21))],
    ['UTF-16BE without mark that says utf-16', wide(text('utf-16'), true)],
    ['UTF-16LE without mark that says UTF-16BE', wide(text('UTF-16BE'))],
    ['UTF-16LE with its mark that says utf-8', wide(`\ufeff${text('utf-8')}`)],
    ['UTF-16BE with its mark that says UTF-16LE', wide(`\ufeff${text('UTF-16LE')}`, true)],
    ['UTF-16LE behind line ends', wide(`\r\n${text('utf-16')}`)],
    ['UTF-8 behind line ends that says utf-16', Buffer.from(`\r\n${text('utf-16')}`)],
  ];
  for (const [name, bytes] of cases)
    test(name, () => assert.equal(readMetadata(bytes)?.documents[0]?.title, 'Größe'));

  test('an attribute of an element is no declaration', () => {
    const xml = '<a encoding="utf-7"><b c="+AGE-"/></a>';
    assert.equal(decodeXml(Buffer.from(xml)), xml);
    for (const bytes of [[], [0], [0x3c], [0, 0], [0x3c, 0]]) decodeXml(Uint8Array.from(bytes));
  });
});

describe('XDM-11: leading slashes and octets before the archive', () => {
  const rooted = (zip: Buffer) =>
    Buffer.from(
      zip
        .toString('latin1')
        .replaceAll(/@+(?=IHE_XDM|INDEX|README|package|home)/g, (signs) => '/'.repeat(signs.length)),
      'latin1',
    );
  for (const prefix of ['/', '//', '///', '/package/', '/home/user/export/']) {
    test(`${prefix}IHE_XDM`, async () => {
      const files = await readZip(await packageWith(), defaultXdmLimits);
      const placed = files.map(({ name, content }) => ({
        // The writer refuses such names.
        name: `${name.startsWith('IHE_XDM') ? prefix : '/'}${name}`.replace(/^\/+/, (slashes) =>
          '@'.repeat(slashes.length),
        ),
        content,
      }));
      const { documents, damage, warnings } = await readXdm(rooted(await writeZip(placed, at)));
      assert.deepEqual(
        [documents.map(({ fileName }) => fileName), damage, warnings],
        [['ONE.TXT', 'TWO.PDF'], [], []],
      );
    });
  }

  const before: readonly (readonly [name: string, octets: Buffer])[] = [
    ['a line end', Buffer.from('\r\n')],
    ['a UTF-8 mark', Buffer.from('\ufeff')],
    ['header lines', Buffer.from('Content-Type: application/zip\r\n\r\n')],
    ['what looks like a file of an archive', Buffer.from('PK\u0003\u0004PK\u0001\u0002', 'latin1')],
    ['as much as a gateway could add', Buffer.alloc(4096, 'x')],
  ];
  for (const [name, octets] of before) {
    test(name, async () => {
      const shifted = Buffer.concat([octets, await packageWith(), Buffer.from('\r\n')]);
      assert.equal(isXdm(shifted, 'application/zip'), true);
      const { documents, damage } = await readXdm(shifted);
      assert.deepEqual([documents.map(({ fileName }) => fileName), damage], [['ONE.TXT', 'TWO.PDF'], []]);
    });
  }

  test('octets that the archive counts, and a directory of a wrong size, hide no package', async () => {
    const octets = Buffer.from('#!/bin/sh\nexit\n');
    const counted = Buffer.concat([octets, await packageWith()]);
    const isEntry = (at: number) => counted.toString('latin1', at, at + 4) === 'PK\u0001\u0002';
    for (let at = 0; at < counted.length - 4; at++)
      if (isEntry(at)) counted.writeUInt32LE(counted.readUInt32LE(at + 42) + octets.length, at + 42);
    const end = counted.lastIndexOf('PK\u0005\u0006', undefined, 'latin1');
    counted.writeUInt32LE(counted.readUInt32LE(end + 16) + octets.length, end + 16);
    for (const zip of [counted, withEnd(await packageWith(), 12, 5)]) {
      assert.equal(isXdm(zip, 'application/zip'), true);
      assert.deepEqual(
        (await readXdm(zip)).documents.map(({ fileName }) => fileName),
        ['ONE.TXT', 'TWO.PDF'],
      );
    }
  });

  test('another document before an archive is not taken for its margin', async () => {
    const behind = Buffer.concat([Buffer.alloc(4097, '%PDF-1.7'), await packageWith()]);
    assert.equal(isXdm(behind, 'application/octet-stream'), false);
    assert.equal(
      isXdm(
        Buffer.concat([
          Buffer.from('x'),
          await writeZip([{ name: 'a.txt', content: Buffer.from('IHE_XDM/') }], at),
        ]),
        'application/zip',
      ),
      false,
    );
  });
});
