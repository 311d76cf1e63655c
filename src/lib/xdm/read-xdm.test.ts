import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { processorMs } from '../../../test/support/processor-time.ts';
import { fixturesDir } from '../../../test/support/fixtures.ts';
import { buildXdm } from './build-xdm.ts';
import { XdmError } from './errors.ts';
import { hasPackageType, isXdm } from './is-xdm.ts';
import { readMetadata } from './read-metadata.ts';
import { readXdm } from './read-xdm.ts';
import { writeZip, type ZipItem } from './build-xdm.ts';

const at = new Date('2026-11-21T10:36:55Z');
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
const items = (...list: [name: string, content: string | Uint8Array][]): ZipItem[] =>
  list.map(([name, content]) => ({ name, content: Buffer.from(content as string) }));
const zipOf = (...list: [name: string, content: string | Uint8Array][]): Promise<Buffer> =>
  writeZip(items(...list), at);
const subset = 'IHE_XDM/SUBSET01/';

async function metadataText(): Promise<string> {
  const { readZip } = await import('./zip-reader.ts');
  const { defaultXdmLimits } = await import('./limits.ts');
  return (
    (await readZip(await buildXdm(request), defaultXdmLimits))
      .find(({ name }) => name.endsWith('METADATA.XML'))
      ?.content.toString() ?? ''
  );
}

const refusedWith = (code: string) => (error: unknown) => error instanceof XdmError && error.code === code;

/** The same archive with every occurrence of a name replaced by another of the same length. */
function rename(zip: Buffer, from: string, to: string): Buffer {
  return Buffer.from(zip.toString('latin1').replaceAll(from, to), 'latin1');
}

test('XDM-11: names that climb out of the package are refused', async () => {
  const zip = await zipOf([`${subset}EVILEVILEV.TXT`, 'x']);
  for (const name of [
    '../../../../../../../etc/p.TXT',
    '/etc/EVIL_XDM/SUBSET01/VILEVI.TX',
    '//host/IHE_XDM/SUBSET01/A.TXT',
    '\\IHE_XDM\\SUBSET01\\A.TXT',
    '\\\\host\\IHE_XDM\\SUBSET01\\A.TXT',
    '/C:/IHE_XDM/SUBSET01/A.TXT',
    '/IHE_XDM/../../EVIL',
    '//../IHE_XDM/SUBSET01/A.TXT',
    '/\\host\\IHE_XDM\\A',
    '/..\\..\\IHE_XDM/A',
    'IHE_XDM/.. /.. /EVIL',
    'IHE_XDM/.../EVIL/A',
    'C:\\E_XDM\\SUBSET01\\VILEVI.TX',
    'IHE_XDM\\..\\..\\..\\..\\EV.TXT',
    'IHE_XDM/SUBSET01/../../../EVIL',
  ]) {
    const hostile = rename(zip, `${subset}EVILEVILEV.TXT`, name.padEnd(31, 'T').slice(0, 31));
    await assert.rejects(readXdm(hostile), refusedWith('XDM_UNSAFE_NAME'), name);
  }
});

test('XDM-11: encrypted entries and unknown methods are refused', async () => {
  const patch = async (offset: number, value: number): Promise<Buffer> => {
    const zip = await zipOf([`${subset}A.TXT`, 'x'.repeat(100)]);
    zip.writeUInt16LE(value, zip.indexOf('PK\u0001\u0002', 0, 'latin1') + offset);
    return zip;
  };
  await assert.rejects(readXdm(await patch(8, 1)), refusedWith('XDM_ENTRY_UNSUPPORTED'));
  await assert.rejects(readXdm(await patch(10, 12)), refusedWith('XDM_ENTRY_UNSUPPORTED'));
});

