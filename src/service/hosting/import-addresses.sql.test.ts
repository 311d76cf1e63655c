import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { after, before, test } from 'node:test';
import { openTestStorage } from '../../../test/support/storage.ts';
import { createManualClock, silentLog } from '../../core/index.ts';
import { loadBuiltInGazetteer } from '../../lib/geo/index.ts';
import { parseDirectAddress } from '../../lib/values/index.ts';
import { createVault, type Storage, type Vault } from '../../platform/index.ts';
import { createAudit, type Audit } from '../audit/index.ts';
import { listHostedAddress } from '../directory/index.ts';
import { createOrganizations } from '../organizations/index.ts';
import { createTrust, type Trust } from '../trust/index.ts';
import { importAddresses, type ImportOptions } from './import-addresses.ts';

const clock = createManualClock(new Date('2026-06-01T00:00:00Z'));
const gazetteer = loadBuiltInGazetteer();
let storage: Storage;
let audit: Audit;
let trust: Trust;
let vault: Vault;
before(async () => {
  storage = await openTestStorage();
  vault = createVault(Buffer.alloc(32, 3));
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
  // An address stays as it was written first.
  await outcomes([header, good.replace('Ann@', 'ANN@')]);
  assert.ok((await listed()).includes('Ann@d.example active'));
  await outcomes([header, good]);
  const again = await lastSequence();
  assert.deepEqual(await outcomes([header, good]), [true, '2 unchanged']);
  assert.deepEqual(await changesSince(again), []);

  assert.deepEqual(await outcomes([header, good.replace('Lee', 'Lea')]), [true, '2 changed']);
  assert.deepEqual(await outcomes([header, 'ann@d.example,disabled,,,,,']), [true, '2 changed']);
  assert.deepEqual(await changesSince(again), [
    'directory.provision ann@d.example operator:jo',
    'directory.unprovision ann@d.example operator:jo',
    'address.disable Ann@d.example operator:jo',
  ]);
  const found = await trust.findAddress(parseDirectAddress('ann@d.example'));
  assert.deepEqual(found, { address: 'Ann@d.example', status: 'disabled' });
});

test('a file with an unknown column, without the address, or with a column twice is refused', async () => {
  for (const [header, text] of [
    ['address,nip', /Unknown column: nip\. The columns are address, status/],
    ['address,frist_name', /Unknown column: frist_name\. .* first_name, .*proofing_level/],
    ['address,,npi', /Unknown column: \(empty\)/],
    ['status,npi', /The column address is missing/],
    ['address,npi,NPI', /The column npi is there twice/],
    ['address,last name,Last_Name', /The column last_name is there twice/],
  ] as const)
    await assert.rejects(run([header, 'x@d.example,1']), text);
});

