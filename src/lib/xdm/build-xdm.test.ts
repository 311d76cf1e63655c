import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fc } from '../../../test/support/fast-check.ts';
import { buildXdm, xdmFileName, xdmSubject } from './build-xdm.ts';
import { XdmError } from './errors.ts';
import { isXdm } from './is-xdm.ts';
import { readXdm } from './read-xdm.ts';
import type { XdmRequest } from './xdm-request.ts';

const ccda = Buffer.from(
  `<?xml version="1.0" encoding="UTF-8"?>
<ClinicalDocument xmlns="urn:hl7-org:v3"><templateId root="2.16.840.1.113883.10.20.22.1.1"/>
<id root="2.16.840.1.113883.19.5" extension="TT988"/><code code="34133-9" codeSystem="2.16.840.1.113883.6.1" displayName="Summary of episode note"/>
<title>Summary &amp; more</title><effectiveTime value="201209151030-0500"/><confidentialityCode code="R" codeSystem="2.16.840.1.113883.5.25"/><languageCode code="de-AT"/>
<recordTarget><patientRole><id root="9.9"/></patientRole></recordTarget></ClinicalDocument>`,
);
const base: XdmRequest = {
  from: 'alice@direct.alpha.example',
  to: ['bob@direct.beta.example', 'carol@direct.beta.example'],
  messageUuid: '6f1c2c5e-8a43-4d5e-9c0b-0d6f3f1f2a11',
  subject: 'Summary | of "care" <1>',
  body: 'Dear colleague,\nplease see & read.',
  documents: [
    {
      mediaType: 'text/xml; charset=utf-8',
      content: ccda,
      fileName: 'C:\\files\\Summary of Care.v2.xml',
      title: 'Summary of care',
    },
    {
      mediaType: 'application/pdf',
      content: Buffer.from([0, 1, 2, 0xff, 0x0d, 0x0a]),
      fileName: 'report.pdf',
    },
  ],
  sourceId: '1.3.6.1.4.1.99999.1',
  at: new Date('2026-11-21T10:36:55Z'),
};
const code = (text: string): { code: string; codingScheme: string; displayName: string } => ({
  code: text,
  codingScheme: '2.16.840.1.113883.6.96',
  displayName: `Name of ${text}`,
});
const full: XdmRequest = {
  ...base,
  documents: base.documents.map((document) => ({ ...document, creationTime: '20120915' })),
  patient: {
    lastName: 'Jones|^',
    firstName: 'Isabella',
    middleName: 'B',
    birthDate: '19470501',
    gender: 'f',
    street1: '1357 Amber Drive',
    city: 'Beaverton',
    state: 'OR',
    zip: '97006',
  },
  patientId: '1&2',
  assigningAuthority: '2.16.840.1.113883.4.6',
  loinc: { value: '34133-9', name: 'Summary of episode note' },
  author: { person: 'Dr. Welby', institution: 'Get Well Clinic^1.2.3.4' },
  codes: { facilityTypeCode: code('1'), practiceSettingCode: code('2') },
};
const open = async (request: XdmRequest): Promise<Awaited<ReturnType<typeof readXdm>>> =>
  readXdm(await buildXdm(request));

/** Names in the order of the archive, from its central directory. */
function namesOf(zip: Buffer): string[] {
  const names: string[] = [];
  for (
    let at = zip.indexOf('PK\u0001\u0002', 0, 'latin1');
    at >= 0;
    at = zip.indexOf('PK\u0001\u0002', at + 4, 'latin1')
  )
    names.push(zip.toString('latin1', at + 46, at + 46 + zip.readUInt16LE(at + 28)));
  return names;
}

test('XDM-01, XDM-02: index and read-me at the root, explicit directories, metadata and documents in SUBSET01, all upper-case', async () => {
  const names = namesOf(await buildXdm(base));
  assert.deepEqual(names, [
    'INDEX.HTM',
    'README.TXT',
    'IHE_XDM/',
    'IHE_XDM/SUBSET01/',
    'IHE_XDM/SUBSET01/METADATA.XML',
    'IHE_XDM/SUBSET01/SUMMARY.XML',
    'IHE_XDM/SUBSET01/REPORT.PDF',
  ]);
});

