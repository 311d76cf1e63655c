import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { runCommand } from '../../../test/support/run-command.ts';
import { publicKeyOfCsr } from '../../../test/support/public-key-of-csr.ts';
import {
  createAuthority,
  createKeyPair,
  formatPem,
  issueDirectCertificate,
  readPem,
  readPrivateKey,
} from '../../lib/pki/index.ts';
import { parseDirectAddress } from '../../lib/values/index.ts';
import { openStorage } from '../../platform/index.ts';
import { createPublicKey, type KeyObject } from 'node:crypto';
import { createCliContext } from './context.ts';
import { createProgram } from './create-program.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-trust-cli-'));
after(() => rmSync(folder, { recursive: true, maxRetries: 5 }));
const file = (name: string): string => path.join(folder, name);
const domain = 'direct.example.org';

const run = (words: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  runCommand({ OPENHISP_DATA_DIR: file('hisp'), OPENHISP_SMTP_HOSTNAME: 'mx.example.org', ...env }, words);

before(async () => {
  await run(['init']);
  await run(['domain', 'add', domain]);
});

function hasOpenssl(): boolean {
  try {
    execFileSync('openssl', ['version']);
    return true;
  } catch {
    return false;
  }
}

test('key csr makes a key that only its owner can read, and a request that OpenSSL verifies', async (t) => {
  const { out } = await run(['key', 'csr', domain, '--key', file('domain.key')]);
  assert.match(out, /^-----BEGIN CERTIFICATE REQUEST-----/);
  assert.equal(statSync(file('domain.key')).mode & 0o777, 0o600);
  const before = readFileSync(file('domain.key'));
  await assert.rejects(run(['key', 'csr', domain, '--key', file('domain.key')]), /EEXIST/);
  assert.deepEqual(readFileSync(file('domain.key')), before);
  await assert.rejects(run(['key', 'csr', 'no domain', '--key', file('other.key')]));
  // The request would replace the only copy of the key.
  const same = ['--key', file('same.key'), '--out', `${folder}/./same.key`];
  await assert.rejects(run(['key', 'csr', domain, ...same]), /--out and --key name the same file/);
  assert.ok(!existsSync(file('same.key')));
  await run(['key', 'csr', `dr@${domain}`, '--key', file('dr.key'), '--out', file('dr.csr')]);
  if (!hasOpenssl()) return t.skip('openssl is not installed');
  const show = (input: string): string =>
    execFileSync('openssl', ['req', '-verify', '-noout', '-text'], {
      input,
      encoding: 'utf8',
      stdio: ['pipe', 'pipe', 'ignore'],
    });
  const text = show(out);
  assert.match(text, /CN ?= ?direct\.example\.org/);
  assert.match(text, /DNS:direct\.example\.org/);
  assert.match(text, /Digital Signature, Key Encipherment/);
  assert.match(text, /E-mail Protection/);
  assert.match(show(readFileSync(file('dr.csr'), 'utf8')), /email:dr@direct\.example\.org/);
});

test('domain records prints the records of the zone, with the imported certificates', async () => {
  const bare = await run(['domain', 'records', domain]);
  assert.equal(bare.out, `${domain}. 300 IN MX 10 mx.example.org.\n`);
  assert.match(bare.note, /has no published certificate yet/);

  const keys = await createKeyPair({ curve: 'P-256' });
  const validity = {
    notBefore: new Date(Date.now() - 3_600_000),
    notAfter: new Date(Date.now() + 86_400_000),
  };
  const issuer = {
    certificate: createAuthority({ subject: [['CN', 'ca']], ...keys, ...validity }),
    privateKey: keys.privateKey,
  };
  const certificate = issueDirectCertificate({
    boundTo: { domain },
    publicKey: createPublicKey(readPrivateKey(readFileSync(file('domain.key')))),
    issuer,
    ...validity,
  });
  writeFileSync(file('domain.pem'), formatPem('CERTIFICATE', certificate.der));
  const { note } = await run([
    'key',
    'import',
    domain,
    '--cert',
    file('domain.pem'),
    '--key',
    file('domain.key'),
  ]);
  const day = validity.notAfter.toISOString().slice(0, 10);
  assert.match(
    note,
    new RegExp(`valid until ${day} only: get its successor from your CA before that\\.$`, 'm'),
  );
  const again = await run([
    'key',
    'import',
    domain.toUpperCase(),
    '--cert',
    file('domain.pem'),
    '--key',
    file('domain.key'),
  ]);
  assert.match(again.note, /It was imported before; nothing was changed\./);
  assert.equal((await run(['key', 'list', domain])).out.trimEnd().split('\n').length, 1);
  const { out } = await run(['domain', 'records', domain.toUpperCase()]);
  assert.equal(out.match(/ CERT /g)?.length, 1);
  assert.equal(
    out.split('\n')[1],
    `${domain}. 300 IN CERT 1 0 0 ${Buffer.from(certificate.der).toString('base64')}`,
  );
  const unnamed = await run(['domain', 'records', domain], { OPENHISP_SMTP_HOSTNAME: 'localhost' });
  assert.match(unnamed.out, /^\S+ 300 IN CERT [^\n]+\n$/, 'no record leads to localhost');
  assert.match(unnamed.note, /smtp\.hostname is localhost/);
  const inside = await run(['domain', 'records', domain], { OPENHISP_SMTP_HOST: '10.0.0.5' });
  assert.doesNotMatch(inside.out, / A /);
  const serving = await run(['domain', 'records', domain], { OPENHISP_DNS_IS_SERVING: 'true' });
  assert.equal(serving.out, `${domain}. 300 IN NS mx.example.org.\n`);
  await assert.rejects(run(['domain', 'records', 'other.example.org']), { code: 'TRUST_DOMAIN_UNKNOWN' });
});

test('directory contribute keeps an address out, and replaces the file only when the new one is whole', async () => {
  const owner = 'contribution.example.org';
  await run(['domain', 'add', owner]);
  await run(['address', 'add', `jo@${owner}`, '--organization', 'Clinic']);
  const out = file('contribution.csv');
  const first = await run([
    'directory',
    'contribute',
    '--out',
    out,
    '--report',
    file('contribution-report.csv'),
  ]);
  assert.match(
    first.out,
    /^jo@contribution\.example\.org\tleft-out\tMISSCERT\t.*\n0 written, 0 to be removed, 1 left out/,
  );
  assert.match(readFileSync(file('contribution-report.csv'), 'utf8'), /CHECK_FAIL_REASON.*\r\njo@.*MISSCERT/);
  await assert.rejects(
    run(['directory', 'contribute', '--opt-out', `typo@${owner}`]),
    /is not a hosted address/,
  );
  assert.match((await run(['directory', 'contribute', '--opt-out', `jo@${owner}`])).note, /kept out\./);
  assert.equal((await run(['directory', 'contribute', '--list-opt-outs'])).out, `jo@${owner}\n`);
  assert.match(
    (await run(['directory', 'contribute', '--out', out])).out,
    /^0 written, 0 to be removed, 0 left out/,
  );
  const before = readFileSync(out);
  await assert.rejects(
    run(['directory', 'contribute', '--out', out, '--report', file('contribution-report.csv')]),
    /EEXIST/,
  );
  assert.deepEqual(readFileSync(out), before);
  assert.ok(!existsSync(`${out}.part`));
});

test('address show prints the record of identity proofing that was imported', async () => {
  const owner = 'proofing.example.org';
  await run(['domain', 'add', owner]);
  writeFileSync(
    file('proofing.csv'),
    `address,proofing_level,proofing_method,proofing_date,proofing_verifier\njo@${owner},IAL2,remote,2025-07-01,RA\n`,
  );
  await run(['address', 'import', file('proofing.csv')]);
  assert.equal(
    (await run(['address', 'show', `JO@${owner}`])).out,
    `jo@${owner}\tactive\nproofing level\tIAL2\nproofing method\tremote\nproofing date\t2025-07-01\nproofing verifier\tRA\n`,
  );
  await assert.rejects(run(['address', 'show', `typo@${owner}`]), /is not a hosted address/);
});

test('key renew: requests for all that expire, their certificates, and the dates of the switch', async () => {
  const [first, second] = ['first.example.org', 'second.example.org'];
  const ca = await createKeyPair({ curve: 'P-256' });
  const inDays = (days: number): Date => new Date(Date.now() + days * 86_400_000);
  const dates = (days: number) => ({ notBefore: inDays(-1), notAfter: inDays(days) });
  const issuer = {
    certificate: createAuthority({ subject: [['CN', 'ca']], ...ca, ...dates(900) }),
    privateKey: ca.privateKey,
  };
  const write = (name: string, owner: string, publicKey: KeyObject, days: number): string => {
    const { der } = issueDirectCertificate({
      boundTo: owner.includes('@') ? { address: parseDirectAddress(owner) } : { domain: owner },
      publicKey,
      issuer,
      ...dates(days),
    });
    writeFileSync(file(name), formatPem('CERTIFICATE', der));
    return file(name);
  };
  const certify = (owner: string, folderName: string): string => {
    const csr = readPem(readFileSync(path.join(file(folderName), `${owner}.csr`), 'utf8'))[0];
    return write(`${owner}-next.pem`, owner, publicKeyOfCsr(csr?.der ?? Buffer.alloc(0)), 700);
  };
  for (const owner of [first, second]) {
    await run(['domain', 'add', owner]);
    const keys = await createKeyPair();
    writeFileSync(file('old.key'), keys.privateKey.export({ type: 'pkcs8', format: 'pem' }));
    const cert = write('old.pem', owner, keys.publicKey, 40);
    await run(['key', 'import', owner, '--cert', cert, '--key', file('old.key')]);
  }
  mkdirSync(file('requests'));
  const all = ['key', 'renew', '--expiring-within', '45', '--out', file('requests')];
  const made = await run(all);
  assert.deepEqual(
    made.out
      .split('\n')
      .map((line) => line.split('\t')[0])
      .filter((owner) => owner !== '' && owner !== domain && owner !== 'damaged.example.org'),
    [first, second],
  );
  assert.equal((await run(all)).out, made.out);
  const alone = await run(['key', 'renew', first]);
  assert.equal(alone.out, readFileSync(path.join(file('requests'), `${first}.csr`), 'utf8'));
  assert.match(
    (await run(['key', 'list', first])).note,
    /waits for its certificate: openhisp key renew first/,
  );

  const certificates = [certify(first, 'requests'), file('old.pem'), certify(second, 'requests')];
  const installed = await run(['key', 'renew', '--cert', ...certificates]);
  assert.equal(installed.out.match(/signs from/g)?.length, 2, installed.out);
  assert.match(installed.note, /old\.pem: No new key waits for this certificate/);
  assert.match(installed.note, /is retired at .* and still decrypts then\.$/m);
  assert.match(installed.note, /domain records second\.example\.org/);
  assert.equal((await run(['domain', 'records', first])).out.match(/ CERT /g)?.length, 2);
  const again = await run(['key', 'renew', first, '--cert', certificates[0] ?? '']);
  assert.match(again.note, /It was imported before; nothing was changed\./);
  const moved = await run(['key', 'renew', first, '--cert', certificates[0] ?? '', '--switch-at', '60d']);
  assert.match(moved.note, /It expires on .*, before the switch: from then on the new key signs\./);
  assert.match((await run(['key', 'list', first])).out, /active\t.*\tsigns from /);

  const renew = async (owner: string) => {
    const csr = readPem((await run(['key', 'renew', owner])).out)[0];
    const next = write('next.pem', owner, publicKeyOfCsr(csr?.der ?? Buffer.alloc(0)), 700);
    return run(['key', 'renew', owner, '--cert', next]);
  };
  assert.match(
    (await renew(`jo@${first}`)).note,
    /has no other active key of its own: until then the key of its domain signs\./,
  );
  const storage = await openStorage({ file: file('hisp/openhisp.db') });
  const pairs = storage.tables<{ key_pair: { owner: string; created_at: number } }>();
  await pairs.updateTable('key_pair').set({ created_at: 1 }).where('owner', '=', second).execute();
  await storage.close();
  const beside = await renew(second);
  assert.match(beside.out, /second\.example\.org\tsigns from /);
  assert.match(beside.note, /^key_pair .* not written by this service.*\n(?:.*\n)*The new key is stored\./m);

  const refused: readonly (readonly [words: readonly string[], text: RegExp])[] = [
    [[], /Name a domain or an address, or add --expiring-within/],
    [[first, '--expiring-within', '3'], /Name a domain or an address, or add/],
    [['--expiring-within', '3'], /needs --out FOLDER/],
    [['--expiring-within', 'soon', '--out', folder], /a number of days from 0/],
    [[first, '--switch-at', '2d'], /go with --cert/],
    [[first, '--out', file('x'), '--cert', file('old.pem')], /--cert imports certificates/],
    [[first, '--cert', file('old.pem'), '--overlap-days', '-1'], /--overlap-days is a number of days/],
    [[second, '--cert', certificates[0] ?? ''], /No new key of second\.example\.org waits/],
    [['unhosted.example'], /not a hosted domain/],
  ];
  for (const [words, text] of refused)
    await assert.rejects(
      run(['key', 'renew', ...words]).then(({ note }) => assert.fail(note)),
      text,
    );
});

test('a key whose stored pair is damaged can be imported again', async () => {
  const owner = 'damaged.example.org';
  await run(['domain', 'add', owner]);
  const keys = await createKeyPair({ curve: 'P-256' });
  const dates = { notBefore: new Date(Date.now() - 3_600_000), notAfter: new Date(Date.now() + 86_400_000) };
  const issuer = {
    certificate: createAuthority({ subject: [['CN', 'ca']], ...keys, ...dates }),
    privateKey: keys.privateKey,
  };
  const { der } = issueDirectCertificate({
    boundTo: { domain: owner },
    publicKey: keys.publicKey,
    issuer,
    ...dates,
  });
  writeFileSync(file('damaged.pem'), formatPem('CERTIFICATE', der));
  writeFileSync(file('damaged.key'), keys.privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const words = ['key', 'import', owner, '--cert', file('damaged.pem'), '--key', file('damaged.key')];
  const first = await run(words);
  const storage = await openStorage({ file: file('hisp/openhisp.db') });
  try {
    const { numUpdatedRows } = await storage
      .tables<{ key_pair: { owner: string; sealed_private_key: Uint8Array } }>()
      .updateTable('key_pair')
      .set({ sealed_private_key: Buffer.alloc(64) })
      .where('owner', '=', owner)
      .executeTakeFirst();
    assert.equal(numUpdatedRows, 1n);
  } finally {
    await storage.close();
  }
  const second = await run(words);
  assert.notEqual(second.out.split('\t')[0], first.out.split('\t')[0]);
  assert.doesNotMatch(second.note, /imported before/);
  const third = await run(words);
  assert.equal(third.out, second.out);
  assert.match(third.note, /It was imported before; nothing was changed\./);
});

test('the help of bundle add names the range of --refresh-hours', async () => {
  const context = createCliContext({ env: {}, stdout: process.stdout, stderr: process.stderr });
  const program = await createProgram(context, {}, 'bundle');
  const help =
    program.commands[0]?.commands.find((command) => command.name() === 'add')?.helpInformation() ?? '';
  assert.match(help.replaceAll(/\s+/g, ' '), /--refresh-hours <hours> hours between fetches, 0\.1 to 720 /);
});

test('an anchor that ends soon is said to when it is added, and the list has the dates', async () => {
  const keys = await createKeyPair();
  const pemOf = (name: string, days: number): string => {
    const certificate = createAuthority({
      subject: [['CN', name]],
      ...keys,
      notBefore: new Date(Date.now() - 86_400_000),
      notAfter: new Date(Date.now() + days * 86_400_000),
    });
    writeFileSync(file(`${name}.pem`), formatPem('CERTIFICATE', certificate.der));
    return file(`${name}.pem`);
  };
  const ending = await run(['anchor', 'add', domain, pemOf('Ending', 9)]);
  assert.match(
    ending.note,
    /CN=Ending is valid until \d{4}-\d\d-\d\d only: ask the partner for its successor\./,
  );
  const lasting = await run(['anchor', 'add', domain, pemOf('Lasting', 900)]);
  assert.doesNotMatch(lasting.note, /valid until|not the certificate of a CA/);
  const leaf = await run(['anchor', 'add', domain, file('domain.pem')]);
  assert.match(
    leaf.note,
    /is not the certificate of a CA \(basicConstraints\): nothing that it has signed is trusted/,
  );
  await run(['anchor', 'remove', leaf.out.trim()]);
  const { out } = await run(['anchor', 'list', domain]);
  assert.match(out, /\tCN=Ending\tuntil \d{4}-\d\d-\d\d\n.*\tCN=Lasting\tuntil \d{4}-\d\d-\d\d\n$/);
});

test('every list is JSON with --json, without key material', async () => {
  const list = async (...words: string[]) =>
    JSON.parse((await run([...words, '--json'])).out) as readonly Record<string, unknown>[];
  assert.ok(((await list('domain', 'list')) as unknown[]).includes(domain));
  const [pair] = await list('key', 'list', domain);
  assert.deepEqual(Object.keys(pair ?? {}), [
    'id',
    'status',
    'subject',
    'fingerprint',
    'notBefore',
    'notAfter',
  ]);
  const anchors = await list('anchor', 'list', domain);
  assert.deepEqual(
    anchors.map(({ direction, subject }) => [direction, subject]),
    [
      ['both', 'CN=Ending'],
      ['both', 'CN=Lasting'],
    ],
  );
  const url = 'https://bundles.example.org/anchors.p7b';
  await run(['bundle', 'add', domain, url]);
  const [bundle] = await list('bundle', 'list');
  assert.deepEqual([bundle?.['url'], bundle?.['anchorCount'], bundle?.['lastError']], [url, 0, '']);
  await run(['address', 'add', `lee@${domain}`]);
  assert.deepEqual(await list('address', 'list', domain), [{ address: `lee@${domain}`, status: 'active' }]);
});

test('a list of a domain that is not hosted is an error, not empty', async () => {
  for (const words of [
    ['key', 'list', 'other.example'],
    ['key', 'list', 'dr@other.example'],
    ['anchor', 'list', 'other.example'],
    ['address', 'list', 'other.example'],
  ])
    await assert.rejects(run(words), { code: 'TRUST_DOMAIN_UNKNOWN' }, words.join(' '));
});

test('domain remove shows what ends, and removes it with --yes once nothing is in the way', async () => {
  const ending = 'direct.ending.example';
  await run(['domain', 'add', ending]);
  await run(['address', 'add', `lee@${ending}`]);
  const shown = await run(['domain', 'remove', ending]);
  assert.match(shown.out, /^addresses\t1, 1 active\tend, with their directory entries$/m);
  assert.match(shown.note, /1 address .* can still send and receive.*openhisp domain disable direct\.ending/);
  assert.match(shown.note, /cannot be removed now/);
  await assert.rejects(run(['domain', 'remove', ending, '--yes']), { code: 'TRUST_DOMAIN_IN_USE' });
  assert.equal((await run(['domain', 'disable', ending.toUpperCase()])).out.trim(), `lee@${ending}`);
  assert.match(
    (await run(['domain', 'remove', ending])).note,
    /Nothing was changed.*remove direct\.ending\.example --yes/,
  );
  assert.match((await run(['domain', 'list'])).out, /ending/);
  await run(['domain', 'remove', ending, '--yes']);
  assert.doesNotMatch((await run(['domain', 'list'])).out, /ending/);
  await assert.rejects(run(['domain', 'remove', ending]), { code: 'TRUST_DOMAIN_UNKNOWN' });
});

test('address disable refuses an address that is not hosted: it may be misspelt', async () => {
  const address = `pat@${domain}`;
  await run(['address', 'add', address]);
  await assert.rejects(
    run(['address', 'disable', `pta@${domain}`]),
    /pta@direct\.example\.org is not a hosted address\. List the addresses: openhisp address list direct\.example\.org\./,
  );
  await assert.rejects(run(['address', 'disable', 'pat@other.example']), { code: 'TRUST_DOMAIN_UNKNOWN' });
  const list = async () => (await run(['address', 'list', domain])).out;
  assert.doesNotMatch(await list(), /pta@|disabled/);
  await run(['address', 'disable', address.toUpperCase()]);
  assert.match(await list(), /^pat@\S+\tdisabled$/im);
});

test('address add says which values it changed or left out', async () => {
  const noteOf = async (...options: string[]) =>
    (await run(['address', 'add', `sam@${domain}`, '--last-name', 'Lee', ...options])).note;
  const fine = await noteOf(
    '--zip',
    '02139',
    '--state',
    'MA',
    '--phone',
    '6175550100',
    '--npi',
    '1234567893',
  );
  assert.doesNotMatch(fine, /ZIP|NPI|telephone|state|place/);
  for (const [options, warning] of [
    [['--zip', '213'], /The ZIP code is not .* and was left out\./],
    [['--zip', '2139', '--state', 'MA'], /The ZIP code had lost leading zeros/],
    [['--zip', '02139', '--state', 'CA'], /The ZIP code lies in another state\./],
    [['--state', 'Q'], /Unknown state\./],
    [['--npi', '1234567890'], /The NPI fails its check digit/],
  ] as const)
    assert.match(await noteOf(...options), warning);
});
