/** Discovery without servers: what counts as found, absent and unavailable, budgets and memory (DISC-01 to DISC-12). */
import assert from 'node:assert/strict';
import { before, beforeEach, describe, test } from 'node:test';
import { createManualClock, type ManualClock } from '../../src/core/index.ts';
import {
  areExpired,
  createDiscovery,
  resolveRecipient,
  type DiscoveryOptions,
  type RecipientTrust,
} from '../../src/lib/direct/index.ts';
import { DnsError, type CertRecord, type DnsAnswer, type SrvRecord } from '../../src/lib/dns/index.ts';
import type { LdapClient } from '../../src/lib/ldap/index.ts';
import { createAuthority, formatPem, type Certificate } from '../../src/lib/pki/index.ts';
import { createFilesFetch, type ServedFile } from './support/files-fetch.ts';
import { noteProvoked } from './support/refusals.ts';
import { at, bob, createTestPki, past, type TestPki } from './support/test-pki.ts';

const addressName = 'bob.direct.beta.example';
const domainName = 'direct.beta.example';

interface Published {
  readonly certs: Map<string, readonly CertRecord[] | Error | 'never'>;
  readonly ldap: Map<string, readonly Uint8Array[]>;
  srvs: readonly SrvRecord[] | Error;
  isLdapDown: boolean;
  isLdapIncomplete: boolean;
  readonly asked: string[];
  readonly files: Map<string, ServedFile>;
  ttlSeconds: number;
}