test('XDM-03: names have 8.3 characters of A-Z, 0-9 and underscore, are unique, and keep the original as title', async () => {
  const names = [
    '../../etc/passwd',
    'Ünïcödé näme.longext',
    'metadata.xml',
    'a.xml',
    'A.XML',
    'a b.xml',
    'CON.txt',
    '',
    '.hidden',
    'x'.repeat(300),
    '世界.xml',
    'aux',
  ];
  const request = {
    ...base,
    documents: names.map((fileName, index) => ({
      mediaType: 'text/xml',
      content: Buffer.from(String(index)),
      fileName,
    })),
  };
  const zip = await buildXdm(request);
  const files = namesOf(zip)
    .slice(5)
    .map((name) => name.slice('IHE_XDM/SUBSET01/'.length));
  for (const file of files) assert.match(file, /^[A-Z0-9_]{1,8}\.[A-Z0-9_]{1,3}$/);
  assert.equal(new Set(files).size, names.length);
  assert.ok(!files.includes('METADATA.XML') && !files.some((file) => /^(?:CON|AUX)\./.test(file)));
  const read = await readXdm(zip);
  assert.equal(read.documents[1]?.title, 'Ünïcödé näme.longext');
  assert.deepEqual(
    read.documents.map((document) => document.content.toString()),
    names.map((_, index) => String(index)),
  );
});

test('XDM-04: stored or deflated, not encrypted, no ZIP64', async () => {
  const zip = await buildXdm(base);
  for (
    let at = zip.indexOf('PK\u0001\u0002', 0, 'latin1');
    at >= 0;
    at = zip.indexOf('PK\u0001\u0002', at + 4, 'latin1')
  ) {
    assert.equal(zip.readUInt16LE(at + 8) & 1, 0);
    assert.ok([0, 8].includes(zip.readUInt16LE(at + 10)));
  }
  assert.equal(zip.indexOf('PK\u0006\u0006', 0, 'latin1'), -1);
});

test('XDM-05: one submission set, an ExtrinsicObject and a HasMember association with status Original for each document', async () => {
  const xml = await metadataOf(base);
  assert.match(
    xml,
    /^<\?xml version="1.0" encoding="UTF-8"\?>\n<lcm:SubmitObjectsRequest xmlns:lcm="urn:oasis:names:tc:ebxml-regrep:xsd:lcm:3.0" xmlns="urn:oasis:names:tc:ebxml-regrep:xsd:rim:3.0">/,
  );
  assert.equal(xml.match(/<RegistryPackage /g)?.length, 1);
  assert.equal(xml.match(/<ExtrinsicObject /g)?.length, 2);
  assert.equal(
    xml.match(
      /<Association [^>]*associationType="urn:oasis:names:tc:ebxml-regrep:AssociationType:HasMember" sourceObject="SubmissionSet01" targetObject="Document0[12]">\n<Slot name="SubmissionSetStatus"><ValueList><Value>Original<\/Value>/g,
    )?.length,
    2,
  );
  assert.match(
    xml,
    /<Classification id="cl\d+" objectType="[^"]+" classifiedObject="SubmissionSet01" classificationNode="urn:uuid:a54d6aa5-d40d-43f9-88c5-b4633d873bdd"\/>/,
  );
});

async function metadataOf(request: XdmRequest): Promise<string> {
  const { readZip } = await import('./zip-reader.ts');
  const { defaultXdmLimits } = await import('./limits.ts');
  const entries = await readZip(await buildXdm(request), defaultXdmLimits);
  return entries.find((entry) => entry.name.endsWith('METADATA.XML'))?.content.toString() ?? '';
}

test('XDM-06: hash, size and URI are those of the file', async () => {
  const { documents, warnings } = await open(base);
  assert.deepEqual(warnings, []);
  for (const [index, document] of documents.entries()) {
    const content = Buffer.from(base.documents[index]?.content ?? []);
    assert.deepEqual(document.content, content);
    assert.equal(document.entry?.hash, createHash('sha1').update(content).digest('hex'));
    assert.equal(document.entry?.sizeBytes, content.length);
    assert.equal(document.entry?.uri, document.fileName);
  }
});

test('XDM-07: the subject holds the mark once, the attachment is <uuid>-xdm.zip', () => {
  assert.equal(xdmSubject('Hello'), 'Hello XDM/1.0/DDM');
  assert.equal(xdmSubject('Hello XDM/1.0/DDM'), 'Hello XDM/1.0/DDM');
  assert.equal(xdmSubject(), 'XDM/1.0/DDM');
  assert.equal(
    xdmFileName('6F1C2C5E-8a43-4d5e-9c0b-0d6f3f1f2a11'),
    '6f1c2c5e-8a43-4d5e-9c0b-0d6f3f1f2a11-xdm.zip',
  );
});

