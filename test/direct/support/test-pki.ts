/** Certificates for tests, right in everything but what a test asks to be wrong. */
import assert from 'node:assert/strict';
import {
  createAuthority,
  createCertificate,
  createCrl,
  createKeyPair,
  type Certificate,
  type CertificateRequest,
  type CrlRequest,
  type Issuer,
  type KeyPair,
} from '../../../src/lib/pki/index.ts';
import { parseDirectAddress } from '../../../src/lib/values/index.ts';

/** The moment at which all tests take place. */
export const at = new Date('2026-06-15T12:00:00Z');
export const dayMs = 24 * 3_600_000;
export const past = (days: number): Date => new Date(at.getTime() - days * dayMs);
export const future = (days: number): Date => new Date(at.getTime() + days * dayMs);

export const alice = parseDirectAddress('alice@direct.alpha.example');
export const bob = parseDirectAddress('bob@direct.beta.example');
export const emailProtection = '1.3.6.1.5.5.7.3.4';

export interface TestPki {
  /** A root, an intermediate CA below it, and an outsider's root. */
  readonly root: Issuer;
  readonly intermediate: Issuer;
  readonly untrustedCa: Issuer;
  /** Keys for end entities: RSA-2048, P-256. */
  readonly rsaKeys: KeyPair;
  readonly ecKeys: KeyPair;
  /** RSA of 1024 bits. */
  readonly weakKeys: KeyPair;
  /** Spare P-256 keys for further CAs. */
  readonly spareKeys: readonly KeyPair[];
  issue(changes?: Partial<CertificateRequest>): Certificate;
  issueAuthority(changes?: Partial<CertificateRequest> & { keys?: KeyPair }): Issuer;
  crl(changes?: Partial<CrlRequest>): Buffer;
}

/** Key generation takes some tenths of a second: one for each test file. */
export async function createTestPki(): Promise<TestPki> {
  const p256 = { curve: 'P-256' } as const;
  const [rootKeys, intermediateKeys, untrustedKeys, ecKeys, rsaKeys, weakKeys, ...spareKeys] =
    await Promise.all([
      createKeyPair(p256),
      createKeyPair(p256),
      createKeyPair(p256),
      createKeyPair(p256),
      createKeyPair(),
      createKeyPair({ keyBits: 1024 }),
      ...Array.from({ length: 12 }, () => createKeyPair(p256)),
    ]);
  const validity = { notBefore: past(100), notAfter: future(1000) };
  const root = rootOf('alpha anchor', rootKeys);
  const untrustedCa = rootOf('untrusted CA', untrustedKeys);

  function rootOf(name: string, keys: KeyPair): Issuer {
    const certificate = createAuthority({
      subject: [
        ['CN', name],
        ['O', 'alpha'],
      ],
      ...keys,
      ...validity,
    });
    return { certificate, privateKey: keys.privateKey };
  }

  function issueAuthority({
    keys = intermediateKeys,
    ...changes
  }: Parameters<TestPki['issueAuthority']>[0] = {}): Issuer {
    const certificate = createCertificate({
      subject: [['CN', 'alpha intermediate']],
      publicKey: keys.publicKey,
      issuer: root,
      isCa: true,
      keyUsage: ['keyCertSign', 'cRLSign'],
      ...validity,
      ...changes,
    });
    return { certificate, privateKey: keys.privateKey };
  }

  function issue(changes: Partial<CertificateRequest> = {}): Certificate {
    return createCertificate({
      subject: [['CN', 'alice']],
      publicKey: rsaKeys.publicKey,
      issuer: root,
      isCa: false,
      keyUsage: ['digitalSignature', 'keyEncipherment'],
      extendedKeyUsage: [emailProtection],
      rfc822Names: [alice],
      ...validity,
      ...changes,
    });
  }

  return {
    root,
    untrustedCa,
    intermediate: issueAuthority(),
    rsaKeys,
    ecKeys,
    weakKeys,
    spareKeys,
    issue,
    issueAuthority,
    crl: (changes) =>
      createCrl({ issuer: root, thisUpdate: past(1), nextUpdate: future(6), revoked: [], ...changes }),
  };
}

/** One of twelve further CAs, each with its own name and key. */
export function spareAuthority(
  pki: TestPki,
  index: number,
  changes: Parameters<TestPki['issueAuthority']>[0] = {},
): Issuer {
  const keys = pki.spareKeys[index];
  assert.ok(keys);
  return pki.issueAuthority({ keys, subject: [['CN', `spare ${index}`]], ...changes });
}
