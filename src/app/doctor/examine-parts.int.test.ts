/** Checks of the doctor that need no server. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { isPostgres, openTestStorage } from '../../../test/support/storage.ts';
import { openAuthority } from '../dev/index.ts';
import { makeTlsCertificate } from '../../../test/support/tls-certificate.ts';
import { createManualClock, silentLog, systemClock } from '../../core/index.ts';
import { createDnsResolver, createDnsServer, createStaticZone, type DnsRecord } from '../../lib/dns/index.ts';
import { createAuthority, createKeyPair } from '../../lib/pki/index.ts';
import { createVault, loadConfig } from '../../platform/index.ts';
import { createAudit } from '../../service/audit/index.ts';
import { scheduleSource } from '../../service/directory/index.ts';
import type { AnchorEntry } from '../../service/trust/index.ts';
import type { DoctorOptions } from './doctor-options.ts';
import { examineDomain } from './examine.ts';
import { examineMachine } from './examine-machine.ts';
import { examineSender } from './examine-sender.ts';
import { examineServices } from './examine-services.ts';
import { examineTrust } from './examine-trust.ts';
import type { Finding } from './findings.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-examine-'));
after(() => rmSync(folder, { recursive: true, maxRetries: 5 }));

async function examine(
  settings: Readonly<Record<string, string>>,
  check: (options: DoctorOptions) => Promise<readonly Finding[]>,
  more: object = {},
): Promise<readonly Finding[]> {
  const storage = await openTestStorage();
  try {
    const config = loadConfig({}, undefined, { dataDir: folder, ...settings });
    return await check({ config, storage, clock: systemClock, ...more } as unknown as DoctorOptions);
  } finally {
    await storage.close();
  }
}

test('a disk with less room than the service requires is an error: mail is refused already', async () => {
  const disk = async (minFreeDiskBytes: string) =>
    (await examine({ 'admission.minFreeDiskBytes': minFreeDiskBytes }, examineMachine)).filter(
      ({ check }) => check === 'disk',
    );
  const [low] = await disk('1000000000000');
  assert.equal(low?.severity, 'error');
  assert.match(low.text, /^\d+\.\d GB free of \d+\.\d GB\. Mail and sends are refused\.$/);
  assert.equal(low.advice, 'Free disk space: admission.minFreeDiskBytes requires 1000.0 GB.');
  assert.doesNotMatch((await disk('0'))[0]?.text ?? '', /are refused/);
});

test('the disk of a database in another folder is examined, too', async () => {
  const findings = await examine({ 'storage.file': path.join(tmpdir(), 'x.db') }, examineMachine);
  assert.deepEqual(
    findings.filter(({ check }) => check === 'disk').map(({ subject }) => subject),
    [folder, tmpdir()],
  );
});

test(
  'a connection to PostgreSQL on another machine is a warning unless it is encrypted',
  { skip: isPostgres ? false : 'concerns PostgreSQL' },
  async () => {
    // The test's server is asked, which has no TLS; the host is the setting's.
    const look = async (url: string) =>
      (await examine({ 'storage.url': url }, examineMachine))
        .filter(({ check }) => check === 'database')
        .map(({ severity, text }) => `${severity}: ${text}`);
    const [remote] = await look('postgres://openhisp@db.example.org:5432/openhisp');
    assert.match(remote ?? '', /^warning: The connection to db\.example\.org is not encrypted/);
    for (const local of [
      '127.0.0.1',
      'localhost',
      '[::1]:5432',
      '%2Fvar%2Frun%2Fpostgresql',
      'x/openhisp?host=/run&x=',
    ])
      assert.deepEqual(await look(`postgres://openhisp@${local}/openhisp`), [
        'ok: It responds and is writable.',
      ]);
  },
);

const pem = makeTlsCertificate('console.example.org', 12);

test('the certificate of the console is examined', async () => {
  const file = path.join(folder, 'console.pem');
  writeFileSync(file, pem);
  const settings = {
    'console.tlsKeyFile': file,
    'console.tlsCertificateFile': file,
    'console.publicUrl': 'https://console.example.org',
  };
  const [tls] = (await examine(settings, examineMachine)).filter(({ check }) => check === 'tls');
  assert.deepEqual([tls?.subject, tls?.severity], ['console', 'warning']);
  assert.match(tls?.text ?? '', /^The certificate of the console expires on /);
});

test('a certificate of the API that clients refuse is an error: self-signed, or for another name', async () => {
  const authority = await openAuthority({
    folder,
    name: 'public',
    baseUrl: 'http://127.0.0.1:1',
    clock: systemClock,
  });
  const issued = await authority.issueServer();
  const file = path.join(folder, 'api.pem');
  const look = async (content: string, publicUrl: string): Promise<string> => {
    writeFileSync(file, content);
    const settings = {
      'http.tlsKeyFile': file,
      'http.tlsCertificateFile': file,
      'http.publicUrl': publicUrl,
    };
    const [tls] = (await examine(settings, examineMachine)).filter(({ check }) => check === 'tls');
    return `${tls?.subject} ${tls?.severity}: ${tls?.text}`;
  };
  assert.equal(
    await look(pem, 'https://console.example.org'),
    'http error: The certificate of the API is self-signed: clients refuse it.',
  );
  const good = `${issued.key}\n${issued.certificate}`;
  assert.equal(
    await look(good, 'https://hisp.example.org'),
    'http error: The certificate of the API is not for hisp.example.org of http.publicUrl: clients refuse it.',
  );
  for (const name of ['localhost', '127.0.0.1'])
    assert.match(await look(good, `https://${name}`), /^http ok: The certificate of the API is valid until/);
});

test('a source that has a schedule and was never loaded is reported with the reason', async () => {
  const file = path.join(folder, 'later.csv');
  const findings = await examine({}, async (options) => {
    const at = { storage: options.storage, clock: systemClock, audit: { recordIn: async () => {} } };
    await scheduleSource(at as unknown as Parameters<typeof scheduleSource>[0], 'partner', {
      path: file,
      everyMs: 60_000,
    });
    const missing = await examineServices(options);
    writeFileSync(file, 'serv_direct_addr\n');
    const present = await examineServices(options);
    await options.storage
      .tables<{ directory_source: { schedule_failure: string } }>()
      .updateTable('directory_source')
      .set({ schedule_failure: 'The file ends within line 7' })
      .execute();
    return [...missing, ...present, ...(await examineServices(options))].filter(
      ({ check }) => check === 'directory',
    );
  });
  assert.deepEqual(
    findings.map(({ subject, severity, text }) => [subject, severity, text]),
    [
      ['partner', 'warning', `Nothing is loaded: ${file}, which is scheduled, is not on this machine.`],
      ['partner', 'note', `${file} is scheduled and not loaded yet.`],
      ['partner', 'error', 'Nothing is loaded: the scheduled load failed: The file ends within line 7'],
    ],
  );
});

test('the last backup is examined: a note before the first, then ok, then a warning', async () => {
  const storage = await openTestStorage();
  const clock = createManualClock(new Date('2026-06-01T00:00:00Z'));
  const audit = createAudit({ storage, vault: createVault(Buffer.alloc(32, 1)), clock, log: silentLog });
  try {
    const look = async (settings: Readonly<Record<string, string>> = {}) =>
      (await examine(settings, (options) => examineServices({ ...options, storage, clock })))
        .filter(({ check }) => check === 'backup')
        .map(({ severity, text }) => `${severity}: ${text}`);
    await audit.recordNow({ action: 'installation.create', outcome: 'ok' });
    assert.deepEqual(await look(), ['note: The database has never been backed up.']);
    await audit.recordNow({ action: 'backup.write', outcome: 'ok' });
    assert.deepEqual(await look(), ['ok: The last backup of the database was made less than a day ago.']);
    clock.advance(4 * 86_400_000);
    assert.deepEqual(await look(), ['warning: The last backup of the database was made 4 days ago.']);
    assert.deepEqual(await look({ 'storage.backupWarningDays': '0' }), []);
  } finally {
    await audit.close();
    await storage.close();
  }
});

test('an anchor of a bundle that ends is the publisher’s to replace', async () => {
  const keys = await createKeyPair();
  const certificate = createAuthority({
    subject: [['CN', 'Old CA']],
    ...keys,
    notBefore: new Date(Date.now() - 86_400_000),
    notAfter: new Date(Date.now() + 5 * 86_400_000),
  });
  const entry: Omit<AnchorEntry, 'bundleId'> = {
    id: 'a1',
    domain: 'd.example',
    direction: 'both',
    certificate,
    createdAt: new Date(),
  };
  const trust = {
    findKeyDates: async () => [],
    listAddresses: async () => [],
    findForwardings: async () => new Map(),
    findExpiringProofings: async () => [],
    listKeyRequests: async () => [],
    listDomainKeys: async () => [],
    listBundles: async () => [],
    findAnchors: async () => [certificate],
    listAnchors: async () => [
      { ...entry, bundleId: '' },
      { ...entry, bundleId: 'b1' },
    ],
  };
  const clients = { findOwned: async () => new Set<string>() };
  const found = (
    await examine({}, (options) => examineTrust('d.example', options), { trust, clients })
  ).filter(({ check }) => check === 'anchor');
  assert.deepEqual(
    found.map(({ severity, advice }) => [severity, advice]),
    [
      ['warning', 'Add its successor, then: openhisp anchor remove a1'],
      ['note', 'It is part of a bundle, whose publisher replaces it: openhisp bundle list'],
    ],
  );
});

test('of a domain out of use nothing is examined, so nothing asks for its renewal', async () => {
  const trust = {
    findKeyDates: async (domain: string) => [{ domain, isInUse: false, daysLeft: undefined, warnings: [] }],
  };
  const found = await examine({}, (options) => examineDomain('d.example', options), { trust });
  assert.deepEqual(
    found.map(({ check, severity, advice }) => [check, severity, advice]),
    [['domain', 'note', 'openhisp address add name@d.example enables an address again.']],
  );
});

test('the EHLO name and the PTR of its public addresses are looked up as other mail servers do', async () => {
  const names = { hostname: 'mx.hisp.example', address: '9.9.9.10', other: '9.9.9.11' };
  const ask = async (
    records: readonly (readonly [name: string, type: 'A' | 'AAAA' | 'PTR', data: string])[],
    settings: Readonly<Record<string, string>> = {},
  ): Promise<readonly string[]> => {
    const toRecord = ([name, type, data]: (typeof records)[number]): DnsRecord => ({
      name,
      type,
      ttlSeconds: 60,
      data,
    });
    const start = (zone: string): DnsRecord => ({
      name: zone,
      type: 'SOA',
      ttlSeconds: 60,
      data: {
        primaryServer: 'ns.example',
        mailbox: 'hostmaster.example',
        serial: 1,
        refreshSeconds: 60,
        retrySeconds: 60,
        expireSeconds: 60,
        minimumSeconds: 60,
      },
    });
    const zones = ['example', '9.9.9.in-addr.arpa'].map((zone) =>
      createStaticZone(zone, [
        start(zone),
        ...records.filter(([name]) => name.endsWith(zone)).map((record) => toRecord(record)),
      ]),
    );
    const server = await createDnsServer({ host: '127.0.0.1', port: 0, zones: () => zones });
    const dns = createDnsResolver({ servers: [{ host: '127.0.0.1', port: server.port }], cache: false });
    try {
      const all = { 'smtp.hostname': names.hostname, ...settings };
      const findings = await examine(all, examineSender, { dns });
      return findings.map(({ severity, check, subject, text }) => `${severity} ${check} ${subject}: ${text}`);
    } finally {
      await dns.close();
      await server.close();
    }
  };
  const host = [names.hostname, 'A', names.address] as const;
  const ptr = (data: string) => ['10.9.9.9.in-addr.arpa', 'PTR', data] as const;

  assert.deepEqual(await ask([host, ptr(names.hostname)]), [
    'ok sender mx.hisp.example: The EHLO name has the address 9.9.9.10.',
    'ok ptr 9.9.9.10: PTR is mx.hisp.example, as in EHLO.',
  ]);
  const [unknown, ...none] = await ask([ptr(names.hostname)]);
  assert.match(unknown ?? '', /^error sender .* has no address: other HISPs refuse its mail/);
  assert.deepEqual(none, []);
  assert.match((await ask([host]))[1] ?? '', /^warning ptr 9\.9\.9\.10: The address has no name \(PTR\)/);
  const foreign = await ask([host, ptr('pool-10.isp.example')]);
  assert.match(foreign[1] ?? '', /^warning ptr .* does not lead back to the address/);
  const confirmed = await ask([
    host,
    ptr('pool-10.isp.example'),
    ['pool-10.isp.example', 'A', names.address],
  ]);
  assert.match(confirmed[1] ?? '', /^note ptr .*: PTR is pool-10\.isp\.example, and EHLO says mx\.hisp/);
  const [ehlo, ...both] = await ask([host, ptr(names.hostname)], {
    'smtp.publicAddresses': `${names.address},${names.other}`,
  });
  assert.match(ehlo ?? '', /^warning sender .* not to 9\.9\.9\.11 of smtp\.publicAddresses/);
  assert.equal(both.length, 2);
  const ipv6 = await ask([[names.hostname, 'AAAA', '2600:1::a']], {
    'smtp.publicAddresses': '2600:0001:0::A',
  });
  assert.equal(ipv6.length, 2);
  assert.match(ipv6[0] ?? '', /^ok sender .* has the address 2600:1::a\.$/);
  assert.match(ipv6[1] ?? '', / ptr 2600:1::a: /);
  assert.deepEqual(await ask([], { 'smtp.relayHost': 'relay.example' }), []);
  assert.deepEqual(await ask([[names.hostname, 'A', '192.168.1.1']]), [
    'ok sender mx.hisp.example: The EHLO name has the address 192.168.1.1.',
  ]);
});