test('XDM-11: bombs and entries without number are refused, lying sizes are told', async () => {
  const small = await zipOf([`${subset}A.TXT`, Buffer.alloc(1_048_576)]);
  assert.equal(
    (await readXdm(small)).documents.length,
    1,
    'what unpacks to a MiB may be packed as well as zeros are',
  );
  const bomb = await zipOf([`${subset}A.TXT`, Buffer.alloc(30_000_000)]);
  await assert.rejects(readXdm(bomb), refusedWith('XDM_TOO_LARGE'));
  await assert.rejects(
    readXdm(bomb, { maxRatio: 1e9, maxEntryBytes: 1_000_000 }),
    refusedWith('XDM_TOO_LARGE'),
  );
  await assert.rejects(
    readXdm(await zipOf([`${subset}A.TXT`, 'x'.repeat(60)], [`${subset}B.TXT`, 'x'.repeat(60)]), {
      maxTotalBytes: 100,
    }),
    refusedWith('XDM_TOO_LARGE'),
  );
  await assert.rejects(
    readXdm(
      await zipOf(
        ...Array.from({ length: 1001 }, (_, index): [string, string] => [`${subset}${index}.TXT`, '']),
      ),
      {},
    ),
    refusedWith('XDM_TOO_LARGE'),
  );
  for (const size of [10, 1000]) {
    const lying = await zipOf([`${subset}A.TXT`, 'x'.repeat(500)]);
    lying.writeUInt32LE(size, lying.indexOf('PK\u0001\u0002', 0, 'latin1') + 24);
    const { documents, damage } = await readXdm(lying);
    assert.deepEqual([documents[0]?.content.length, damage[0]?.fault], [500, 'archive-damaged']);
    const bombs = Buffer.from(bomb);
    bombs.writeUInt32LE(size, bombs.indexOf('PK\u0001\u0002', 0, 'latin1') + 24);
    await assert.rejects(readXdm(bombs), refusedWith('XDM_TOO_LARGE'));
  }
});

test('XDM-11: small entries that unpack to much in all are refused as one large one is', async () => {
  const entries = Array.from({ length: 40 }, (_, index): [string, Uint8Array] => [
    `${subset}${index}.TXT`,
    Buffer.alloc(1_000_000),
  ]);
  const bomb = await zipOf(...entries);
  assert.ok(bomb.length < 100_000);
  await assert.rejects(readXdm(bomb), refusedWith('XDM_TOO_LARGE'));
  assert.equal((await readXdm(await zipOf(...entries.slice(0, 30)))).documents.length, 30);
});

test('XDM-11: a file is delivered once, however many nested directories have metadata', async () => {
  const depths = Array.from({ length: 20 }, (_, index) => 'D/'.repeat(index));
  const files = depths.map((path): [string, string] => [`${path}METADATA.XML`, 'broken']);
  const deepest = `${depths.at(-1)}A.TXT`;
  const { documents } = await readXdm(await zipOf(...files, [deepest, 'once']));
  assert.deepEqual(
    documents.map(({ content }) => content.toString()),
    ['once'],
  );
});

test('XDM-11: a file in a subset without metadata belongs to the metadata above it', async () => {
  const metadata = (await metadataText()).replaceAll('ONE.TXT', `${subset}ONE.TXT`);
  const zip = await zipOf(
    ['METADATA.XML', metadata],
    [`${subset}ONE.TXT`, 'one'],
    [`${subset}TWO.PDF`, 'two'],
  );
  const { documents } = await readXdm(zip);
  assert.deepEqual(
    documents.map(({ fileName, entry }) => [fileName, entry?.mimeType]),
    [
      ['ONE.TXT', 'text/plain'],
      ['TWO.PDF', 'application/pdf'],
    ],
  );
});

test('XDM-11: metadata with thousands of objects of one id cost as much as others', async () => {
  const objects = '<ExtrinsicObject id="a" mimeType="text/plain"/>'.repeat(5000);
  const codes = '<Classification classifiedObject="a" nodeRepresentation="b"/>'.repeat(10_000);
  const tookMs = await processorMs(() => {
    const metadata = readMetadata(Buffer.from(`<Objects>${objects}${codes}</Objects>`));
    assert.equal(metadata?.documents.length, 5000);
  });
  assert.ok(tookMs < 3000, `${tookMs} ms`);
});

test('XDM-11: the metadata of all subsets share one limit', async () => {
  const metadata = await metadataText();
  const zip = await zipOf([`${subset}METADATA.XML`, metadata], ['IHE_XDM/SUBSET02/METADATA.XML', metadata]);
  const { submissionSets } = await readXdm(zip, { maxMetadataBytes: metadata.length * 1.5 });
  const large = metadata.replace('>', `>${' '.repeat(metadata.length)}`);
  const zipOfLarge = await zipOf(
    [`${subset}METADATA.XML`, large],
    ['IHE_XDM/SUBSET02/METADATA.XML', metadata],
  );
  const afterLarge = await readXdm(zipOfLarge, { maxMetadataBytes: metadata.length * 1.5 });
  assert.equal(afterLarge.submissionSets.length, 1, 'metadata that is not read takes nothing of the limit');
  assert.equal(submissionSets.length, 1);
});

