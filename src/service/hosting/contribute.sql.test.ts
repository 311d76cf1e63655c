import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { after, before, test } from 'node:test';
import { openTestStorage } from '../../../test/support/storage.ts';
import { createManualClock, silentLog } from '../../core/index.ts';
import { loadBuiltInGazetteer } from '../../lib/geo/index.ts';
import {
  createAuthority,
  createKeyPair,
  issueDirectCertificate,
  type Certificate,
  type KeyPair,
} from '../../lib/pki/index.ts';
import { createVault, type Storage } from '../../platform/index.ts';
import { createAudit, type Audit } from '../audit/index.ts';
import {
  importDirectory,
  openStream,
  setOptOut,
  unlistHostedAddress,
  type LoadReport,
} from '../directory/index.ts';
import { createTrust, type Trust } from '../trust/index.ts';
import { contributeAddresses, type ContributionRow } from './contribute.ts';
import { importAddresses } from './import-addresses.ts';

const clock = createManualClock(new Date('2026-06-01T00:00:00Z'));
const gazetteer = loadBuiltInGazetteer();
const vault = createVault(Buffer.alloc(32, 3));
const dates = { notBefore: new Date('2026-01-01T00:00:00Z'), notAfter: new Date('2027-01-01T00:00:00Z') };
let folder: string;
let storage: Storage;
let audit: Audit;
let trust: Trust;
let caKeys: KeyPair;
let authority: Certificate;

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'openhisp-contribution-'));
  storage = await openTestStorage();
  audit = createAudit({ storage, vault, clock, log: silentLog }).as('operator:jo');
  trust = createTrust({ storage, vault, clock, audit });
  caKeys = await createKeyPair();
  authority = createAuthority({ subject: [['CN', 'CA']], ...caKeys, ...dates });
  for (const domain of ['d.example', 'bare.example']) await trust.addDomain(domain);
  await addKey('d.example', { domain: 'd.example' });
});
after(async () => {
  await audit.close();
  await storage.close();
  await rm(folder, { recursive: true, maxRetries: 5 });
});

async function addKey(
  owner: string,
  boundTo: Parameters<typeof issueDirectCertificate>[0]['boundTo'],
): Promise<void> {
  const keys = await createKeyPair();
  const issuer = { certificate: authority, privateKey: caKeys.privateKey };
  const { der } = issueDirectCertificate({ boundTo, publicKey: keys.publicKey, issuer, ...dates });
  await trust.addKeyPair(owner, der, keys.privateKey);
}

const host = (...lines: readonly string[]) =>
  importAddresses(
    { storage, clock, audit, trust, gazetteer },
    Readable.from([
      Buffer.from(
        [
          'address,firstname,lastname,suffix,organization,specialty,street,city,state,zip,phone,npi,listed',
          ...lines,
        ].join('\r\n'),
      ),
    ]),
  );

async function contribute(since?: Date) {
  let text = '';
  const rows: ContributionRow[] = [];
  const counts = await contributeAddresses(
    { storage, clock, audit, trust },
    {
      hispOperator: 'Example HISP',
      since,
      write: async (part) => void (text += part),
      report: async (part) => void rows.push(...part),
    },
  );
  return { text, rows, counts, lines: text.split('\r\n').slice(1, -1) };
}

/** What our own import makes of a file, and then of changes, in an empty database. */
async function importAgain(text: string, changes?: string): Promise<LoadReport> {
  const other = await openTestStorage();
  const otherAudit = createAudit({ storage: other, vault, clock, log: silentLog });
  const load = (content: string, kind: 'full' | 'incremental') =>
    importDirectory(
      { storage: other, clock, audit: otherAudit, gazetteer, log: silentLog, snapshotDir: folder },
      { files: openStream(Readable.from([Buffer.from(content)])), kind },
    );
  try {
    const report = await load(text, 'full');
    return changes === undefined ? report : await load(changes, 'incremental');
  } finally {
    await otherAudit.close();
    await other.close();
  }
}

test('the file is in the form of the aggregated directory, and our own import reads it unchanged', async () => {
  const imported = await host(
    'ann@d.example,Renée,O’Brien,MD,"Clinic, North",Cardiology,"12 ""A"" Main St",Boston,MA,02114,(617) 555-0123,1234567893,',
    'desk@d.example,,,,Clinic North,,12 Main St,Boston,MA,02114-1234,617.555.0123,1245319599,',
    'hidden@d.example,Not,Listed,,Clinic North,,,,,,,,no',
  );
  assert.equal(imported.counts.refused, 0, JSON.stringify(imported.rows));
  const { text, lines, counts, rows } = await contribute();
  assert.deepEqual(counts, { written: 2, removed: 0, 'left-out': 0 });
  assert.deepEqual(lines, [
    `Example HISP,ann@d.example,1234567893,Renee,,O'Brien,MD,Cardiology,,"Clinic, North","12 ""A"" Main St",Boston,MA,02114,+16175550123,`,
    'Example HISP,desk@d.example,,,,,,,1245319599,Clinic North,12 Main St,Boston,MA,02114-1234,+16175550123,',
  ]);
  assert.match(rows[0]?.text ?? '', /^firstName is written in ASCII\. lastName is written in ASCII\.$/);
  const report = await importAgain(text);
  assert.deepEqual([report.format, report.rowsRead, report.recordCount], ['directtrust', 2, 2]);
  assert.deepEqual([report.refused, report.warnings], [{}, {}], JSON.stringify(report));
});