describe('discovery', () => {
  let pki: TestPki;
  let good: Certificate;
  let clock: ManualClock;
  let published: Published;
  before(async () => {
    pki = await createTestPki();
    good = pki.issue({ rfc822Names: [bob] });
  });
  beforeEach(() => {
    clock = createManualClock(at);
    const srvs = [{ priority: 0, weight: 0, port: 389, target: 'ldap.beta.example' }];
    published = {
      certs: new Map(),
      ldap: new Map(),
      srvs,
      isLdapDown: false,
      isLdapIncomplete: false,
      asked: [],
      files: new Map(),
      ttlSeconds: 600,
    };
  });

  function options(): DiscoveryOptions {
    const answer = <T>(records: readonly T[]): DnsAnswer<T> => ({
      status: records.length > 0 ? 'found' : 'nxdomain',
      records,
      ttlSeconds: published.ttlSeconds,
      transport: 'udp',
    });
    const ldap: LdapClient = {
      findCertificates: async ({ targets, mail }) => {
        published.asked.push(`ldap ${mail}`);
        const [target] = targets;
        assert.ok(target);
        if (published.isLdapDown)
          return { status: 'unreachable', certificates: [], attempts: [{ target, outcome: 'unreachable' }] };
        const certificates = published.ldap.get(mail) ?? [];
        const status = certificates.length > 0 ? 'found' : 'absent';
        const attempts = [{ target, outcome: status } as const];
        const isIncomplete = published.isLdapIncomplete && { isIncomplete: true as const };
        return { status, certificates, attempts, ...isIncomplete };
      },
    };
    return {
      clock,
      ldap,
      fetch: createFilesFetch(published.files).fetch,
      dns: {
        resolveCert: async (name) => {
          published.asked.push(name);
          const records = published.certs.get(name) ?? [];
          if (records === 'never') return new Promise(() => {});
          if (records instanceof Error) throw records;
          return answer(records);
        },
        resolveSrv: async () => {
          if (published.srvs instanceof Error) throw published.srvs;
          return answer(published.srvs);
        },
      },
    };
  }

  const trust = (discovery = createDiscovery(options())): RecipientTrust => ({
    discovery,
    at: clock.now(),
    anchors: [pki.root.certificate],
  });
  const pkix = (data: Uint8Array): CertRecord => ({ certificateType: 1, keyTag: 0, algorithm: 0, data });
  const ipkix = (url: string): CertRecord => ({
    certificateType: 4,
    keyTag: 0,
    algorithm: 0,
    data: Buffer.from(url),
  });
  const timeout = () => new DnsError('DNS_TIMEOUT', 'no answer');

  test('DISC-01, DISC-02 the places are asked in order, the address with a dot for the at-sign', async () => {
    const result = await createDiscovery(options()).discover(bob);
    assert.deepEqual(published.asked, [addressName, domainName, `ldap ${bob}`, `ldap ${domainName}`]);
    assert.deepEqual([result.outcome, result.isTransient], ['absent', false]);
  });

  test('DISC-01 the first place that has something ends the search', async () => {
    published.certs.set(addressName, [pkix(good.der)]);
    const result = await createDiscovery(options()).discover(bob);
    assert.deepEqual([result.source, published.asked], ['dns-address', [addressName]]);
  });

  test('DISC-03, DISC-09 a record that is no certificate is found and useless: the search stops', async () => {
    published.certs.set(addressName, [pkix(Buffer.from('garbage'))]);
    published.certs.set(domainName, [pkix(pki.issue({ rfc822Names: [], dnsNames: [domainName] }).der)]);
    const resolved = await resolveRecipient(bob, trust());
    assert.equal(resolved.outcome === 'refused' && resolved.code, 'DIRECT_RECIPIENT_CERTIFICATES_INVALID');
    noteProvoked('DIRECT_RECIPIENT_CERTIFICATES_INVALID');
    assert.equal(resolved.steps[0]?.unreadableCount, 1);
  });

  test('DISC-04 IPKIX: the certificate behind the URL', async () => {
    published.certs.set(addressName, [ipkix('http://certs.beta.example/bob.cer')]);
    published.files.set('http://certs.beta.example/bob.cer', good.der);
    assert.equal((await resolveRecipient(bob, trust())).outcome, 'usable');
  });

  test('DISC-04, DISC-10 IPKIX: an unreadable certificate in the file keeps no other from being used', async () => {
    published.certs.set(addressName, [ipkix('http://certs.beta.example/bob.pem')]);
    const broken = formatPem('CERTIFICATE', Buffer.from('garbage'));
    const file = `${broken}${formatPem('CERTIFICATE', good.der)}`;
    published.files.set('http://certs.beta.example/bob.pem', Buffer.from(file));
    const resolved = await resolveRecipient(bob, trust());
    assert.equal(resolved.outcome, 'usable');
    assert.deepEqual([resolved.steps[0]?.certificateCount, resolved.steps[0]?.unreadableCount], [1, 1]);
  });

  test('DISC-04 IPKIX: a URL without certificate stops, a server that fails leaves it open', async () => {
    published.certs.set(addressName, [ipkix('http://certs.beta.example/bob.cer')]);
    const stopped = await createDiscovery(options()).discover(bob);
    assert.deepEqual(
      [stopped.outcome, stopped.certificates.length, stopped.isTransient],
      ['found', 0, false],
    );
    for (const file of ['timeout', { status: 503 }, { status: 429 }] as const) {
      published.files.set('http://certs.beta.example/bob.cer', file);
      const open = await createDiscovery(options()).discover(bob);
      assert.deepEqual([open.outcome, open.isTransient], ['absent', true]);
    }
  });

  test('DISC-11 skips a place that cannot be queried, and uses the results of later places', async () => {
    published.certs.set(addressName, timeout());
    published.certs.set(domainName, [pkix(pki.issue({ rfc822Names: [], dnsNames: [domainName] }).der)]);
    assert.equal((await resolveRecipient(bob, trust())).outcome, 'usable');
  });

  test('DISC-11 nothing found and a place that could not be asked: undecided, to be retried', async () => {
    published.certs.set(addressName, timeout());
    const resolved = await resolveRecipient(bob, trust());
    assert.ok(resolved.outcome === 'refused');
    assert.deepEqual(
      [resolved.code, resolved.reason, resolved.statusCode, resolved.isTransient],
      ['DIRECT_RECIPIENT_UNDECIDED', 'no-certificate', '5.7.31', true],
    );
    noteProvoked(resolved.code);
  });

  test('DISC-11 a place that could not be asked may have what a later place does not: undecided, to be retried', async () => {
    const expired = pki.issue({ rfc822Names: [], dnsNames: [domainName], notAfter: past(1) });
    published.certs.set(domainName, [pkix(expired.der)]);
    const decided = await resolveRecipient(bob, trust());
    assert.ok(decided.outcome === 'refused');
    assert.deepEqual([decided.reason, decided.isTransient], ['untrusted', false]);
    published.certs.set(addressName, timeout());
    const open = await resolveRecipient(bob, trust());
    assert.ok(open.outcome === 'refused');
    assert.deepEqual(
      [open.code, open.reason, open.isTransient, open.refused.length],
      ['DIRECT_RECIPIENT_UNDECIDED', 'no-certificate', true, 1],
    );
  });

  test('DISC-10, DISC-11 a certificate that cannot be fetched at present may be the good one', async () => {
    const expired = pki.issue({ rfc822Names: [], dnsNames: [domainName], notAfter: past(1) });
    published.certs.set(domainName, [pkix(expired.der), ipkix('http://certs.beta.example/bob.cer')]);
    published.files.set('http://certs.beta.example/bob.cer', 'timeout');
    const open = await resolveRecipient(bob, trust());
    assert.ok(open.outcome === 'refused');
    assert.deepEqual([open.code, open.isTransient], ['DIRECT_RECIPIENT_UNDECIDED', true]);
    const domainGood = pki.issue({ rfc822Names: [], dnsNames: [domainName] });
    published.certs.set(domainName, [pkix(domainGood.der), ipkix('http://certs.beta.example/bob.cer')]);
    assert.equal((await resolveRecipient(bob, trust())).outcome, 'usable');
  });

  test('without a socket to ask with, nothing is known about any place', async () => {
    published.certs.set(domainName, [pkix(good.der)]);
    published.certs.set(addressName, new DnsError('DNS_NO_SOCKET', 'no socket'));
    await assert.rejects(createDiscovery(options()).discover(bob), { code: 'DNS_NO_SOCKET' });
    published.certs.clear();
    published.srvs = new DnsError('DNS_NO_SOCKET', 'no socket');
    await assert.rejects(createDiscovery(options()).discover(bob), { code: 'DNS_NO_SOCKET' });
  });

  test('DISC-07 no SRV: no certificate, for good', async () => {
    published.srvs = [];
    const resolved = await resolveRecipient(bob, trust());
    assert.ok(resolved.outcome === 'refused');
    assert.deepEqual(
      [resolved.code, resolved.reason, resolved.isTransient],
      ['DIRECT_RECIPIENT_CERTIFICATE_MISSING', 'no-certificate', false],
    );
    noteProvoked(resolved.code);
  });

  test('DISC-07 every LDAP server unreachable: no certificate, but it may be retried', async () => {
    published.isLdapDown = true;
    const resolved = await resolveRecipient(bob, trust());
    assert.ok(resolved.outcome === 'refused');
    assert.deepEqual([resolved.reason, resolved.isTransient], ['no-certificate', true]);
  });

  test('DISC-07 SRV that cannot be asked', async () => {
    published.srvs = timeout();
    assert.equal((await createDiscovery(options()).discover(bob)).isTransient, true);
  });

  test('DISC-02 a name that DNS cannot express is absent', async () => {
    published.certs.set(addressName, new DnsError('DNS_NAME_INVALID', 'a label over 63 octets'));
    const result = await createDiscovery(options()).discover(bob);
    assert.deepEqual([result.steps[0]?.outcome, result.isTransient], ['absent', false]);
  });

  test('DISC-11 the time for one address ends', async () => {
    published.certs.set(addressName, 'never');
    const { dns, ...rest } = options();
    const resolveCert: typeof dns.resolveCert = (name) => {
      clock.advance(20);
      return dns.resolveCert(name);
    };
    const discovery = createDiscovery({ ...rest, dns: { ...dns, resolveCert }, budgetMs: 20 });
    const result = await discovery.discover(bob);
    assert.deepEqual([result.outcome, result.isTransient], ['absent', true]);
    assert.deepEqual(published.asked, [addressName], 'no further place is asked');
  });

  test('DISC-12 an answer is remembered for its TTL and validated at each use', async () => {
    published.certs.set(addressName, [
      pkix(pki.issue({ rfc822Names: [bob], notAfter: new Date(at.getTime() + 300_000) }).der),
    ]);
    const discovery = createDiscovery(options());
    assert.equal((await resolveRecipient(bob, trust(discovery))).outcome, 'usable');
    clock.advance(200_000);
    assert.equal((await resolveRecipient(bob, trust(discovery))).outcome, 'usable');
    assert.equal(published.asked.length, 1);
    clock.advance(200_000);
    const expired = await resolveRecipient(bob, trust(discovery));
    assert.equal(expired.outcome === 'refused' && expired.refused[0]?.code, 'PKI_EXPIRED');
    // A remembered certificate that fails is asked for once more.
    assert.equal(published.asked.length, 2);
  });

  test('DISC-12 a certificate replaced before its time is found when the old one fails', async () => {
    published.certs.set(addressName, [
      pkix(pki.issue({ rfc822Names: [bob], notAfter: new Date(at.getTime() + 1_000) }).der),
    ]);
    const discovery = createDiscovery(options());
    assert.equal((await resolveRecipient(bob, trust(discovery))).outcome, 'usable');
    published.certs.set(addressName, [pkix(good.der)]);
    clock.advance(5_000);
    assert.equal((await resolveRecipient(bob, trust(discovery))).outcome, 'usable');
  });

  test('DISC-12 absence is cached for at most five minutes, an unanswered query not at all', async () => {
    published.ttlSeconds = 86_400;
    const discovery = createDiscovery(options());
    await discovery.discover(bob);
    await discovery.discover(bob);
    assert.equal(published.asked.length, 4);
    clock.advance(300_001);
    assert.equal((await discovery.discover(bob)).isFromCache, false);
    published.certs.set(addressName, timeout());
    clock.advance(300_001);
    await discovery.discover(bob);
    assert.equal((await discovery.discover(bob)).isFromCache, false);
  });

  test('DISC-12 a certificate next to one that cannot be fetched is cached for at most five minutes', async () => {
    published.ttlSeconds = 86_400;
    const file = 'http://certs.beta.example/bob.cer';
    published.certs.set(addressName, [pkix(good.der), ipkix(file)]);
    published.files.set(file, 'timeout');
    const discovery = createDiscovery(options());
    assert.equal((await resolveRecipient(bob, trust(discovery))).outcome, 'usable');
    assert.equal((await resolveRecipient(bob, trust(discovery))).outcome, 'usable');
    assert.equal(published.asked.length, 1);
    published.files.set(file, pki.issue({ rfc822Names: [bob] }).der);
    clock.advance(300_001);
    const complete = await resolveRecipient(bob, trust(discovery));
    assert.equal(complete.outcome === 'usable' && complete.certificates.length, 2);
  });

  test('DISC-12 while one cannot be fetched, the refusal of the other is not decided by the cache', async () => {
    const file = 'http://certs.beta.example/bob.cer';
    const expired = pki.issue({ rfc822Names: [bob], notAfter: past(1) });
    published.certs.set(addressName, [pkix(expired.der), ipkix(file)]);
    published.files.set(file, 'timeout');
    const discovery = createDiscovery(options());
    const open = await resolveRecipient(bob, trust(discovery));
    assert.equal(open.outcome === 'refused' && open.isTransient, true);
    published.files.set(file, good.der);
    assert.equal((await resolveRecipient(bob, trust(discovery))).outcome, 'usable');
  });

  test('DISC-12 one question at a time for one address', async () => {
    const discovery = createDiscovery(options());
    await Promise.all([discovery.discover(bob), discovery.discover(bob)]);
    assert.equal(published.asked.length, 4);
  });

  test('DISC-12 a discovery that reports each place bypasses the cache', async () => {
    published.certs.set(addressName, [pkix(good.der)]);
    const discovery = createDiscovery(options());
    await discovery.discover(bob);
    const steps: string[] = [];
    const result = await discovery.discover(bob, { onStep: (step) => steps.push(step.outcome) });
    assert.deepEqual([steps, result.isFromCache, published.asked.length], [['found'], false, 2]);
  });

  test('DISC-08, DISC-11 a naming context that could not be searched may have what another does not: undecided, to be retried', async () => {
    published.ldap.set(bob, [pki.issue({ rfc822Names: [bob], notAfter: past(1) }).der]);
    published.isLdapIncomplete = true;
    const open = await resolveRecipient(bob, trust());
    assert.ok(open.outcome === 'refused');
    assert.deepEqual(
      [open.code, open.isTransient, open.refused.length],
      ['DIRECT_RECIPIENT_UNDECIDED', true, 1],
    );
    published.ldap.set(bob, [good.der]);
    const discovery = createDiscovery(options());
    assert.equal((await resolveRecipient(bob, trust(discovery))).outcome, 'usable');
    clock.advance(301_000);
    assert.equal((await discovery.discover(bob)).isFromCache, false);
  });

  test('a fault of the program in a place is not taken for an absent certificate', async () => {
    const ldap: LdapClient = {
      findCertificates: async () => {
        throw new TypeError('a fault');
      },
    };
    await assert.rejects(createDiscovery({ ...options(), ldap }).discover(bob), TypeError);
  });

  test('DISC-10 expired, unbound and weak certificates are dropped, each with its reason, and the rest is used', async () => {
    const certificates = [
      pki.issue({ rfc822Names: [bob], notAfter: past(1) }),
      pki.issue({ rfc822Names: ['x@direct.beta.example'] }),
      pki.issue({ rfc822Names: [bob], keyUsage: ['digitalSignature'] }),
      good,
    ];
    published.certs.set(
      addressName,
      certificates.map(({ der }) => pkix(der)),
    );
    const resolved = await resolveRecipient(bob, trust());
    assert.ok(resolved.outcome === 'usable');
    assert.deepEqual(
      resolved.certificates.map((path) => path.certificates[0].fingerprint),
      [good.fingerprint],
    );
    assert.deepEqual(
      resolved.refused.map(({ code }) => code),
      ['PKI_EXPIRED', 'PKI_NOT_BOUND', 'PKI_KEY_USAGE'],
    );
  });

  test('MDN-27 the text of a refusal says what is wrong, and with whose certificate', async () => {
    const [oldKeys] = pki.spareKeys;
    assert.ok(oldKeys);
    const oldCa = {
      certificate: createAuthority({
        subject: [['CN', 'old']],
        ...oldKeys,
        notBefore: past(9),
        notAfter: past(1),
      }),
      privateKey: oldKeys.privateKey,
    };
    const expired = pki.issue({ rfc822Names: [bob], notAfter: past(1) });
    const unbound = pki.issue({ rfc822Names: ['x@direct.beta.example'] });
    const ofOldCa = pki.issue({ rfc822Names: [bob], issuer: oldCa });
    for (const [certificates, text, isOwn] of [
      [[expired], 'The published certificate is expired.', true],
      [[expired, expired], 'The published certificate is expired.', true],
      [[ofOldCa], 'A CA certificate above the published one is expired.', false],
      [[unbound], 'The published certificate is not bound to the address.', false],
      [
        [pki.issue({ rfc822Names: [bob], keyUsage: ['digitalSignature'] })],
        'The published certificate is not for encryption.',
        false,
      ],
      [
        [pki.issue({ rfc822Names: [bob], publicKey: pki.ecKeys.publicKey })],
        'The published certificate has a key of a kind that is not accepted.',
        false,
      ],
      [[expired, unbound], 'None of the published certificates is valid for the address.', false],
      [[expired, ofOldCa], 'None of the published certificates is valid for the address.', false],
      [[], 'The published certificate cannot be read.', false],
    ] as const) {
      const records = certificates.map(({ der }) => pkix(der));
      published.certs.set(addressName, records.length === 0 ? [pkix(Buffer.of(1))] : records);
      const anchors = [pki.root.certificate, oldCa.certificate];
      const resolved = await resolveRecipient(bob, { ...trust(), anchors });
      assert.ok(resolved.outcome === 'refused');
      assert.deepEqual(
        [resolved.code, resolved.text, areExpired(resolved.refused)],
        ['DIRECT_RECIPIENT_CERTIFICATES_INVALID', text, isOwn],
      );
    }
    published.certs.set(addressName, [pkix(good.der)]);
    const checkRevocation = async () => ({ status: 'revoked' as const });
    const revoked = await resolveRecipient(bob, { ...trust(), checkRevocation });
    assert.equal(revoked.outcome === 'refused' && revoked.text, 'The published certificate is revoked.');
  });

  test('TRUST-09 an untrusted recipient is refused with the reason of the API', async () => {
    published.certs.set(addressName, [pkix(pki.issue({ rfc822Names: [bob], issuer: pki.untrustedCa }).der)]);
    const resolved = await resolveRecipient(bob, trust());
    assert.ok(resolved.outcome === 'refused');
    assert.deepEqual(
      [resolved.code, resolved.reason, resolved.statusCode, resolved.isTransient],
      ['DIRECT_RECIPIENT_UNTRUSTED', 'untrusted', '5.7.11', false],
    );
    noteProvoked(resolved.code);
    assert.equal(published.asked.length, 1, 'an answer that is fresh is not asked for again');
  });

  test('TRUST-02 without anchors no certificate is trusted', async () => {
    published.certs.set(addressName, [pkix(good.der)]);
    const resolved = await resolveRecipient(bob, { ...trust(), anchors: [] });
    assert.equal(resolved.outcome === 'refused' && resolved.refused[0]?.code, 'PKI_NO_ANCHORS');
  });

  test('TRUST-06 trust that hangs on a list that cannot be had is undecided under hard-fail', async () => {
    published.certs.set(addressName, [
      pkix(pki.issue({ rfc822Names: [bob], crlUrls: ['http://crl.example/'] }).der),
    ]);
    const checkRevocation = async () => ({ status: 'unknown', isTransient: true }) as const;
    const resolved = await resolveRecipient(bob, {
      ...trust(),
      checkRevocation,
      policy: { revocation: 'hard-fail' },
    });
    assert.ok(resolved.outcome === 'refused');
    assert.deepEqual(
      [resolved.code, resolved.reason, resolved.isTransient],
      ['DIRECT_RECIPIENT_UNDECIDED', 'untrusted', true],
    );
  });
});