test('XDM-11: names longer than those of any file system are refused, and files of other systems are left out', async () => {
  const long = await zipOf([`${subset}${'A'.repeat(1024)}`, 'x']);
  await assert.rejects(readXdm(long), refusedWith('XDM_UNSAFE_NAME'));
  const junk = await zipOf([`${subset}A.TXT`, 'x'], ['__MACOSX/A\nB', 'x'], [`${subset}.DS_Store`, 'x']);
  assert.deepEqual(
    (await readXdm(junk)).documents.map(({ fileName }) => fileName),
    ['A.TXT'],
  );
});

test('XDM-08: every part that is taken for a package has the type or the name of one', async () => {
  const zip = await buildXdm(request);
  for (const [mediaType, fileName] of [
    ['application/x-compressed', 'a.bin'],
    ['multipart/x-zip', undefined],
    ['text/plain', 'a.ZIP'],
    ['text/plain', 'a.txt'],
  ] as const)
    assert.equal(hasPackageType(mediaType, fileName), isXdm(zip, mediaType, fileName));
});

test('XDM-11: refuses bytes that are not an archive, and archives without a whole file', async () => {
  const zip = await buildXdm(request);
  for (const bytes of [
    Buffer.alloc(0),
    Buffer.from('PK'),
    Buffer.from('hello'),
    zip.subarray(0, 40),
    zip.subarray(-30),
    Buffer.concat([Buffer.from('PK\u0003\u0004'), Buffer.alloc(60, 0xff)]),
  ])
    await assert.rejects(readXdm(bytes), refusedWith('XDM_UNREADABLE'));
});

test('XDM-11: lower-case names, a directory around, backslashes and missing cover files are tolerated', async () => {
  const xml = await metadataText();
  for (const prefix of [
    'ihe_xdm/subset01/',
    'package/IHE_XDM/SUBSET01/',
    'IHE_XDM\\SUBSET01\\',
    './IHE_XDM/SUBSET01/',
    '',
  ]) {
    const placeholder = prefix.replaceAll('\\', '!').replace('./', '!/');
    const zip = rename(
      await zipOf(
        [`${placeholder}Metadata.xml`, xml],
        [`${placeholder}one.txt`, 'one'],
        [`${placeholder}two.pdf`, 'two'],
      ),
      placeholder === '' ? '\0never' : placeholder,
      prefix,
    );
    const read = await readXdm(zip);
    assert.deepEqual(
      read.documents.map(({ content, entry }) => [content.toString(), entry?.entryId]),
      [
        ['one', 'Document01'],
        ['two', 'Document02'],
      ],
      prefix,
    );
    assert.deepEqual(read.warnings, ['index-missing', 'readme-missing']);
    assert.equal(read.metadataLevel, 'limited');
  }
});

test('XDM-11: the layout of the Java reference implementation, a slash short, is repaired', async () => {
  const read = await readXdm(
    await zipOf(
      ['IHE_XDM/SUBSET01METADATA.xml', await metadataText()],
      ['IHE_XDM/SUBSET01ONE.TXT', 'one'],
      ['IHE_XDM/SUBSET01TWO.PDF', 'two'],
      ['IHE_XDM/SUBSET01CCD.xsl', 'style'],
      ['INDEX.htm', ''],
      ['README.txt', ''],
    ),
  );
  assert.deepEqual(
    read.documents.map(({ fileName, entry }) => [fileName, entry?.entryId]),
    [
      ['ONE.TXT', 'Document01'],
      ['TWO.PDF', 'Document02'],
      ['CCD.xsl', undefined],
    ],
  );
  assert.deepEqual(read.warnings, ['document-without-metadata', 'layout-repaired']);
});