test('XDM-10: INDEX.HTM is well-formed XHTML with links to all files, README.TXT names the sender', async () => {
  const { readZip } = await import('./zip-reader.ts');
  const { defaultXdmLimits } = await import('./limits.ts');
  const entries = await readZip(await buildXdm(base), defaultXdmLimits);
  const index = entries[0]?.content.toString() ?? '';
  const { SaxesParser } = await import('saxes');
  const parser = new SaxesParser({ xmlns: true });
  const links: string[] = [];
  parser.on('error', (error) => assert.fail(error));
  parser.on('opentag', (tag) => {
    if (tag.local === 'a') links.push(tag.attributes['href']?.value ?? '');
  });
  parser.write(index).close();
  assert.deepEqual(links, [
    'README.TXT',
    'IHE_XDM/SUBSET01/SUMMARY.XML',
    'IHE_XDM/SUBSET01/REPORT.PDF',
    'IHE_XDM/SUBSET01/METADATA.XML',
  ]);
  assert.match(index, /-\/\/W3C\/\/DTD XHTML Basic 1.1\/\/EN/);
  assert.match(entries[1]?.content.toString() ?? '', /alice@direct\.alpha\.example/);
});

test('META-01: full only when every required field is known, else limited and marked so; nothing is made up', async () => {
  const { metadataLevel, documents, submissionSets } = await open(full);
  assert.equal(metadataLevel, 'full');
  assert.ok(documents.every(({ entry }) => entry?.patientId === '1\\T\\2^^^&2.16.840.1.113883.4.6&ISO'));
  assert.equal(submissionSets[0]?.patientId, '1\\T\\2^^^&2.16.840.1.113883.4.6&ISO');
  const lacking: Partial<XdmRequest>[] = [
    { patientId: '' },
    { loinc: undefined },
    { codes: {} },
    { documents: base.documents },
  ];
  for (const part of lacking) {
    const limited = await open({ ...full, ...part });
    assert.equal(limited.metadataLevel, 'limited');
    assert.ok(
      [...limited.documents.map(({ entry }) => entry), ...limited.submissionSets].every(
        (object) => object?.isLimited === true && object.patientId === undefined,
      ),
    );
  }
  const bare = await open({
    ...base,
    documents: [{ mediaType: 'application/pdf', content: Buffer.from('x') }],
  });
  const entry = bare.documents[0]?.entry;
  assert.deepEqual(
    [entry?.sourcePatientId, entry?.sourcePatientInfo, entry?.typeCode, entry?.creationTime, entry?.authors],
    [undefined, [], undefined, undefined, []],
  );
});

