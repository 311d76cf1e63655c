import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestStorage } from '../../../test/support/storage.ts';
import { createManualClock, silentLog } from '../../core/index.ts';
import { certificateTypes } from '../../lib/dns/index.ts';
import {
  createAuthority,
  createCertificate,
  createKeyPair,
  type Certificate,
  type CertificateRequest,
} from '../../lib/pki/index.ts';
import { createVault, loadConfig } from '../../platform/index.ts';
import { createAudit } from '../../service/audit/index.ts';
import { createTrust } from '../../service/trust/index.ts';
import type { DoctorOptions } from './doctor-options.ts';
import { examineDns } from './examine-dns.ts';

const domain = 'split.example.org';
const start = new Date('2026-06-01T12:00:00Z');
const inDays = (days: number): Date => new Date(start.getTime() + days * 86_400_000);

test('AS-16: a published certificate for signing only is told apart from retired and expired ones', async () => {
  const storage = await openTestStorage();
  const clock = createManualClock(start);
  const vault = createVault(Buffer.alloc(32, 1));
  const audit = createAudit({ storage, vault, clock, log: silentLog });
  try {
    const trust = createTrust({ storage, vault, clock, audit });
    await trust.addDomain(domain);
    const caKeys = await createKeyPair();
    const dates = { notBefore: inDays(-10), notAfter: inDays(900) };
    const authority = createAuthority({ subject: [['CN', 'Test CA']], ...caKeys, ...dates });
    const add = async (keyUsage: CertificateRequest['keyUsage'], notAfter = inDays(700)) => {
      const keys = await createKeyPair();
      const certificate = createCertificate({
        subject: [['CN', domain]],
        publicKey: keys.publicKey,
        issuer: { certificate: authority, privateKey: caKeys.privateKey },
        isCa: false,
        ...(keyUsage && { keyUsage }),
        extendedKeyUsage: ['1.3.6.1.5.5.7.3.4'],
        dnsNames: [domain],
        notBefore: inDays(-5),
        notAfter,
      });
      const { id } = await trust.addKeyPair(domain, certificate.der, keys.privateKey);
      return { id, certificate };
    };
    const retired = await add(['digitalSignature', 'keyEncipherment']);
    const expired = await add(['digitalSignature', 'keyEncipherment'], inDays(5));
    const signing = await add(['digitalSignature']);
    const encryption = await add(['keyEncipherment']);
    await trust.retireKeyPair(retired.id);
    clock.set(inDays(10));

    const examine = async (...published: readonly { readonly certificate: Certificate }[]) => {
      const records = published.map(({ certificate }) => ({
        certificateType: certificateTypes.pkix,
        keyTag: 0,
        algorithm: 0,
        data: certificate.der,
      }));
      const dns = {
        resolveNs: async () => ({ status: 'nodata', records: [] }),
        resolveMx: async () => ({ status: 'nodata', records: [] }),
        resolveCert: async () => ({ status: 'found', records }),
      };
      const options = { config: loadConfig({}, undefined, {}), storage, trust, clock, dns };
      const findings = await examineDns(domain, options as unknown as DoctorOptions);
      return findings.filter(({ check }) => check === 'cert');
    };
    const short = ({ certificate }: { readonly certificate: Certificate }): string =>
      certificate.fingerprint.slice(0, 12);

    const [none, ...more] = await examine(encryption);
    assert.deepEqual([none?.severity, more], ['ok', []]);

    const [only, ...others] = await examine(encryption, signing);
    assert.deepEqual([only?.severity, others], ['warning', []]);
    assert.ok(only?.text.startsWith(`Published, though for signing only: ${short(signing)}`), only?.text);
    assert.match(only?.advice ?? '', /^Remove its CERT record at split\.example\.org, and keep its key/);

    const [stale, half, ...rest] = await examine(retired, expired, signing, encryption);
    assert.match(stale?.text ?? '', /^Still published, though retired or expired: /);
    for (const [one, isNamed] of [
      [retired, true],
      [expired, true],
      [signing, false],
    ] as const)
      assert.equal(stale?.text.includes(short(one)), isNamed, stale?.text);
    assert.equal(half?.text, only?.text);
    assert.deepEqual(rest, []);
  } finally {
    await audit.close();
    await storage.close();
  }
});
