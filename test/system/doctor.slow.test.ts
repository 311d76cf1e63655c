/**
 * `openhisp domain records` and `openhisp doctor` next to a running server, with a real BIND as the world's DNS: content with what the
 * one prints, and finding every fault that is planted.
 */
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { insertDeadLetter, insertWebhook } from '../support/stored-rows.ts';
import { choosePort } from '../../src/app/dev/index.ts';
import type { Finding } from '../../src/app/doctor/index.ts';
import { startHisp, type Hisp } from '../../src/app/server/index.ts';
import { silentLog } from '../../src/core/index.ts';
import {
  createAuthority,
  createKeyPair,
  issueDirectCertificate,
  type Certificate,
} from '../../src/lib/pki/index.ts';
import { findDirectAddress, parseDirectAddress } from '../../src/lib/values/index.ts';
import { loadConfig } from '../../src/platform/index.ts';
import { openInput } from '../../src/service/directory/index.ts';
import { startNamed, type RunningServer } from '../support/named.ts';
import {
  createTemporaryFolder,
  needsPrograms,
  runProgram,
  type TemporaryFolder,
} from '../support/processes.ts';
import { makeTlsCertificate } from '../support/tls-certificate.ts';

const domain = 'direct.example.org';
const mailHost = `mx.${domain}`;
/** Characters that mean something in a zone file. */
const oddAddress = `o'neil+$x@${domain}`;
const dayMs = 86_400_000;
const cli = path.resolve(import.meta.dirname, '../../src/app/cli/main.ts');
const inDays = (days: number): Date => new Date(Date.now() + days * dayMs);

interface Settings {
  readonly [section: string]: Readonly<Record<string, unknown>>;
}

