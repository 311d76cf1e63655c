import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { mkdir, mkdtemp, readdir, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { bareEnvironment, freePort } from '../../../test/support/processes.ts';
import { soaOf } from '../../../test/support/soa.ts';
import { insertDeadLetter, insertWebhook } from '../../../test/support/stored-rows.ts';
import { makeTlsCertificate } from '../../../test/support/tls-certificate.ts';
import { silentLog, systemClock, type Closable } from '../../core/index.ts';
import {
  certificateTypes,
  createDnsResolver,
  createDnsServer,
  createStaticZone,
  type DnsRecord,
  type DnsZone,
  type ListZones,
} from '../../lib/dns/index.ts';
import { createGuardedFetch } from '../../lib/fetch/index.ts';
import {
  createAuthority,
  createKeyPair,
  issueDirectCertificate,
  type Certificate,
  type KeyPair,
} from '../../lib/pki/index.ts';
import { parseDirectAddress } from '../../lib/values/index.ts';
import {
  loadConfig,
  loadMasterKey,
  openStorage,
  openVault,
  type AnyTransaction,
} from '../../platform/index.ts';
import { createAudit } from '../../service/audit/index.ts';
import { openInput } from '../../service/directory/index.ts';
import { createTrust, type AddKeyOptions, type Proofing, type Trust } from '../../service/trust/index.ts';
import { choosePort } from '../dev/ports.ts';
import { createHostedZones, startHisp, type Hisp } from '../server/index.ts';
import type { DoctorOptions } from './doctor-options.ts';
import { examineMail } from './examine-mail.ts';
import type { Finding } from './index.ts';

const domain = 'direct.example.org';
const mailHost = 'mx.direct.example.org';
const dayMs = 86_400_000;
const inDays = (days: number): Date => new Date(Date.now() + days * dayMs);

let folder: string;
let caKeys: KeyPair;
let authority: Certificate;
const closables: Closable[] = [];

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'openhisp-doctor-'));
  caKeys = await createKeyPair();
  authority = createAuthority({
    subject: [['CN', 'Test CA']],
    ...caKeys,
    notBefore: inDays(-10),
    notAfter: inDays(3000),
  });
});
after(async () => {
  for (const closable of closables.toReversed()) await closable.close();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

function keep<Part extends Closable>(part: Part): Part {
  closables.push(part);
  return part;
}

async function issue(boundTo: Parameters<typeof issueDirectCertificate>[0]['boundTo'], days: number) {
  const keys = await createKeyPair();
  const certificate = issueDirectCertificate({
    boundTo,
    publicKey: keys.publicKey,
    issuer: { certificate: authority, privateKey: caKeys.privateKey },
    notBefore: inDays(-5),
    notAfter: inDays(days),
  });
  return { certificate, keys };
}

async function importKey(
  trust: Trust,
  owner: string,
  days: number,
  options?: AddKeyOptions,
): Promise<string> {
  const { certificate, keys } = await issue(
    owner.includes('@') ? { address: parseDirectAddress(owner) } : { domain: owner },
    days,
  );
  return (await trust.addKeyPair(owner, certificate.der, keys.privateKey, options)).id;
}

/**
 * A name server that anybody may ask about the zones, as the world's resolver and as the servers of the zones
 * themselves.
 */
async function startDns(zones: () => Promise<readonly DnsZone[]>): Promise<number> {
  return keep(await createDnsServer({ host: '127.0.0.1', port: 0, zones })).port;
}

/** Answers SNTP (RFC 5905 §14) with this machine's time and an error. */
async function startTimeServer(errorSeconds: number, stratum = 2): Promise<number> {
  const socket = createSocket('udp4');
  socket.on('message', (query, peer) => {
    const answer = Buffer.alloc(48);
    answer[0] = 0x24;
    answer[1] = stratum;
    query.copy(answer, 24, 40, 48);
    const seconds = Date.now() / 1000 + errorSeconds + 2_208_988_800;
    for (const at of [32, 40]) {
      answer.writeUInt32BE(Math.floor(seconds), at);
      answer.writeUInt32BE(Math.floor((seconds % 1) * 2 ** 32), at + 4);
    }
    socket.send(answer, peer.port, peer.address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  keep({ close: async () => void socket.close() });
  return socket.address().port;
}

interface Report {
  readonly healthy: boolean;
  readonly findings: readonly Finding[];
}

/** Runs the command as its own process, like an operator next to the running server. */
async function doctor(
  dataDir: string,
  words: readonly string[],
  settings: Readonly<Record<string, string>> = {},
): Promise<{ status: number | null; out: string; errors: string }> {
  const cli = path.resolve(import.meta.dirname, '../cli/main.ts');
  const child = spawn(process.execPath, [cli, 'doctor', ...words], {
    env: bareEnvironment({ OPENHISP_DATA_DIR: dataDir, ...settings }),
  });
  let [out, errors] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const status = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { status, out, errors };
}

/** Findings that are not good, as `severity check subject`. */
const badOf = ({ findings }: Report): string[] =>
  findings
    // The free disk space of this machine is not a property of the program.
    .filter(({ check, severity }) => check !== 'disk' && (severity === 'warning' || severity === 'error'))
    .map(({ severity, check, subject }) => `${severity} ${check} ${subject}`)
    .sort();

describe('openhisp doctor on a set-up in order', () => {
  let hisp: Hisp;
  let dataDir: string;
  let listZones: ListZones = () => [];
  let ports: { readonly smtp: number; readonly dns: number; readonly time: number };
  const pem = makeTlsCertificate(mailHost, 400);
  const needsOpenssl = { skip: pem === undefined ? 'openssl is not installed' : false };

  const run = async (...words: string[]) => {
    const result = await doctor(dataDir, [
      ...words,
      '--json',
      '--smtp-port',
      String(ports.smtp),
      '--dns-port',
      String(ports.dns),
      '--time-server',
      `127.0.0.1:${ports.time}`,
    ]);
    return { ...result, report: JSON.parse(result.out) as Report };
  };

  const publish = (): void => {
    listZones = createHostedZones({
      trust: hisp.trust,
      mailHostname: mailHost,
      mailAddresses: ['127.0.0.1'],
    });
  };

  before(async () => {
    if (pem === undefined) return;
    dataDir = path.join(folder, 'good');
    const tlsFile = path.join(folder, 'mail.pem');
    await writeFile(tlsFile, pem, { mode: 0o600 });
    ports = {
      smtp: await choosePort(['127.0.0.1'], 0),
      dns: await startDns(async () => listZones()),
      time: await startTimeServer(0.2),
    };
    const settings = {
      'http.port': await choosePort(['127.0.0.1'], 0),
      'smtp.host': '0.0.0.0',
      'smtp.port': ports.smtp,
      'smtp.hostname': mailHost,
      'smtp.tlsKeyFile': tlsFile,
      'smtp.tlsCertificateFile': tlsFile,
      'dns.resolvers': `127.0.0.1:${ports.dns}`,
      'directory.searchThreads': 0,
    };
    // The command reads the same settings as the server, from the file.
    const file = path.join(dataDir, 'config.json');
    const nested: Record<string, Record<string, unknown>> = {};
    for (const [name, value] of Object.entries(settings)) {
      const [section = '', key = ''] = name.split('.');
      (nested[section] ??= {})[key] = name === 'dns.resolvers' ? [value] : value;
    }
    await mkdir(dataDir, { recursive: true });
    await writeFile(file, JSON.stringify(nested));
    hisp = keep(await startHisp({ config: loadConfig({}, file, { dataDir }), log: silentLog }));
    await hisp.trust.addDomain(domain);
    await importKey(hisp.trust, domain, 700);
    await hisp.trust.addAnchor(domain, authority.der);
    await hisp.trust.putAddress(parseDirectAddress(`desk@${domain}`));
    await hisp.oauth.clients.create({
      name: 'desk',
      scopes: ['messaging.api'],
      directAddresses: [`@${domain}`],
    });
    const csv = path.join(folder, 'directory.csv');
    await writeFile(csv, 'serv_direct_addr\none@d.example\n');
    await hisp.directory.importFiles({ files: await openInput(csv), kind: 'full' });
    publish();
  });

  it('finds nothing to do, lists its checks, and ends with 0', needsOpenssl, async () => {
    const { status, report, errors } = await run(domain);
    assert.deepEqual(badOf(report), [], errors);
    assert.equal(status, report.healthy ? 0 : 1);
    const examined = new Set(report.findings.map(({ check }) => check));
    assert.deepEqual([...examined].sort(), [
      'address',
      'anchor',
      'backup',
      'cert',
      'clock',
      'console',
      'database',
      'directory',
      'disk',
      'key',
      'listen',
      'mail',
      'mx',
      'ns',
      'sender',
      'smtp',
      'tls',
      'webhook',
    ]);
  });

  it('reports who can sign in to the console, and who cannot', needsOpenssl, async () => {
    const notes = async (): Promise<readonly string[]> =>
      (await run(domain)).report.findings
        .filter(({ check }) => check === 'console')
        .map(({ severity, text }) => `${severity}: ${text}`);
    const before = await notes();
    assert.match(before[0] ?? '', /^ok: The console answers at 127\.0\.0\.1 port \d+\.$|^warning: The pages/);
    assert.equal(before[1], 'note: Nobody with the role operator can sign in to the console.');
    const { store, links } = hisp.operators;
    const { id, name } = await store.create('Ann Lee', 'operator');
    assert.ok((await notes()).includes('note: No passkey and no link that is still good: Ann Lee.'));
    await links.create(id, name, 'enrol');
    assert.equal((await notes()).length, 1);
  });

  it('reports a key that expires soon, and no more when it is retired', needsOpenssl, async () => {
    const user = `desk@${domain}`;
    const id = await importKey(hisp.trust, user, 12);
    const { status, report } = await run();
    assert.equal(status, 1);
    assert.deepEqual(badOf(report), [`warning key ${domain}`]);
    const finding = report.findings.find(({ check, severity }) => check === 'key' && severity === 'warning');
    assert.match(finding?.text ?? '', /desk@direct\.example\.org .*expires on \d{4}-\d\d-\d\d/);
    assert.match(finding?.advice ?? '', /openhisp key renew desk@direct\.example\.org/);
    await hisp.trust.retireKeyPair(id);
    assert.deepEqual(badOf((await run()).report), []);
  });

  it('reports identity proofing that expires', needsOpenssl, async () => {
    const address = parseDirectAddress(`proofed@${domain}`);
    await hisp.trust.putAddress(address);
    const store = (proofing: Proofing | undefined) =>
      hisp.storage.transaction((tx: AnyTransaction) =>
        hisp.trust.storeProofingsIn(tx, [{ address, proofing }], false),
      );
    const proofing = { level: 'IAL2', method: 'remote', date: '2020-01-01', verifier: 'RA', reference: '' };
    const day = inDays(9).toISOString().slice(0, 10);
    await store({ ...proofing, expires: day });
    const finding = (await run()).report.findings.find(({ check }) => check === 'proofing');
    assert.match(
      `${finding?.severity} ${finding?.text}`,
      new RegExp(`^warning Identity proofing: 0 expired, 1 within 30 days: proofed@.* \\(${day}\\)`),
    );
    await store(undefined);
    await hisp.trust.putAddress(address, 'disabled');
    assert.deepEqual(badOf((await run()).report), []);
  });

  it('reports a key that waits for its certificate, and an overlap that ended', needsOpenssl, async () => {
    const { id } = await hisp.trust.requestKey(domain);
    const renewals = async () => (await run()).report.findings.filter(({ check }) => check === 'renewal');
    assert.match((await renewals())[0]?.text ?? '', /has waited 0 days for its certificate/);
    assert.deepEqual(badOf((await run()).report), [], 'it is new');
    await hisp.trust.discardKeyRequest(id);
    const user = `desk@${domain}`;
    const now = Date.now();
    const old = await importKey(hisp.trust, user, 90);
    const next = await importKey(hisp.trust, user, 100, {
      renewal: { signsFrom: new Date(now - 7_300_000), retiresAt: new Date(now - 7_200_000) },
    });
    const [ended, ...others] = await renewals();
    // A running server retires it within a minute; the doctor may come first.
    if (ended !== undefined)
      assert.match(`${ended.severity} ${ended.text}`, /^warning The overlap of .* ended on/);
    assert.deepEqual(others, []);
    await hisp.trust.retireReplaced();
    assert.deepEqual(await renewals(), []);
    const pairs = await hisp.trust.listKeyPairs(user);
    assert.equal(pairs.find((one) => one.id === old)?.status, 'retired');
    await hisp.trust.retireKeyPair(next);
  });

  it('refuses a domain that is not hosted', needsOpenssl, async () => {
    const { status, report } = await run('other.example');
    assert.equal(status, 1);
    assert.deepEqual(badOf(report), ['error domain other.example']);
  });

  it(
    'the readiness details and the metrics report what ends, without failing, and so does the doctor',
    needsOpenssl,
    async () => {
      await importKey(hisp.trust, `desk@${domain}`, 12);
      await hisp.storage
        .tables<{ directory_load: { finished_at: number } }>()
        .updateTable('directory_load')
        .set({ finished_at: inDays(-60).getTime() })
        .execute();
      await hisp.close();
      await writeFile(path.join(folder, 'mail.pem'), makeTlsCertificate(mailHost, 12) ?? '');
      const config = loadConfig({}, path.join(dataDir, 'config.json'), { dataDir });
      hisp = keep(await startHisp({ config, log: silentLog }));
      publish();
      const read = async (place: string) => (await fetch(hisp.baseUrl + place)).text();
      let ready = await read('/health/ready');
      // 503 until the directory is loaded; the keys are read at the same time.
      while (!ready.includes('"degraded"')) ready = await read('/health/ready');
      const { status, degraded } = JSON.parse(ready) as { status: string; degraded: unknown[] };
      assert.equal(status, 'OK');
      assert.match(
        JSON.stringify(degraded),
        /^\[\{"part":"keys","detail":"The key of desk@direct\.example\.org [^"]*"\},\{"part":"tls",[^}]*\}\]$/,
      );
      const metrics = await read('/metrics');
      assert.match(metrics, /^openhisp_key_expiry_days\{domain="direct\.example\.org"\} 11\.99/m);
      const value = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1]);
      assert.ok(value('openhisp_disk_free_bytes') > 0);
      assert.ok(value('openhisp_directory_age_seconds') > 0);
      for (const none of ['bundle_age_seconds', 'bundles_failing', 'webhooks_failing', 'mail_dead_letters'])
        assert.equal(value(`openhisp_${none}`), 0, none);
      const { report } = await run(domain);
      assert.deepEqual(badOf(report), [
        'warning directory ',
        `warning key ${domain}`,
        `warning tls ${domain}`,
      ]);
      const texts = report.findings.map(({ text }) => text).join('\n');
      assert.match(texts, /loaded 60 days ago/);
      assert.match(texts, /the TLS certificate expires on/);
    },
  );
});

it('tells resolvers that do not answer from a domain without a mail host', async () => {
  const examine = async (port: number) => {
    const dns = createDnsResolver({ servers: [{ host: '127.0.0.1', port }], timeoutMs: 500, attempts: 1 });
    const config = loadConfig({}, undefined, { dataDir: folder, 'smtp.hostname': mailHost });
    try {
      return await examineMail(domain, { dns, config } as unknown as DoctorOptions);
    } finally {
      await dns.close();
    }
  };
  const [unanswered] = await examine(await freePort());
  assert.match(unanswered?.text ?? '', /^The mail hosts cannot be looked up: DNS server 127\.0\.0\.1:\d+ /);
  assert.match(unanswered?.advice ?? '', /^Check the system's resolvers/);
  const zone = createStaticZone(domain, [soaOf(domain)]);
  const [without] = await examine(await startDns(async () => [zone]));
  assert.match(without?.text ?? '', /^No mail host has an address: direct\.example\.org has no mail host/);
  assert.match(without?.advice ?? '', /^Publish an MX record/);
});

describe('openhisp doctor on a broken set-up', () => {
  it('finds every planted fault, names the remedy for each, and ends with 1', async () => {
    const dataDir = path.join(folder, 'broken');
    const file = path.join(dataDir, 'openhisp.db');
    const storage = await openStorage({ file });
    await storage.migrate();
    const masterKey = loadMasterKey({ file: path.join(dataDir, 'master.key'), createsFile: true });
    const vault = await openVault({ storage, masterKey, clock: systemClock });
    const audit = createAudit({ storage, vault, clock: systemClock, log: silentLog });
    const trust = createTrust({ storage, vault, clock: systemClock, audit });
    // Trust: a key that ends, an address without one that is published, no outgoing anchor, a bundle that
    // cannot be fetched, no address.
    await trust.addDomain(domain);
    await importKey(trust, domain, 9);
    await trust.addAnchor(domain, authority.der, 'incoming');
    await trust.addBundle({ domain, url: 'http://127.0.0.1:1/bundle.p7b', direction: 'incoming' });
    const fetch = createGuardedFetch({ timeoutMs: 2000, maxBytes: 1000, allowPrivate: true });
    await trust.refreshBundles(fetch, silentLog);
    // Services: a webhook that fails, mail that waits for the operator, no directory.
    const now = Date.now();
    await insertWebhook(storage, {
      url: 'https://user:geheim@hooks.example/secret',
      created_at: now,
      failing_since: now - dayMs,
    });
    await insertDeadLetter(storage, { receivedMs: now, recipients: ['desk@direct.example.org'] });
    await audit.close();
    await storage.close();
    // DNS: a name server that does not answer, another mail host, a certificate that nobody here has the key
    // of.
    const foreign = await issue({ domain }, 100);
    const record = (name: string, type: DnsRecord['type'], data: unknown) =>
      ({ name, type, ttlSeconds: 60, data }) as DnsRecord;
    const zone = createStaticZone(domain, [
      soaOf(domain),
      record(domain, 'NS', `ns.${domain}`),
      record(domain, 'MX', { priority: 10, exchange: `old.${domain}` }),
      record(domain, 'CERT', {
        certificateType: certificateTypes.pkix,
        keyTag: 0,
        algorithm: 0,
        data: foreign.certificate.der,
      }),
      record(`ns.${domain}`, 'A', '127.0.0.1'),
      record(`old.${domain}`, 'A', '127.0.0.1'),
    ]);
    const dnsPort = await startDns(async () => [zone]);
    // Settings: the default name and loopback addresses, a proxy that is not trusted, and no server that
    // runs.
    await writeFile(
      path.join(dataDir, 'config.json'),
      JSON.stringify({
        http: { isBehindTlsProxy: true, port: 1 },
        smtp: { port: 1 },
        dns: { resolvers: [`127.0.0.1:${dnsPort}`], isServing: true, port: 1, timeoutMs: 500 },
        ldap: { isServing: true, port: 1 },
      }),
    );
    const flags = ['--smtp-port', '1', '--dns-port', '1', '--timeout', '1'];
    const time = ['--time-server', `127.0.0.1:${await startTimeServer(-300)}`];
    const { status, out } = await doctor(dataDir, [...flags, ...time, '--json']);
    const report = JSON.parse(out) as Report;
    assert.deepEqual([status, report.healthy], [1, false]);
    assert.deepEqual(badOf(report), [
      'error anchor direct.example.org',
      'error bundle direct.example.org',
      'error cert direct.example.org',
      'error cert direct.example.org',
      'error clock 127.0.0.1',
      'error listen dns',
      'error listen http',
      'error listen ldap',
      'error listen smtp',
      'error listen smtp.hostname',
      'error mail ',
      'error ns direct.example.org',
      'error smtp direct.example.org',
      'warning address direct.example.org',
      'warning key direct.example.org',
      'warning listen dns',
      'warning listen ldap',
      'warning listen smtp',
      'warning mx direct.example.org',
      'warning ns direct.example.org',
      'warning tls http',
      'warning webhook hook-1',
    ]);
    for (const { severity, advice, text } of report.findings) {
      assert.ok(severity === 'ok' || advice.length > 10, text);
      assert.doesNotMatch(`${text}${advice}`, /geheim|\/secret/);
    }
    const texts = report.findings.map(({ text }) => text).join('\n');
    for (const text of [
      /^The clock is (29|30)\d\.\d s fast\.$/m,
      /ns\.direct\.example\.org .* does not answer/,
      /MX is old\.direct/,
      /old\.direct.* cannot be reached/,
      /Not published in the DNS/,
      /Published without a key here/,
      /The key of direct\.example\.org .*expires on/,
      /No anchor for outgoing mail/,
      /was never fetched: /,
      /1 inbound messages failed/,
      /has failed since/,
      /ldap\.host is 127\.0\.0\.1: only this machine can reach it/,
      /Nothing answers at 127\.0\.0\.1 port 1: ECONNREFUSED/,
    ])
      assert.match(texts, text);
    const readable = await doctor(dataDir, [...flags, ...time]);
    assert.equal(readable.status, 1);
    assert.match(readable.out, /^ERROR {3}ns direct\.example\.org: .*\n {8}-> .*/m);
    assert.match(readable.out, /\n13 errors, 9 warnings, \d+ passed\.\n$/);
  });

  it('a time server that is unsynchronized or silent is a note and not a fault', async () => {
    const dataDir = path.join(folder, 'broken');
    const unsynchronized = `127.0.0.1:${await startTimeServer(900, 0)}`;
    for (const [server, words] of [
      [unsynchronized, /not synchronized/],
      ['127.0.0.1:1', /could not be compared/],
    ] as const) {
      const { out } = await doctor(dataDir, [
        '--json',
        '--timeout',
        '1',
        '--smtp-port',
        '1',
        '--time-server',
        server,
      ]);
      const clock = (JSON.parse(out) as Report).findings.find(({ check }) => check === 'clock');
      assert.equal(clock?.severity, 'note');
      assert.match(clock.text, words);
    }
  });

  it('a database that cannot be reached is not blamed on the files', async () => {
    const dataDir = path.join(folder, 'broken');
    const { status, out } = await doctor(dataDir, ['--json'], {
      OPENHISP_STORAGE_URL: 'postgres://nobody@127.0.0.1:1/none',
    });
    const [finding] = (JSON.parse(out) as Report).findings;
    assert.equal(status, 1);
    assert.match(finding?.text ?? '', /PostgreSQL unreachable/);
    assert.match(finding?.advice ?? '', /^Check that PostgreSQL runs and storage\.url names it/);
  });

  it('a folder without installation is reported and stays empty; a lost master key is reported and not replaced', async () => {
    const empty = path.join(folder, 'empty');
    await mkdir(empty);
    const nothing = await doctor(empty, ['--json']);
    assert.equal(nothing.status, 1);
    assert.deepEqual(badOf(JSON.parse(nothing.out) as Report), [`error installation ${empty}`]);
    assert.deepEqual(await readdir(empty), []);
    const broken = path.join(folder, 'broken');
    await unlink(path.join(broken, 'master.key'));
    const locked = await doctor(broken, ['--json']);
    assert.equal(locked.status, 1);
    assert.deepEqual(badOf(JSON.parse(locked.out) as Report), [`error installation ${broken}`]);
    assert.ok(!(await readdir(broken)).includes('master.key'));
  });
});
