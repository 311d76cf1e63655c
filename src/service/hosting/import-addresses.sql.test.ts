import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { after, before, test } from 'node:test';
import { openTestStorage } from '../../../test/support/storage.ts';
import { createManualClock, silentLog } from '../../core/index.ts';
import { loadBuiltInGazetteer } from '../../lib/geo/index.ts';
import { parseDirectAddress } from '../../lib/values/index.ts';
import { createVault, type Storage } from '../../platform/index.ts';
import { createAudit, type Audit } from '../audit/index.ts';
import { createTrust, type Trust } from '../trust/index.ts';
import { importAddresses, type ImportOptions } from './import-addresses.ts';

const clock = createManualClock(new Date('2026-06-01T00:00:00Z'));
const gazetteer = loadBuiltInGazetteer();
let storage: Storage;
let audit: Audit;
let trust: Trust;
before(async () => {
  storage = await openTestStorage();
  const vault = createVault(Buffer.alloc(32, 3));
  audit = createAudit({ storage, vault, clock, log: silentLog }).as('operator:jo');
  trust = createTrust({ storage, vault, clock, audit });
  await trust.addDomain('d.example');
});
after(async () => {
  await audit.close();
  await storage.close();
});

const run = (lines: readonly string[], options?: ImportOptions) =>
  importAddresses(
    { storage, clock, audit, trust, gazetteer },
    Readable.from([Buffer.from(lines.join('\r\n'))]),
    options,
  );
const outcomes = async (lines: readonly string[], options?: ImportOptions) => {
  const { rows, isStored } = await run(lines, options);
  return [isStored, ...rows.map(({ line, outcome, text }) => `${line} ${outcome} ${text}`.trim())];
};
const changesSince = async (sequence: number) =>
  (await audit.find({ limit: 1000 }))
    .filter((row) => row.sequence > sequence)
    .map(({ action, actor, objects }) => `${action} ${objects['address']} ${actor}`)
    .reverse();
const lastSequence = async () => (await audit.find({ limit: 1 }))[0]?.sequence ?? 0;
const listed = async () =>
  (await trust.listAddresses('d.example')).map(({ address, status }) => `${address} ${status}`);

test('refused rows name the field, and stop all unless row by row is asked for; the same file changes nothing', async () => {
  const header = 'Address,Status,listed,First Name,Last_Name,NPI,ZIP';
  const good = 'Ann@d.example,,,Ann,Lee,1234567893,98101';
  const bad = [
    'bo,,,Bo,,,',
    ',,,,,,',
    'cy@other.example,,,,,,',
    'ANN@d.example,,,,,,',
    'di@d.example,maybe,,,,,',
    'ed@d.example,,perhaps,,,,',
    'fi@d.example,,',
    'gi@d.example,,,Gi,,12,',
  ];
  const texts = [
    '3 refused address: not a Direct address (local@domain).',
    '5 refused address: other.example is not a hosted domain.',
    '6 refused address: also in line 2.',
    '7 refused status: neither active nor disabled.',
    '8 refused listed: neither yes nor no.',
    '9 refused It has 3 fields, and the header 7.',
  ];
  const last = await lastSequence();
  const first = await outcomes([header, good, ...bad]);
  assert.equal(first[0], false);
  for (const text of texts) assert.ok(first.includes(text), `${text}\n${first.join('\n')}`);
  assert.deepEqual(await listed(), []);
  assert.deepEqual(await changesSince(last), []);

  const dry = await outcomes([header, good], { isDryRun: true });
  assert.deepEqual(dry, [false, '2 added']);
  assert.deepEqual(await changesSince(last), []);

  const rowByRow = await outcomes([header, good, ...bad], { isRowByRow: true });
  assert.deepEqual(rowByRow.slice(0, 2), [true, '2 added']);
  assert.ok((await listed()).includes('Ann@d.example active'));
  assert.deepEqual((await changesSince(last)).filter((text) => text.includes('nn@d')).sort(), [
    'address.enable Ann@d.example operator:jo',
    'directory.provision ann@d.example operator:jo',
  ]);
  const again = await lastSequence();
  assert.deepEqual(await outcomes([header, good]), [true, '2 unchanged']);
  assert.deepEqual(await changesSince(again), []);

  assert.deepEqual(await outcomes([header, good.replace('Lee', 'Lea')]), [true, '2 changed']);
  assert.deepEqual(await outcomes([header, 'ann@d.example,disabled,,,,,']), [true, '2 changed']);
  assert.deepEqual(await changesSince(again), [
    'directory.provision ann@d.example operator:jo',
    'directory.unprovision ann@d.example operator:jo',
    'address.disable ann@d.example operator:jo',
  ]);
  const found = await trust.findAddress(parseDirectAddress('ann@d.example'));
  assert.deepEqual(found, { address: 'ann@d.example', status: 'disabled' });
});

test('a file with an unknown column, without the address, or with a column twice is refused', async () => {
  for (const [header, text] of [
    ['address,nip', /Unknown column: nip\. The columns are address, status/],
    ['status,npi', /The column address is missing/],
    ['address,npi,NPI', /A column is there twice/],
  ] as const)
    await assert.rejects(run([header, 'x@d.example,1']), text);
});

test('ten thousand rows are stored together, and once', async () => {
  const rows = Array.from({ length: 10_000 }, (_, index) => `u${index}@d.example,Name${index},98101`);
  const began = performance.now();
  const { counts } = await run(['address,last name,zip', ...rows]);
  assert.deepEqual(counts, { added: 10_000, changed: 0, unchanged: 0, refused: 0 });
  const tookMs = performance.now() - began;
  assert.ok(tookMs < 30_000, `${tookMs} ms`);
  const last = await lastSequence();
  assert.equal((await run(['address,last name,zip', ...rows])).counts.unchanged, 10_000);
  assert.equal(await lastSequence(), last);
});
