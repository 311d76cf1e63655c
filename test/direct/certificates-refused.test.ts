/** End-entity certificates that must not be used, each with its own reason (AS-10 to AS-20, TRUST-01). */
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { der } from '../../src/lib/asn1/index.ts';
import {
  createKeyPair,
  directTrustPolicy,
  generalNameDer,
  validatePath,
  type Certificate,
  type CertificateUse,
  type KeyPair,
  type TrustContext,
} from '../../src/lib/pki/index.ts';
import { refusedWith } from './support/refusals.ts';
import { alice, at, createTestPki, future, past, type TestPki } from './support/test-pki.ts';

interface Case {
  readonly title: string;
  readonly code: string;
  readonly make: (pki: TestPki) => Certificate;
  readonly use?: CertificateUse;
  readonly context?: Partial<TrustContext>;
}

const named = (
  title: string,
  names: Partial<Parameters<TestPki['issue']>[0]>,
  code = 'PKI_NOT_BOUND',
): Case => ({
  title: `AS-11 ${title}`,
  code,
  make: (pki) => pki.issue({ rfc822Names: [], ...names }),
});

const otherName = (oid: string, text: string): Buffer =>
  der.implicit(0, true, der.oid(oid), der.explicit(0, der.utf8(text)));

let weak: KeyPair;
let foreignKeys: Record<'p521' | 'k256' | 'ed25519', KeyPair>;