test('XDM-11: every subset is read', async () => {
  const xml = await metadataText();
  const read = await readXdm(
    await zipOf(
      ['IHE_XDM/SUBSET02/METADATA.XML', xml],
      ['IHE_XDM/SUBSET02/ONE.TXT', 'one'],
      ['IHE_XDM/SUBSET01/METADATA.XML', xml],
      ['IHE_XDM/SUBSET01/TWO.PDF', 'two'],
    ),
  );
  assert.deepEqual(
    read.documents.map(({ subset: path, fileName }) => [path, fileName]),
    [
      ['IHE_XDM/SUBSET01', 'TWO.PDF'],
      ['IHE_XDM/SUBSET02', 'ONE.TXT'],
    ],
  );
  assert.equal(read.submissionSets.length, 2);
  assert.ok(read.warnings.includes('document-missing'));
});

test('AS-81: documents are delivered with any fault in the metadata', async () => {
  const broken: [string, string | undefined][] = [
    ['metadata-unreadable', '<broken'],
    ['metadata-unreadable', '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'],
    ['metadata-unreadable', '<html/>'],
    ['metadata-unreadable', `<a>${'<b>'.repeat(1000)}${'</b>'.repeat(1000)}</a>`],
    ['metadata-unreadable', ''],
    ['metadata-missing', undefined],
  ];
  for (const [warning, xml] of broken) {
    const read = await readXdm(
      await zipOf(
        ['INDEX.HTM', '<html><b></html>'],
        [`${subset}A.XML`, '<a/>'],
        [`${subset}B.PDF`, '%PDF'],
        ...(xml === undefined ? [] : ([[`${subset}METADATA.XML`, xml]] as [string, string][])),
      ),
    );
    assert.deepEqual(
      read.documents.map(({ mediaType, fileName, title, entry }) => [mediaType, fileName, title, entry]),
      [
        ['text/xml', 'A.XML', 'A.XML', undefined],
        ['application/pdf', 'B.PDF', 'B.PDF', undefined],
      ],
    );
    assert.ok(read.warnings.includes(warning as 'metadata-missing'), warning);
  }
});

test('AS-81: wrong hashes, sizes and associations are reported, not refused', async () => {
  const xml = (await metadataText())
    .replace(/<Association [\s\S]*?<\/Association>/, '')
    .replace(/(name="size"><ValueList><Value>)3/, '$14');
  const read = await readXdm(
    await zipOf(
      ['INDEX.HTM', ''],
      ['README.TXT', ''],
      [`${subset}METADATA.XML`, xml],
      [`${subset}ONE.TXT`, 'changed'],
      [`${subset}TWO.PDF`, 'two'],
    ),
  );
  assert.equal(read.documents[0]?.content.toString(), 'changed');
  assert.deepEqual(read.warnings, ['association-missing', 'hash-mismatch', 'size-mismatch']);
});

test('a document is found by its hash, or as the only file, when its URI is wrong', async () => {
  const xml = (await metadataText())
    .replaceAll('ONE.TXT', 'gone.txt')
    .replaceAll('TWO.PDF', '..%2fTWO%2ePDF');
  const read = await readXdm(
    await zipOf([`${subset}METADATA.XML`, xml], [`${subset}X.BIN`, 'one'], [`${subset}TWO.PDF`, 'two']),
  );
  assert.deepEqual(
    read.documents.map(({ content, entry }) => [content.toString(), entry?.entryId]),
    [
      ['one', 'Document01'],
      ['two', 'Document02'],
    ],
  );
});

test('junk of operating systems is left out; without any subset every file is a document', async () => {
  const read = await readXdm(
    await zipOf(
      ['__MACOSX/IHE_XDM/SUBSET01/._A.XML', 'x'],
      ['.DS_Store', 'x'],
      ['docs/._A.XML', 'x'],
      ['INDEX.HTM', ''],
      ['docs/A.XML', '<a/>'],
      ['B.PDF', 'x'],
    ),
  );
  assert.deepEqual(
    read.documents.map(({ fileName }) => fileName),
    ['A.XML', 'B.PDF'],
  );
});

test('a document outside of every subset is not lost, and files of a viewer are none', async () => {
  const read = await readXdm(
    await zipOf(
      [`${subset}A.TXT`, 'x'],
      ['IHE_XDM/B.PDF', 'x'],
      ['EXTRA/C.XML', '<a/>'],
      ['VIEWER/CDA.XSL', 'x'],
      ['VIEWER/LOGO.PNG', 'x'],
      ['VIEWER/START.HTM', 'x'],
      ['AUTORUN.INF', 'x'],
    ),
  );
  assert.deepEqual(
    read.documents.map(({ fileName }) => fileName),
    ['A.TXT', 'B.PDF', 'C.XML'],
  );
  assert.ok(read.warnings.includes('document-without-metadata'));
});

