/** The discovery cases against a real BIND and OpenLDAP, and against our own DNS server and LDAP responder (DISC-01 to DISC-14, HOST-01 to HOST-03). */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { createManualClock } from '../../src/core/index.ts';
import { createDiscovery, resolveRecipient, type RecipientTrust } from '../../src/lib/direct/index.ts';
import {
  createDnsResolver,
  createDnsServer,
  createStaticZone,
  type DnsRecord,
} from '../../src/lib/dns/index.ts';
import { createGuardedFetch } from '../../src/lib/fetch/index.ts';
import { createLdapClient, createLdapResponder } from '../../src/lib/ldap/index.ts';
import { createIssuerFetcher, createRevocationChecker } from '../../src/lib/pki/index.ts';
import {
  createDiscoveryWorld,
  type DiscoveryWorld,
  type LdapName,
} from '../direct/support/discovery-cases.ts';
import { at, createTestPki, past, type TestPki } from '../direct/support/test-pki.ts';
import { certLine, startNamed } from '../support/named.ts';
import { freePort, needsPrograms } from '../support/processes.ts';
import { soaOf } from '../support/soa.ts';
import { startSlapd } from '../support/slapd.ts';

interface Backend {
  readonly dnsPort: number;
  stop(): Promise<void>;
}

interface FileServer {
  readonly baseUrl: string;
  stop(): Promise<void>;
}

const servers: readonly LdapName[] = ['ldap1', 'ldap2', 'ldap3', 'ldapEmpty'];

for (const { name, start, options } of [
  { name: 'real BIND and OpenLDAP', start: startReal, options: needsPrograms('named', 'slapd', 'slapadd') },
  { name: 'our own DNS server and LDAP responder', start: startOwn, options: { skip: false as const } },
]) {
  describe(`discovery with ${name}`, options, () => {
    let pki: TestPki;
    let files: FileServer;
    let world: DiscoveryWorld;
    let backend: Backend;
    let trust: RecipientTrust;
    let close: () => Promise<void>;

    before(async () => {
      pki = await createTestPki();
      const served = new Map<string, Uint8Array>();
      files = await serveFiles(served);
      world = createDiscoveryWorld(pki, files.baseUrl);
      served.set('/intermediate.cer', pki.intermediate.certificate.der);
      served.set(
        '/alpha.crl',
        pki.crl({
          revoked: world.revoked.map((one) => ({
            serialNumber: one.serialNumberDer,
            revokedAt: past(1),
            reason: 'superseded' as const,
          })),
        }),
      );
      backend = await start(world);
      const clock = createManualClock(at);
      const resolver = createDnsResolver({ servers: [{ host: '127.0.0.1', port: backend.dnsPort }], clock });
      const fetch = createGuardedFetch({ allowPrivate: true, timeoutMs: 5_000, maxBytes: 1_000_000 });
      const ldap = createLdapClient({ dns: resolver, allowPrivate: true, timeoutMs: 5_000 });
      trust = {
        discovery: createDiscovery({ dns: resolver, ldap, fetch, clock }),
        at,
        anchors: [pki.root.certificate],
        fetchIssuers: createIssuerFetcher({ fetch, now: () => at }),
        checkRevocation: createRevocationChecker({ fetch }),
      };
      close = () => resolver.close();
    });
    after(async () => {
      await close?.();
      await backend?.stop();
      await files?.stop();
    });

    const titles = createTitles();
    for (const [index, title] of titles.entries()) {
      test(title, async () => {
        const one = world.cases[index];
        assert.ok(one);
        const resolved = await resolveRecipient(one.address, trust);
        if ('code' in one.expected) {
          assert.equal(
            resolved.outcome === 'refused' ? resolved.code : 'usable',
            one.expected.code,
            JSON.stringify(resolved.steps),
          );
          assert.equal(
            resolved.outcome === 'refused' && resolved.isTransient,
            one.expected.isTransient ?? false,
          );
          return;
        }
        assert.ok(resolved.outcome === 'usable', JSON.stringify(resolved));
        assert.equal(resolved.source, one.expected.source);
        const wanted = one.expected.certificates.map(({ fingerprint }) => fingerprint);
        assert.deepEqual(
          resolved.certificates.map((path) => path.certificates[0].fingerprint).toSorted(),
          wanted.toSorted(),
        );
        if (one.expected.via !== undefined) assert.equal(resolved.steps.at(-1)?.via, one.expected.via);
      });
    }

    test('DISC-01 the steps show the order of the places', async () => {
      const { steps } = await trust.discovery.discover(world.cases[10]?.address ?? assert.fail());
      assert.deepEqual(
        steps.map((step) => step.source),
        ['dns-address', 'dns-domain', 'ldap-address', 'ldap-domain'],
      );
    });
  });
}