const cases: readonly Case[] = [
  { title: 'AS-15 expired', code: 'PKI_EXPIRED', make: (pki) => pki.issue({ notAfter: past(1) }) },
  {
    title: 'AS-15 not yet valid',
    code: 'PKI_NOT_YET_VALID',
    make: (pki) => pki.issue({ notBefore: future(1) }),
  },
  {
    title: 'AS-15 a time that is none',
    code: 'PKI_NOT_YET_VALID',
    make: (pki) => pki.issue(),
    context: { at: new Date(Number.NaN) },
  },
  named('another address of the domain', { rfc822Names: ['bob@direct.alpha.example'] }),
  named('no subjectAltName', {}),
  named('the address only in the subject (AS-12)', {
    subject: [
      ['CN', 'alice'],
      ['emailAddress', alice],
    ],
  }),
  named('a dNSName of the parent domain', { dnsNames: ['alpha.example'] }),
  named('a dNSName of a domain below', { dnsNames: ['x.direct.alpha.example'] }),
  named('a wildcard dNSName', { dnsNames: ['*.alpha.example'] }),
  named('a wildcard over the domain', { dnsNames: ['*'] }),
  named('a wildcard rfc822Name', { rfc822Names: ['*@direct.alpha.example'] }),
  named('a dNSName with a final dot', { dnsNames: ['direct.alpha.example.'] }),
  named('an rfc822Name that is only the domain', { rfc822Names: ['direct.alpha.example'] }),
  named('an rfc822Name with a display name', { rfc822Names: ['<alice@direct.alpha.example>'] }),
  named('the address as a URI', { otherNames: [generalNameDer.uri('mailto:alice@direct.alpha.example')] }),
  named('the address as a dNSName', { dnsNames: [alice] }),
  named('the address as a directory name', {
    otherNames: [generalNameDer.directory([['emailAddress', alice]])],
  }),
  named('the address as an internationalised mailbox', {
    otherNames: [otherName('1.3.6.1.5.5.7.8.9', alice)],
  }),
  named('several names, none of them it', {
    rfc822Names: ['a@direct.alpha.example', 'b@direct.alpha.example'],
    dnsNames: ['alpha.example'],
  }),
  named('a NUL behind the address', { rfc822Names: [`${alice}\0.evil.example`] }, 'PKI_NAME_MALFORMED'),
  named(
    'a NUL before the domain',
    { dnsNames: ['direct.alpha.example\0evil.example'] },
    'PKI_NAME_MALFORMED',
  ),
  named(
    'a name with NUL next to a valid one',
    { rfc822Names: [alice, 'x\0@evil.example'] },
    'PKI_NAME_MALFORMED',
  ),
  named('blanks in the name', { rfc822Names: [`${alice} `] }, 'PKI_NAME_MALFORMED'),
  named('a line feed in the name', { rfc822Names: [`${alice}\n`] }, 'PKI_NAME_MALFORMED'),
  named(
    '8-bit characters in the name',
    { rfc822Names: ['álice@direct.alpha.example'] },
    'PKI_NAME_MALFORMED',
  ),
  named('an empty name', { rfc822Names: [''] }, 'PKI_NAME_MALFORMED'),
  {
    title: 'AS-14 RSA of 1024 bits',
    code: 'PKI_KEY_TOO_WEAK',
    make: (pki) => pki.issue({ publicKey: weak.publicKey }),
  },
  {
    title: 'AS-12 with the switch for the older edition: another address in the subject',
    code: 'PKI_NOT_BOUND',
    make: (pki) =>
      pki.issue({
        subject: [
          ['CN', 'alice'],
          ['emailAddress', 'x@direct.alpha.example'],
        ],
      }),
    context: { policy: { requireSubjectMatch: true } },
  },
  {
    title: 'SEC-11 an RSA key so large that it costs more than it proves',
    code: 'PKI_KEY_ALGORITHM',
    make: (pki) => {
      const modulus = Buffer.alloc(1_100, 0xa5).toString('base64url');
      const publicKey = createPublicKey({ key: { kty: 'RSA', n: modulus, e: 'AQAB' }, format: 'jwk' });
      return pki.issue({ publicKey });
    },
  },
  {
    title: 'AS-14 P-521',
    code: 'PKI_KEY_ALGORITHM',
    make: (pki) => pki.issue({ publicKey: foreignKeys.p521.publicKey }),
  },
  {
    title: 'AS-14 a curve of another kind',
    code: 'PKI_KEY_ALGORITHM',
    make: (pki) => pki.issue({ publicKey: foreignKeys.k256.publicKey }),
  },
  {
    title: 'AS-14 Ed25519',
    code: 'PKI_KEY_ALGORITHM',
    make: (pki) => pki.issue({ publicKey: foreignKeys.ed25519.publicKey }),
  },
  {
    title: 'AS-59 an EC key to encrypt to',
    code: 'PKI_KEY_ALGORITHM',
    use: 'encryption',
    make: (pki) => pki.issue({ publicKey: pki.ecKeys.publicKey, keyUsage: ['keyEncipherment'] }),
  },
  {
    title: 'AS-16 an encryption-only key that signs',
    code: 'PKI_KEY_USAGE',
    make: (pki) => pki.issue({ keyUsage: ['keyEncipherment'] }),
  },
  {
    title: 'AS-16 a signing-only key to encrypt to',
    code: 'PKI_KEY_USAGE',
    use: 'encryption',
    make: (pki) => pki.issue({ keyUsage: ['digitalSignature'] }),
  },
  {
    title: 'AS-16 non-repudiation alone',
    code: 'PKI_KEY_USAGE',
    make: (pki) => pki.issue({ keyUsage: ['nonRepudiation'] }),
  },
  {
    title: 'AS-17 extended key usage for servers',
    code: 'PKI_EXTENDED_KEY_USAGE',
    make: (pki) => pki.issue({ extendedKeyUsage: ['1.3.6.1.5.5.7.3.1'] }),
  },
  {
    title: 'AS-17 an empty extended key usage',
    code: 'PKI_EXTENDED_KEY_USAGE',
    make: (pki) => pki.issue({ extendedKeyUsage: [] }),
  },
  {
    title: 'AS-17 a CA as end entity',
    code: 'PKI_END_ENTITY_IS_CA',
    make: (pki) => pki.issue({ isCa: true, keyUsage: ['digitalSignature', 'keyCertSign'] }),
  },
  {
    title: 'TRUST-11 an unknown critical extension',
    code: 'PKI_CRITICAL_EXTENSION',
    make: (pki) =>
      pki.issue({ extensions: [{ oid: '1.3.6.1.4.1.55555.1', isCritical: true, value: der.null() }] }),
  },
  {
    title: 'AS-20 signed with SHA-1',
    code: 'PKI_SIGNATURE_ALGORITHM',
    make: (pki) => pki.issue({ digest: 'sha1' }),
  },
  {
    title: 'AS-19 no policy where policies are asked for',
    code: 'PKI_POLICY_MISSING',
    make: (pki) => pki.issue(),
    context: { policy: directTrustPolicy },
  },
  {
    title: 'AS-19 only one of two policies',
    code: 'PKI_POLICY_MISSING',
    make: (pki) => pki.issue({ policyOids: ['1.3.6.1.4.1.41179.1.3'] }),
    context: { policy: directTrustPolicy },
  },
  {
    title: 'AS-19 a policy OID that only looks alike',
    code: 'PKI_POLICY_MISSING',
    make: (pki) => pki.issue({ policyOids: ['1.3.6.1.4.1.41179.11.3', '1.3.6.1.4.1.41179.2.1'] }),
    context: { policy: directTrustPolicy },
  },
  {
    title: 'AS-16 no key usage where it is asked for',
    code: 'PKI_KEY_USAGE',
    make: (pki) => pki.issue({ keyUsage: undefined as never }),
    context: { policy: { requireKeyUsage: true } },
  },
];

describe('end-entity certificates that are refused', () => {
  let pki: TestPki;
  before(async () => {
    pki = await createTestPki();
    weak = await createKeyPair({ keyBits: 1024 });
    foreignKeys = {
      p521: await createKeyPair({ curve: 'P-521' }),
      k256: generateKeyPairSync('ec', { namedCurve: 'secp256k1' }),
      ed25519: generateKeyPairSync('ed25519'),
    };
  });
  for (const { title, code, make, use = 'signing', context = {} } of cases) {
    test(`${title}: ${code}`, async () => {
      const base = { at, anchors: [pki.root.certificate], address: alice };
      await refusedWith(code, () => validatePath(make(pki), use, { ...base, ...context }));
    });
  }
});