test('metadata that name one file thousands of times are read in bounded work', async () => {
  const objects = Array.from(
    { length: 20_000 },
    (_, index) =>
      `<ExtrinsicObject id="d${index}"><Slot name="hash"><ValueList><Value>${'0'.repeat(40)}</Value></ValueList></Slot></ExtrinsicObject>`,
  ).join('');
  const read = await readXdm(
    await zipOf(
      [`${subset}METADATA.XML`, `<a>${objects}</a>`],
      [`${subset}A.BIN`, Buffer.alloc(1_000_000, 'abc')],
    ),
  );
  assert.equal(read.documents.length, 1);
  assert.ok(read.warnings.includes('document-missing'));
});

test('XDM-08: a package is known by its content, whether typed as ZIP or octets or named .zip', async () => {
  const zip = await buildXdm(request);
  for (const type of [
    'application/zip',
    'application/x-zip-compressed',
    'Application/Octet-Stream; name=x',
    undefined,
  ])
    assert.equal(isXdm(zip, type), true);
  assert.equal(isXdm(zip, 'text/plain', 'package.ZIP'), true);
  assert.equal(isXdm(zip, 'text/plain', 'package.txt'), false);
  assert.equal(isXdm(await zipOf(['a.txt', 'IHE_XDM/']), 'application/zip'), false);
  for (const bytes of [
    Buffer.alloc(0),
    Buffer.from('PK\u0003\u0004'),
    Buffer.from('IHE_XDM/'),
    zip.subarray(0, 200),
  ])
    assert.equal(isXdm(bytes, 'application/zip', 'a.zip'), false);
});

/** The same archive with the position of its directory in the ZIP64 records alone, as `zip -fz` writes it. */
function withZip64End(zip: Buffer): Buffer {
  const end = zip.length - 22;
  const [entries, size, offset] = [
    zip.readUInt16LE(end + 10),
    zip.readUInt32LE(end + 12),
    zip.readUInt32LE(end + 16),
  ];
  const records = Buffer.alloc(76);
  records.write('PK\u0006\u0006', 0, 'latin1');
  records.writeUInt32LE(44, 4);
  records.writeUInt32LE(entries, 24);
  records.writeUInt32LE(entries, 32);
  records.writeUInt32LE(size, 40);
  records.writeUInt32LE(offset, 48);
  records.write('PK\u0006\u0007', 56, 'latin1');
  records.writeUInt32LE(end, 64);
  records.writeUInt32LE(1, 72);
  const whole = Buffer.concat([zip.subarray(0, end), records, zip.subarray(end)]);
  whole.writeUInt32LE(0xffff_ffff, whole.length - 6);
  return whole;
}

test('XDM-08: a package with ZIP64 records is known and read', async () => {
  const zip = withZip64End(await buildXdm(request));
  assert.equal((await readXdm(zip)).documents.length, 2);
  assert.equal(isXdm(zip, 'application/zip'), true);
  assert.equal(isXdm(withZip64End(await zipOf(['a.txt', 'IHE_XDM/'])), 'application/zip'), false);
  const cut = Buffer.from(zip);
  cut.fill(0xff, zip.length - 22 - 12, zip.length - 22 - 4);
  assert.equal(isXdm(cut, 'application/zip'), false);
});

test('XDM-08: a package is known by the directory that is read, whatever else looks like one', async () => {
  const zip = await buildXdm(request);
  const comment = Buffer.from('PK\u0005\u0006', 'latin1');
  const commented = Buffer.concat([zip, comment]);
  commented.writeUInt16LE(comment.length, zip.length - 2);
  const moved = withZip64End(zip);
  moved.writeUInt32LE(0, moved.length - 6);
  for (const one of [commented, moved]) {
    assert.equal((await readXdm(one)).documents.length, 2);
    assert.equal(isXdm(one, 'application/zip'), true);
  }
});