test('each published check leaves out what fails it, and says why', async () => {
  await host(
    'none@d.example,,,,,,,,,,,,',
    'lee@d.example,Jo,Lee,,,,,,,,,,',
    'away@bare.example,Jo,Lee,,Clinic,,,,,,,,',
    'phone@d.example,Jo,Lee,,Clinic,,,,,,555-0123 ext. 4,,',
    'npi@d.example,Jo,Lee,,Clinic,,,,,,,1234567890,',
    'formula@d.example,=Jo,Lee,,Clinic,,,,,,,,',
    'letters@d.example,李,Lee,,Clinic,,,,,,,,',
  );
  const { rows, lines } = await contribute();
  const found = new Map(rows.map(({ address, codes }) => [address, codes.join(' ')]));
  assert.deepEqual(
    [...found].filter(([, codes]) => codes !== ''),
    [
      ['away@bare.example', 'MISSCERT'],
      ['formula@d.example', 'FORMAT'],
      ['lee@d.example', 'BAORG'],
      ['letters@d.example', 'FORMAT'],
      ['none@d.example', 'BAORG MISSENT'],
      ['npi@d.example', 'FORMAT'],
      ['phone@d.example', 'FORMAT'],
    ],
  );
  assert.equal(lines.length, 2);
});

test('changes since a date are the changed, the removed and the opted-out addresses, once', async () => {
  clock.advance(3_600_000);
  const since = clock.now();
  const before = await contribute();
  const context = { storage, clock, audit };
  assert.deepEqual((await contribute(since)).lines, []);
  await host('new@d.example,Bo,Ng,,Clinic North,,,,,,,,');
  await unlistHostedAddress(context, 'desk@d.example');
  assert.equal(await setOptOut(context, 'ann@d.example', true), true);
  assert.equal(await setOptOut(context, 'ann@d.example', true), false);
  const { text, lines } = await contribute(since);
  assert.deepEqual(
    lines.map((line) => `${line.split(',')[1]} ${line.split(',').at(-1)}`),
    ['ann@d.example remove', 'desk@d.example remove', 'new@d.example change'],
  );
  const report = await importAgain(before.text, text);
  assert.deepEqual(
    [report.refused, report.removed, report.added, report.recordCount],
    [{}, 2, 1, 1],
    JSON.stringify(report),
  );
  assert.deepEqual(
    (await contribute()).lines.map((line) => line.split(',')[1]),
    ['new@d.example'],
  );
  // Listing it again does not give away what its owner keeps.
  await host('ann@d.example,Ann,Ng,,Clinic North,,,,,,,,');
  assert.equal((await contribute()).lines.length, 1);
  clock.advance(3_600_000);
  const later = clock.now();
  assert.equal(await setOptOut(context, 'ann@d.example', false), true);
  assert.match((await contribute(later)).lines[0] ?? '', /ann@d\.example.*,change$/);
  const [row] = await audit.find({ action: 'directory.contribute', limit: 1 });
  assert.deepEqual(
    [row?.actor, row?.objects['written'], row?.objects['since']],
    ['operator:jo', '1', later.toISOString()],
  );
});

test('a reader of the changes has no record of a former NPI, nor one that fails a check by now', async () => {
  const [one, two, three] = ['1234567893', '1245319599', '1679576722'];
  const at = (name: string, npi = '', organization = 'Clinic'): string =>
    `${name}@d.example,Jo,Ng,,${organization},,,,,,,${npi},`;
  const names = ['given', 'moved', 'twice', 'back', 'again', 'fails'];
  await host(...names.map((name) => at(name, name === 'given' ? '' : one)));
  const full = await contribute();
  clock.advance(3_600_000);
  const since = clock.now();
  await host(at('given', one), at('moved', two), at('twice', two), at('back', two), at('fails', one, ''));
  await unlistHostedAddress({ storage, clock, audit }, 'again@d.example');
  clock.advance(1000);
  await host(at('twice', three), at('back', one), at('again', three));
  const { text, rows } = await contribute(since);
  const keysOf = (content: string, action: string) =>
    content
      .split('\r\n')
      .filter((line) => line.endsWith(action))
      .map((line) => line.split(',').slice(1, 3).join(' ').replace('@d.example', ''));
  assert.deepEqual(
    [keysOf(text, ',remove'), keysOf(text, ',change')],
    [
      [
        `again ${one}`,
        `back ${two}`,
        `fails ${one}`,
        'given ',
        `moved ${one}`,
        `twice ${one}`,
        `twice ${two}`,
      ],
      [`again ${three}`, `back ${one}`, `given ${one}`, `moved ${two}`, `twice ${three}`],
    ],
  );
  assert.deepEqual(rows.find(({ outcome }) => outcome === 'left-out')?.codes, ['BAORG']);
  const report = await importAgain(full.text, text);
  const whole = await contribute();
  assert.equal(report.recordCount, whole.counts.written, JSON.stringify(report));
  // Those between the two files were never in one.
  assert.deepEqual([Object.keys(report.refused), report.refusedRows], [['removal_unknown'], 2]);
  clock.advance(3_600_000);
  assert.deepEqual((await contribute(clock.now())).lines, []);
});