describe('the doctor and a real BIND', needsPrograms('named', 'openssl'), () => {
  let folder: TemporaryFolder;
  let hisp: Hisp;
  let authority: Certificate;
  let caKey: Awaited<ReturnType<typeof createKeyPair>>;
  let smtpPort: number;
  let dnsPort: number;
  let timePort: number;
  let clockErrorSeconds = 0;
  const timeServer = createSocket('udp4');
  const file = (name: string): string => path.join(folder.path, name);

  before(async () => {
    folder = await createTemporaryFolder('doctor');
    caKey = await createKeyPair();
    authority = createAuthority({
      subject: [['CN', 'Test CA']],
      ...caKey,
      notBefore: inDays(-10),
      notAfter: inDays(3000),
    });
    await writeFile(file('mail.pem'), makeTlsCertificate(mailHost, 400) ?? '', { mode: 0o600 });
    timePort = await startTimeServer();
    [smtpPort, dnsPort] = [await choosePort(['127.0.0.1'], 0), 0];
    await start({});
    await hisp.trust.addDomain(domain);
    await hisp.oauth.clients.create({
      name: 'Clinic',
      scopes: ['messaging.api'],
      directAddresses: [`@${domain}`],
    });
    for (const address of [`desk@${domain}`, oddAddress])
      await hisp.trust.putAddress(parseDirectAddress(address));
    await importKey(domain, 700);
    await importKey(oddAddress, 700);
    await hisp.trust.addAnchor(domain, authority.der);
    await writeFile(file('directory.csv'), 'serv_direct_addr\none@d.example\n');
    await hisp.directory.importFiles({ files: await openInput(file('directory.csv')), kind: 'full' });
  });
  after(async () => {
    await hisp?.close();
    timeServer.close();
    await folder?.remove();
  });

  /** Answers SNTP (RFC 5905 §14) with this machine's time and the error of the test. */
  async function startTimeServer(): Promise<number> {
    timeServer.on('message', (query, peer) => {
      const answer = Buffer.alloc(48);
      answer.set([0x24, 2]);
      query.copy(answer, 24, 40, 48);
      const seconds = Date.now() / 1000 + clockErrorSeconds + 2_208_988_800;
      for (const at of [32, 40]) {
        answer.writeUInt32BE(Math.floor(seconds), at);
        answer.writeUInt32BE(Math.floor((seconds % 1) * 2 ** 32), at + 4);
      }
      timeServer.send(answer, peer.port, peer.address);
    });
    await new Promise<void>((resolve) => timeServer.bind(0, '127.0.0.1', resolve));
    return timeServer.address().port;
  }

  /** Starts the server with a configuration file, which the commands read as well. */
  async function start(more: Settings): Promise<void> {
    await hisp?.close();
    const settings: Record<string, Readonly<Record<string, unknown>>> = {
      http: { port: await choosePort(['127.0.0.1'], 0) },
      smtp: {
        host: '127.0.0.1',
        isBehindRelay: true,
        port: smtpPort,
        hostname: mailHost,
        publicAddresses: ['127.0.0.1'],
        tlsKeyFile: file('mail.pem'),
        tlsCertificateFile: file('mail.pem'),
        ...more['smtp'],
      },
      dns: { resolvers: [`127.0.0.1:${dnsPort || 1}`], timeoutMs: 500 },
      directory: { searchThreads: 0 },
      ldap: { ...more['ldap'] },
    };
    await mkdir(file('data'), { recursive: true });
    await writeFile(file('data/config.json'), JSON.stringify(settings));
    const config = loadConfig({}, file('data/config.json'), { dataDir: file('data') });
    hisp = await startHisp({ config, log: silentLog });
  }

  async function importKey(owner: string, days: number): Promise<Certificate> {
    const keys = await createKeyPair();
    const address = findDirectAddress(owner);
    const certificate = issueDirectCertificate({
      boundTo: address === undefined ? { domain: owner } : { address },
      publicKey: keys.publicKey,
      issuer: { certificate: authority, privateKey: caKey.privateKey },
      notBefore: inDays(-5),
      notAfter: inDays(days),
    });
    await hisp.trust.addKeyPair(owner, certificate.der, keys.privateKey);
    return certificate;
  }

  async function run(...words: readonly string[]): Promise<{ status: number | null; stdout: string }> {
    const { status, stdout } = await runProgram(process.execPath, [
      cli,
      '--data-dir',
      file('data'),
      ...words,
    ]);
    return { status, stdout: stdout.toString() };
  }

  async function examine(named: RunningServer, ...words: readonly string[]) {
    const ports = ['--smtp-port', String(smtpPort), '--dns-port', String(named.port)];
    const time = ['--time-server', `127.0.0.1:${timePort}`];
    return run('doctor', domain, '--timeout', '3', ...ports, ...time, ...words);
  }

  async function withNamed(
    lines: readonly string[],
    settings: Settings,
    work: (named: RunningServer) => Promise<void>,
  ): Promise<void> {
    const named = await startNamed([{ name: domain, lines }]);
    try {
      dnsPort = named.port;
      await start(settings);
      await work(named);
    } finally {
      await named.stop();
    }
  }

  async function printRecords(): Promise<readonly string[]> {
    const { status, stdout } = await run('domain', 'records', domain);
    assert.equal(status, 0);
    return stdout.trimEnd().split('\n');
  }

  /** The free disk space of this machine is not a property of the program. */
  const badOf = (findings: readonly Finding[]): readonly Finding[] =>
    findings.filter(
      ({ check, severity }) => check !== 'disk' && (severity === 'warning' || severity === 'error'),
    );

  test('BIND loads the output of "domain records", and the doctor finds nothing to do', async () => {
    const records = await printRecords();
    assert.deepEqual(
      records.map((line) => line.split(' ').slice(0, 5).join(' ').slice(0, 60)),
      [
        `${domain}. 300 IN MX 10`,
        `${mailHost}. 300 IN A 127.0.0.1`,
        `${domain}. 300 IN CERT 1`,
        String.raw`o\'neil\+\$x.${domain}. 300 IN CERT 1`,
      ],
    );
    await withNamed(records, {}, async (named) => {
      const { status, stdout } = await examine(named, '--json');
      const { findings } = JSON.parse(stdout) as { findings: readonly Finding[] };
      assert.deepEqual(badOf(findings), [], named.output());
      assert.equal(status, findings.some(({ severity }) => /warning|error/.test(severity)) ? 1 : 0);
      const certificates = findings.filter(({ check }) => check === 'cert').map(({ subject }) => subject);
      assert.deepEqual(certificates, [domain, oddAddress]);
    });
  });

  test('finds each of 15 planted faults, and names the remedy', async () => {
    const records = await printRecords();
    const own = records.find((line) => line.startsWith(`${domain}. 300 IN CERT`));
    const foreign = await createKeyPair();
    const { der } = issueDirectCertificate({
      boundTo: { domain },
      publicKey: foreign.publicKey,
      issuer: { certificate: authority, privateKey: caKey.privateKey },
      notBefore: inDays(-5),
      notAfter: inDays(100),
    });
    await plantInDatabase();
    await writeFile(file('mail.pem'), makeTlsCertificate(mailHost, 12) ?? '', { mode: 0o600 });
    clockErrorSeconds = 300;
    const zone = [
      ...records.filter((line) => line !== own),
      `@ IN CERT PKIX 0 0 ${Buffer.from(der).toString('base64')}`,
      '@ IN NS ns2',
      'ns2 IN A 127.0.0.2',
      '@ IN MX 20 old',
      'old IN A 127.0.0.3',
    ];
    const settings = {
      ldap: { isServing: true, port: await choosePort(['127.0.0.1'], 0) },
      smtp: { relayHost: '127.0.0.1', relayPort: 1 },
    };
    await withNamed(zone, settings, async (named) => {
      const planted: readonly (readonly [fault: string, finding: string, text: RegExp])[] = [
        [
          'a second name server is silent',
          `error ns ${domain}`,
          /ns2\.direct\.example\.org .* does not answer/,
        ],
        ['MX names an old host, too', `warning mx ${domain}`, /MX is mx\.direct.*, old\.direct/],
        ['that host is down', `error smtp ${domain}`, /old\.direct.* cannot be reached/],
        ['the active certificate is not published', `error cert ${domain}`, /Not published in the DNS/],
        ['another one is', `error cert ${domain}`, /Published without a key here/],
        ['TLS of the mail server ends soon', `warning tls ${domain}`, /the TLS certificate expires on/],
        ['a key ends soon', `warning key ${domain}`, /desk@direct\.example\.org .*expires on/],
        ['no anchor for outgoing mail', `error anchor ${domain}`, /No anchor for outgoing mail/],
        ['a bundle cannot be fetched', `error bundle ${domain}`, /was never fetched: /],
        ['the clock is wrong', 'error clock 127.0.0.1', /The clock is (?:29|30)\d\.\d s slow/],
        ['LDAP listens on loopback', 'warning listen ldap', /only this machine can reach it/],
        ['the smart host is down', 'error relay 127.0.0.1', /No mail can be sent/],
        ['the directory is old', 'warning directory ', /loaded 60 days ago/],
        ['a webhook fails', 'warning webhook hook-1', /has failed since/],
        ['mail is dead-lettered', 'error mail ', /1 inbound messages failed/],
      ];
      const { status, stdout } = await examine(named, '--json');
      assert.equal(status, 1);
      const { findings } = JSON.parse(stdout) as { findings: readonly Finding[] };
      const bad = badOf(findings);
      for (const [fault, finding, text] of planted)
        assert.ok(
          bad.some((one) => `${one.severity} ${one.check} ${one.subject}` === finding && text.test(one.text)),
          `${fault}:\n${JSON.stringify(bad, undefined, 1)}`,
        );
      // The key that was planted for an address is not in the zone either.
      assert.deepEqual(
        bad
          .filter((one) => !planted.some(([, , text]) => text.test(one.text)))
          .map(({ check, subject }) => `${check} ${subject}`),
        [],
      );
      for (const { advice, text } of bad) assert.ok(advice.length > 10, text);
      const readable = await examine(named);
      assert.equal(readable.status, 1);
      if (process.env['OPENHISP_SHOW_REPORT'] !== undefined) console.log(readable.stdout);
      assert.equal(readable.stdout.match(/^ {8}-> /gm)?.length ?? 0, bad.length + countNotes(findings));
    });
  });

  const countNotes = (findings: readonly Finding[]): number =>
    findings.filter(
      ({ severity, check, advice }) =>
        (severity === 'note' || (check === 'disk' && severity !== 'ok')) && advice !== '',
    ).length;

  async function plantInDatabase(): Promise<void> {
    const { trust, storage } = hisp;
    await importKey(`desk@${domain}`, 9);
    for (const { id } of await trust.listAnchors(domain)) await trust.removeAnchor(id);
    await trust.addAnchor(domain, authority.der, 'incoming');
    await trust.addBundle({ domain, url: 'http://127.0.0.1:1/bundle.p7b', direction: 'incoming' });
    await storage
      .tables<{ trust_bundle: { last_error: string } }>()
      .updateTable('trust_bundle')
      .set({ last_error: 'connection refused' })
      .execute();
    await storage
      .tables<{ directory_load: { finished_at: number } }>()
      .updateTable('directory_load')
      .set({ finished_at: inDays(-60).getTime() })
      .execute();
    const now = Date.now();
    await insertWebhook(storage, { created_at: now, failing_since: now - dayMs });
    await insertDeadLetter(storage, { receivedMs: now, recipients: [] });
  }
});