test('columns without a name behind the last one, blank rows and a legacy encoding, as spreadsheets write them', async () => {
  const plan = (lines: readonly string[]) => outcomes(lines, { isDryRun: true, isRowByRow: true });
  const rows = [
    '\ufeffaddress;last name;zip;;',
    'ira@d.example;Lee;98101;;',
    ';;;;',
    'jo@d.example;Lee;98101;;note',
  ];
  const text = 'It has a value in a column without a name. Remove that column, or the value.';
  assert.deepEqual(await plan(rows), [false, '2 added', `4 refused ${text}`]);
  // Some write a delimiter behind every row, which the header does not have.
  assert.deepEqual(await plan(['address,zip', 'ira@d.example,98101,', 'jo@d.example,98101,', '']), [
    false,
    '2 added',
    '3 added',
  ]);
  const { rows: legacy } = await importAddresses(
    { storage, clock, audit, trust, gazetteer },
    Readable.from([Buffer.from('address,last name\nira@d.example,Mu\xf1oz\n', 'latin1')]),
    { isDryRun: true },
  );
  assert.deepEqual(
    legacy.map((row) => row.text),
    ['The text is not UTF-8: save the file again as "CSV UTF-8".'],
  );
  await assert.rejects(
    plan(['address,last name,zip', 'ira@d.example,Lee,98101', 'jo@d.ex']),
    /ends within line 3/,
  );
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

test('a file that would take much from many addresses is refused until that is accepted', async () => {
  const first = (count: number, row: (name: string) => string) =>
    Array.from({ length: count }, (_, index) => row(`u${index}@d.example,Name${index}`));
  const many = 1100;
  const last = await lastSequence();
  for (const [lines, loss] of [
    [
      ['address,zip', ...first(many, (name) => `${name.split(',')[0]},98101`)],
      `${many} entries would lose their last_name`,
    ],
    [
      ['address,last name,zip,status', ...first(many, (name) => `${name},98101,disabled`)],
      `${many} addresses would be disabled`,
    ],
    [
      ['address,last name,zip,listed', ...first(many, (name) => `${name},98101,no`)],
      `${many} addresses would leave the directory`,
    ],
  ] as const)
    for (const options of [{}, { isRowByRow: true }, { isDryRun: true, acceptLoss: true }]) {
      const result = await run(lines, options);
      assert.deepEqual([result.isStored, result.loss, result.counts.changed], [false, loss, many]);
    }
  assert.equal(await lastSequence(), last, 'nothing is changed');
  // A tenth of all listed addresses may go.
  const few = ['address,last name,zip,listed', ...first(990, (name) => `${name},98101,no`)];
  assert.deepEqual((await run(few, { isDryRun: true })).loss, undefined);
  // What is disabled is a part of what is active, listed or not.
  const rowsOf = (listed: string, disabled: number) =>
    Array.from(
      { length: 10_000 },
      (_, index) => `u${index}@d.example,Name${index},98101,${listed},${index < disabled ? 'disabled' : ''}`,
    );
  const unlisted = (disabled: number) => ['address,last name,zip,listed,status', ...rowsOf('no', disabled)];
  assert.equal((await run(unlisted(0), { acceptLoss: true })).isStored, true);
  assert.deepEqual((await run(unlisted(100), { isDryRun: true })).loss, undefined);
  assert.deepEqual(
    (await run(unlisted(many), { isDryRun: true })).loss,
    `${many} addresses would be disabled`,
  );
  const listedAgain = ['address,last name,zip,listed,status', ...rowsOf('yes', 0)];
  assert.equal((await run(listedAgain)).isStored, true);
  const blank = ['address,zip', ...first(many, (name) => `${name.split(',')[0]},98101`)];
  const accepted = await run(blank, { acceptLoss: true });
  assert.deepEqual([accepted.isStored, accepted.counts.changed], [true, many]);
});

test('an organization in a file is measured by itself, and its domains stay its own until they are stored', async () => {
  await createOrganizations({ storage, vault, clock, audit }).create({ id: 'little', name: 'Little' });
  await trust.addDomain('little.example', 'little');
  const rows = (rest: string) =>
    Array.from({ length: 300 }, (_, index) => `s${index}@little.example,${rest}`);
  const header = 'address,last name,zip,listed,status';
  const organizationId = 'little';
  assert.equal((await run([header, ...rows('Lee,98101,,')], { organizationId })).isStored, true);
  for (const [rest, loss] of [
    ['Lee,98101,,disabled', '300 addresses would be disabled'],
    ['Lee,98101,no,', '300 addresses would leave the directory'],
    [',98101,,', '300 entries would lose their last_name'],
  ] as const)
    assert.equal((await run([header, ...rows(rest)], { organizationId })).loss, loss);
  await trust.moveDomain('little.example', 'operator');
  await assert.rejects(run([header, 's0@little.example,Lee,98101,,disabled'], { organizationId }), {
    code: 'TRUST_DOMAIN_UNKNOWN',
  });
});

test('identity proofing: a record is checked by field, stored once, expires, and goes with a blank row', async () => {
  const header =
    'address,listed,proofing_level,proofing_method,proofing_date,proofing_expires,proofing_verifier,proofing_reference';
  const rowOf = (...proofing: readonly string[]) => ['pat@d.example,no', ...proofing].join(',');
  const good = rowOf('IAL2', 'remote', '2025-07-01', '2026-06-15', 'RA Example', 'case 12');
  const refused: readonly (readonly [row: string, text: string])[] = [
    [rowOf('IAL2', '', '2025-07-01', '', 'RA', ''), 'proofing_method: missing.'],
    [rowOf('IAL2', 'remote', '2025-02-30', '', 'RA', ''), 'proofing_date: not a date'],
    [rowOf('IAL2', 'remote', '2026-07-01', '', 'RA', ''), 'proofing_date: in the future.'],
    [rowOf('IAL2', 'remote', '2025-07-01', '2025-07-01', 'RA', ''), 'proofing_expires: not after'],
    [rowOf('IAL2', 'remote', '2025-07-01', '', 'x'.repeat(201), ''), 'proofing_verifier: longer'],
  ];
  for (const [row, text] of refused) {
    const [isStored, line] = await outcomes([header, row]);
    assert.equal(isStored, false);
    assert.ok(String(line).startsWith(`2 refused ${text}`), String(line));
  }
  const pat = parseDirectAddress('pat@d.example');
  const last = await lastSequence();
  assert.deepEqual(await outcomes([header, good], { isDryRun: true }), [false, '2 added']);
  assert.equal(await trust.findProofing(pat), undefined);
  assert.deepEqual(await outcomes([header, good]), [true, '2 added']);
  assert.deepEqual(await outcomes([header, good]), [true, '2 unchanged']);
  assert.deepEqual(await trust.findProofing(pat), {
    level: 'IAL2',
    method: 'remote',
    date: '2025-07-01',
    expires: '2026-06-15',
    verifier: 'RA Example',
    reference: 'case 12',
  });
  const ending = async (day: string) =>
    (await trust.findExpiringProofings('d.example', new Date(day))).map(({ address }) => address);
  assert.deepEqual(await ending('2026-06-15T00:00:00Z'), []);
  assert.deepEqual(await ending('2026-06-16T00:00:00Z'), [pat]);
  // A file without these columns leaves the record, one with them and a blank row removes it.
  assert.deepEqual(await outcomes(['address,listed', 'pat@d.example,no']), [true, '2 unchanged']);
  assert.notEqual(await trust.findProofing(pat), undefined);
  assert.deepEqual(await outcomes([header, rowOf('', '', '', '', '', '')]), [true, '2 changed']);
  assert.equal(await trust.findProofing(pat), undefined);
  assert.deepEqual(
    (await changesSince(last)).filter((line) => line.startsWith('address.proof')),
    ['address.proof pat@d.example operator:jo', 'address.proof-remove pat@d.example operator:jo'],
  );
});

test('what is stored is reported, also if the other NPIs of its addresses cannot be looked up', async () => {
  const entry = { directAddress: parseDirectAddress('late@d.example'), lastName: 'Li', zip: '98101' };
  const lines = ['address,last name,zip', 'late@d.example,Lee,98101'];
  const { schema } = storage.tables();
  await schema.alterTable('directory_source').renameTo('directory_away').execute();
  try {
    const text =
      'npi: blank, and whether the directory has an NPI for the address could not be looked up (PLATFORM_STORAGE_FAILED).';
    assert.deepEqual(await outcomes(lines), [true, `2 added ${text}`]);
    assert.deepEqual(await listHostedAddress({ storage, clock, audit }, entry, gazetteer), [text]);
  } finally {
    await schema.alterTable('directory_away').renameTo('directory_source').execute();
  }
  assert.deepEqual(await outcomes(lines), [true, '2 changed']);
});

test('rows that would pass the limit of their organization are named, in a dry run too', async () => {
  const organizations = createOrganizations({ storage, clock, vault, audit });
  await organizations.create({ id: 'small', name: 'Small', limits: { addresses: 2 } });
  await trust.addDomain('small.example', 'small');
  const file = ['a@small', 'b@small', 'c@small', 'x@d'].map((name) => `${name}.example,,no`);
  file.unshift('address,status,listed');
  const text =
    '4 refused address: Organization small may have 2 active addresses, and this would be one more.';
  const expected = ['2 added', '3 added', text, '5 added'];
  for (const options of [{}, { isDryRun: true }, { isDryRun: true, isRowByRow: true }])
    assert.deepEqual(await outcomes(file, options), [false, ...expected]);
  assert.deepEqual(await outcomes(file, { isRowByRow: true }), [true, ...expected]);
  // As one change an address may take the place of another that stands behind it.
  const swap = ['address,status,listed', 'c@small.example,,no', 'a@small.example,disabled,no'];
  assert.deepEqual((await outcomes(swap, { isRowByRow: true, isDryRun: true }))[1], text.replace('4', '2'));
  assert.deepEqual(await outcomes(swap), [true, '2 added', '3 changed']);
});

test('a name that the directory has otherwise for the NPI is warned of, and stored', async () => {
  const findNames = (npi: string) =>
    npi === '1234567893'
      ? [
          { directAddress: 'n2@d.example', firstName: 'Al', lastName: 'Other', organization: 'North' },
          { directAddress: 'x@e.example', firstName: 'Renée', lastName: 'García-Lee', organization: 'North' },
        ]
      : [];
  const file = [
    'address,first name,last name,organization,npi,zip',
    'n1@d.example,Ann,Garcia,,1234567893,98101',
    'n2@d.example,Ann,Smith,,1234567893,98101',
    'n3@d.example,,,Northern,1234567893,98101',
    'n4@d.example,,,South,1234567893,98101',
    'n5@d.example,Ann,Smith,,1245319599,98101',
    'n6@d.example,Ann,Smith,,,98101',
  ];
  const imported = await importAddresses(
    { storage, clock, audit, trust, gazetteer, findNames },
    Readable.from([Buffer.from(file.join('\r\n'))]),
    { isDryRun: true },
  );
  assert.deepEqual(
    imported.rows.map(({ outcome, text }) => `${outcome} ${text}`.trim()),
    [
      'added',
      'added npi: the directory has 1234567893 as Renée García-Lee.',
      'added',
      'added npi: the directory has 1234567893 as North.',
      'added',
      'added',
    ],
  );
});