test('XDM-11: bytes after the archive are tolerated, as mail gateways append line ends', async () => {
  const zip = await buildXdm(request);
  for (const archive of [zip, withZip64End(zip)])
    for (const tail of ['\r\n', '\0'.repeat(512)]) {
      const padded = Buffer.concat([archive, Buffer.from(tail)]);
      assert.equal(isXdm(padded, 'application/zip'), true);
      assert.equal((await readXdm(padded)).documents.length, 2);
    }
});

test('a long URI that is split over values is joined', () => {
  const xml =
    '<a><ExtrinsicObject id="d"><Slot name="URI"><ValueList><Value>2|B.TXT</Value><Value>1|A</Value></ValueList></Slot></ExtrinsicObject></a>';
  assert.equal(readMetadata(Buffer.from(xml))?.documents[0]?.uri, 'AB.TXT');
});

const samples = join(fixturesDir() ?? '', 'reference-data');
const needsSamples = {
  skip: fixturesDir() !== undefined && existsSync(samples) ? false : 'the reference data is missing',
};

test('XDM-11: the twelve sample packages of the ETT open with their metadata', needsSamples, async () => {
  const folder = join(samples, 'ett/cda-samples');
  const names = readdirSync(folder).filter((name) => /\.zip$/i.test(name));
  assert.equal(names.length, 12);
  for (const name of names) {
    const zip = readFileSync(join(folder, name));
    assert.equal(isXdm(zip, 'application/octet-stream', name), true, name);
    const { documents, submissionSets, metadataLevel, warnings } = await readXdm(zip);
    assert.deepEqual(warnings, [], name);
    assert.equal(documents.length, 1, name);
    assert.equal(submissionSets.length, 1, name);
    const [document] = documents;
    assert.equal(document?.mediaType, 'text/xml', name);
    assert.equal(document.entry?.uri, document.fileName, name);
    assert.ok(document.entry.uniqueId !== undefined && document.entry.sourcePatientId !== undefined, name);
    assert.ok(
      submissionSets[0]?.sourceId !== undefined &&
        submissionSets[0].uniqueId !== undefined &&
        submissionSets[0].submissionTime !== undefined,
      name,
    );
    assert.equal(metadataLevel, /LIM/.test(name) ? 'limited' : 'full', name);
  }
});

test(
  'META-01: full and limited samples of the ETT are distinguished, and their values read',
  needsSamples,
  async () => {
    const read = (name: string): ReturnType<typeof readXdm> =>
      readXdm(readFileSync(join(samples, 'ett/cda-samples', name)));
    const [full, limited] = [await read('XDM_FULL.ZIP'), await read('XDM_LIM.ZIP')];
    assert.deepEqual([full.metadataLevel, limited.metadataLevel], ['full', 'limited']);
    const entry = full.documents[0]?.entry;
    assert.deepEqual(entry?.sourcePatientInfo, [
      'PID-3|1^^^&2.16.840.1.113883.4.6&ISO',
      'PID-5|Jones^Isabella^^^^',
      'PID-7|19470501',
      'PID-8|F',
      'PID-11|1357 Amber Drive^^Beaverton^OR^97006^',
    ]);
    assert.deepEqual(
      [entry.patientId, entry.creationTime, entry.sizeBytes, entry.typeCode?.code],
      ['1^^^&2.16.840.1.113883.4.6&ISO', '20120806', 120687, '34096-8'],
    );
    assert.deepEqual(full.submissionSets[0]?.authors, [
      {
        person: '7.6^Epic - Version 7.6',
        institutions: ['Lucy Personal Health Record'],
        telecommunications: [],
      },
    ]);
  },
);

test(
  'XDM-11: both packages of the Java reference implementation open with their metadata',
  needsSamples,
  async () => {
    const flawed = await readXdm(readFileSync(join(samples, 'java-xd/xdm.zip')));
    assert.equal(flawed.documents[0]?.entry?.uniqueId, '71aeb81a-c2a5-4ba5-b036-f7b334278bcc');
    assert.deepEqual(flawed.submissionSets[0]?.intendedRecipients, ['||^^Internet^recip@test.com']);
    assert.ok(flawed.warnings.includes('layout-repaired'));
    const nested = await readXdm(readFileSync(join(samples, 'java-xd/samplexdm.zip')));
    assert.equal(nested.documents[0]?.title, 'Physical');
    assert.equal(nested.documents[0].fileName, 'Document01.xml');
  },
);