test('META-02: unique identifiers are OIDs of 64 characters at most; a C-CDA brings its own', async () => {
  const idsOf = async (request: XdmRequest): Promise<(string | undefined)[]> =>
    (await open(request)).documents.map(({ entry }) => entry?.uniqueId);
  const [first, second] = await idsOf(base);
  assert.equal(first, '2.16.840.1.113883.19.5^TT988');
  assert.match(second ?? '', /^2\.25\.\d{1,39}$/);
  assert.deepEqual(await idsOf(base), [first, second]);
  const withId = (id: string): XdmRequest => ({
    ...base,
    documents: [
      { mediaType: 'text/xml', content: Buffer.from(ccda.toString().replace(/<id root="2[^>]*>/, id)) },
    ],
  });
  assert.deepEqual(await idsOf(withId('<id root="6f1c2c5e-8a43-4d5e-9c0b-0d6f3f1f2a11"/>')), [
    '2.25.147690591760424768832984844256740846097',
  ]);
  assert.match(
    (await idsOf(withId('<id root="1.2.3" extension="longer than sixteen characters"/>')))[0] ?? '',
    /^2\.25\.\d{1,39}$/,
  );
  assert.match((await idsOf(withId('<id nullFlavor="NI"/>')))[0] ?? '', /^2\.25\.\d{1,39}$/);
  const twice = await idsOf({
    ...base,
    documents: [...base.documents.slice(0, 1), ...base.documents.slice(0, 1)],
  });
  assert.equal(new Set(twice).size, 2);
  assert.equal(
    (await open(base)).submissionSets[0]?.uniqueId,
    '2.25.147690591760424768832984844256740846097',
  );
});

test('META-03: sourceId is the installation, submissionTime the message, creationTime the document', async () => {
  const { submissionSets, documents } = await open(base);
  assert.equal(submissionSets[0]?.sourceId, '1.3.6.1.4.1.99999.1');
  assert.equal(submissionSets[0]?.submissionTime, '20261121103655');
  assert.deepEqual(
    documents.map(({ entry }) => entry?.creationTime),
    ['201209151530', undefined],
  );
});

test('META-05, META-06, META-07: CX, sourcePatientInfo, XCN, XON and XTN, with delimiters escaped', async () => {
  const { submissionSets, documents } = await open(full);
  const entry = documents[0]?.entry;
  assert.equal(entry?.sourcePatientId, '1\\T\\2^^^&2.16.840.1.113883.4.6&ISO');
  assert.deepEqual(entry?.sourcePatientInfo, [
    'PID-3|1\\T\\2^^^&2.16.840.1.113883.4.6&ISO',
    'PID-5|Jones\\F\\\\S\\^Isabella^B',
    'PID-7|19470501',
    'PID-8|F',
    'PID-11|1357 Amber Drive^^Beaverton^OR^97006^',
  ]);
  assert.deepEqual(entry?.authors, [
    { person: '^Dr. Welby', institutions: ['Get Well Clinic^^^^^^^^^1.2.3.4'], telecommunications: [] },
  ]);
  assert.deepEqual(submissionSets[0]?.authors, [
    {
      person: '^Dr. Welby',
      institutions: ['Get Well Clinic^^^^^^^^^1.2.3.4'],
      telecommunications: ['^^Internet^alice@direct.alpha.example'],
    },
  ]);
});

test('META-08: the sender is the author, each recipient an intended one', async () => {
  const [set] = (await open(base)).submissionSets;
  assert.deepEqual(set?.authors[0]?.telecommunications, ['^^Internet^alice@direct.alpha.example']);
  assert.deepEqual(set?.intendedRecipients, [
    '||^^Internet^bob@direct.beta.example',
    '||^^Internet^carol@direct.beta.example',
  ]);
});

test('META-09: typeCode is the LOINC code of the request, else that of the document', async () => {
  const loinc = { code: '18842-5', codingScheme: '2.16.840.1.113883.6.1', displayName: 'Discharge summary' };
  const { documents, submissionSets } = await open({
    ...base,
    loinc: { value: '18842-5', name: 'Discharge summary' },
  });
  assert.ok(documents.every(({ entry }) => entry?.typeCode?.code === '18842-5'));
  assert.deepEqual(documents[1]?.typeCode, loinc);
  assert.deepEqual(submissionSets[0]?.contentTypeCode, loinc);
  assert.equal((await open(base)).documents[0]?.typeCode?.code, '34133-9');
});

test('equal requests give equal bytes, in any time zone', async () => {
  assert.deepEqual(await buildXdm(full), await buildXdm(full));
  const script = `import { buildXdm } from ${JSON.stringify(new URL('build-xdm.ts', import.meta.url).href)};
const zip = await buildXdm({ from: 'a@b.example', to: [], messageUuid: '6f1c2c5e-8a43-4d5e-9c0b-0d6f3f1f2a11', documents: [{ mediaType: 'text/plain', content: new Uint8Array(9) }], sourceId: '1.2', at: new Date(1e12) });
process.stdout.write(zip.toString('hex'));`;
  const run = (TZ: string): string =>
    spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      env: { ...process.env, TZ },
    }).stdout.toString();
  const first = run('America/New_York');
  assert.ok(first.length > 1000);
  assert.equal(run('Asia/Kolkata'), first);
});

test('XDM_NO_DOCUMENTS and XDM_VALUE_INVALID refuse input that no package can contain', async () => {
  const isCode = (expected: string) => (error: unknown) =>
    error instanceof XdmError && error.code === expected;
  await assert.rejects(buildXdm({ ...base, documents: [] }), isCode('XDM_NO_DOCUMENTS'));
  const wrong: Partial<XdmRequest>[] = [
    { sourceId: 'x' },
    { assigningAuthority: 'x' },
    { messageUuid: 'x' },
    { patient: { birthDate: '1947' } },
    { patient: { gender: 'X' } },
  ];
  for (const part of wrong) await assert.rejects(buildXdm({ ...base, ...part }), isCode('XDM_VALUE_INVALID'));
});

test('reads back its own output: any bytes, any text', async () => {
  const text = fc
    .string({ unit: 'grapheme', maxLength: 60 })
    .map((value) => value.replace(/\p{Cc}|\ufffe|\uffff/gu, '').trim());
  const document = fc.record({
    mediaType: fc.constantFrom('text/xml', 'application/pdf', 'image/jpeg', 'application/x-odd'),
    content: fc.uint8Array({ maxLength: 200 }),
    fileName: text,
    title: text,
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(document, { minLength: 1, maxLength: 5 }),
      text,
      text,
      async (documents, subject, body) => {
        const zip = await buildXdm({ ...base, documents, subject, body });
        assert.equal(isXdm(zip), true);
        const read = await readXdm(zip);
        assert.deepEqual(read.warnings, []);
        assert.deepEqual(
          read.documents.map(({ content, mediaType }) => [content.toString('hex'), mediaType]),
          documents.map(({ content, mediaType }) => [Buffer.from(content).toString('hex'), mediaType]),
        );
        assert.equal(read.submissionSets[0]?.title ?? '', subject.toWellFormed());
        assert.equal(read.submissionSets[0]?.comments ?? '', body.toWellFormed());
      },
    ),
    { numRuns: 60 },
  );
});

const hasPython = spawnSync('python3', ['--version']).status === 0;
const pythonReader = `
import sys, json, zipfile, io, hashlib, xml.etree.ElementTree as E
z = zipfile.ZipFile(io.BytesIO(sys.stdin.buffer.read()))
r = '{urn:oasis:names:tc:ebxml-regrep:xsd:rim:3.0}'
m = E.fromstring(z.read('IHE_XDM/SUBSET01/METADATA.XML'))
E.fromstring(z.read('INDEX.HTM').split(b'dtd">')[1])
docs = []
for o in m.iter(r + 'ExtrinsicObject'):
    s = {x.get('name'): [v.text for v in x.iter(r + 'Value')] for x in o.findall(r + 'Slot')}
    b = z.read('IHE_XDM/SUBSET01/' + s['URI'][0])
    docs.append(dict(same=hashlib.sha1(b).hexdigest() == s['hash'][0] and str(len(b)) == s['size'][0], order=[c.tag[len(r):] for c in o]))
print(json.dumps(dict(bad=z.testzip(), docs=docs, dates=sorted(set(str(i.date_time) for i in z.infolist())))))
`;

test(
  'an independent reader (Python zipfile and ElementTree) opens the package',
  { skip: hasPython ? false : 'python3 is missing' },
  async () => {
    const run = spawnSync('python3', ['-c', pythonReader], { input: await buildXdm(full) });
    const seen = JSON.parse(run.stdout.toString()) as {
      bad: unknown;
      docs: { same: boolean; order: string[] }[];
      dates: string[];
    };
    assert.equal(seen.bad, null);
    assert.deepEqual(
      seen.docs.map(({ same }) => same),
      [true, true],
    );
    // The schema's order of elements.
    const rank = ['Slot', 'Name', 'Description', 'Classification', 'ExternalIdentifier'];
    for (const { order } of seen.docs)
      assert.deepEqual(
        order,
        order.toSorted((a, b) => rank.indexOf(a) - rank.indexOf(b)),
      );
    assert.deepEqual(seen.dates, ['(2026, 11, 21, 10, 36, 54)']);
  },
);

const hasUnzip = spawnSync('unzip', ['-v']).status === 0;

test(
  'an independent tool (unzip) tests and unpacks the package',
  { skip: hasUnzip ? false : 'unzip is missing' },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'xdm-'));
    try {
      writeFileSync(join(folder, 'p.zip'), await buildXdm(full));
      assert.equal(spawnSync('unzip', ['-tq', join(folder, 'p.zip')]).status, 0);
      spawnSync('unzip', ['-q', join(folder, 'p.zip'), '-d', join(folder, 'out')]);
      assert.deepEqual(readFileSync(join(folder, 'out/IHE_XDM/SUBSET01/SUMMARY.XML')), ccda);
    } finally {
      rmSync(folder, { recursive: true, maxRetries: 5 });
    }
  },
);