/** The titles are needed before the certificates exist. */
function createTitles(): readonly string[] {
  const stub = new Proxy({}, { get: () => () => stub }) as TestPki;
  return createDiscoveryWorld(stub, '').cases.map(({ title }) => title);
}

async function serveFiles(files: ReadonlyMap<string, Uint8Array>): Promise<FileServer> {
  const server = createServer((request, response) => {
    const file = files.get(request.url ?? '');
    response.writeHead(file === undefined ? 404 : 200).end(file);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

async function startReal(world: DiscoveryWorld): Promise<Backend> {
  const ports = new Map<LdapName, number>([['dead', await freePort()]]);
  const running: { stop(): Promise<void> }[] = [];
  for (const server of servers) {
    const entries = world.entries
      .filter((entry) => entry.server === server)
      .map(({ mail, certificates }) => ({ mail, certificates: certificates.map(({ der }) => der) }));
    const slapd = await startSlapd(entries);
    running.push(slapd);
    ports.set(server, slapd.port);
  }
  const named = await startNamed([
    ...world.zones.map((name) => ({ name, lines: zoneLines(world, name, ports) })),
    { name: 'hosts.example', lines: ['* IN A 127.0.0.1'] },
  ]);
  running.push(named);
  return {
    dnsPort: named.port,
    stop: async () => void (await Promise.all(running.map((one) => one.stop()))),
  };
}

function zoneLines(world: DiscoveryWorld, zone: string, ports: ReadonlyMap<LdapName, number>): string[] {
  const isIn = (name: string): boolean => name === zone || name.endsWith(`.${zone}`);
  return [
    ...world.certs
      .filter(({ name }) => isIn(name))
      .map(({ name, certificate }) => certLine(`${name}.`, certificate.der)),
    ...world.otherTypeNames
      .filter(isIn)
      .map((name) => certLine(`${name}.`, Buffer.from('not a certificate'), 'PGP')),
    ...world.srvs
      .filter(({ domain }) => domain === zone)
      .map(
        ({ target, priority, weight }) =>
          `_ldap._tcp IN SRV ${priority} ${weight} ${ports.get(target)} ${target}.hosts.example.`,
      ),
  ];
}

async function startOwn(world: DiscoveryWorld): Promise<Backend> {
  const ports = new Map<LdapName, number>([['dead', await freePort()]]);
  const running: { close(): Promise<void> }[] = [];
  for (const server of servers) {
    const responder = await createLdapResponder({
      host: '127.0.0.1',
      port: 0,
      findCertificates: async (mail) =>
        world.entries
          .filter((entry) => entry.server === server && entry.mail.toLowerCase() === mail.toLowerCase())
          .flatMap(({ certificates }) => certificates.map(({ der }) => der)),
    });
    running.push(responder);
    ports.set(server, responder.port);
  }
  const zones = [
    ...world.zones.map((name) => createStaticZone(name, zoneRecords(world, name, ports))),
    createStaticZone('hosts.example', [
      soaOf('hosts.example'),
      ...[...servers, 'dead'].map((host) => ({
        name: `${host}.hosts.example`,
        type: 'A' as const,
        ttlSeconds: 300,
        data: '127.0.0.1',
      })),
    ]),
  ];
  const dns = await createDnsServer({ host: '127.0.0.1', port: 0, zones: () => zones });
  running.push(dns);
  return { dnsPort: dns.port, stop: async () => void (await Promise.all(running.map((one) => one.close()))) };
}

function zoneRecords(world: DiscoveryWorld, zone: string, ports: ReadonlyMap<LdapName, number>): DnsRecord[] {
  const isIn = (name: string): boolean => name === zone || name.endsWith(`.${zone}`);
  const cert = (name: string, certificateType: number, data: Uint8Array): DnsRecord => ({
    name,
    type: 'CERT',
    ttlSeconds: 300,
    data: { certificateType, keyTag: 0, algorithm: 0, data },
  });
  return [
    soaOf(zone),
    ...world.certs
      .filter(({ name }) => isIn(name))
      .map(({ name, certificate }) => cert(name, 1, certificate.der)),
    ...world.otherTypeNames.filter(isIn).map((name) => cert(name, 3, Buffer.from('not a certificate'))),
    ...world.srvs
      .filter(({ domain }) => domain === zone)
      .map(({ target, priority, weight }): DnsRecord => ({
        name: `_ldap._tcp.${zone}`,
        type: 'SRV',
        ttlSeconds: 300,
        data: { priority, weight, port: ports.get(target) ?? 0, target: `${target}.hosts.example` },
      })),
  ];
}
