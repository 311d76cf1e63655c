/** Paths that must be refused, each with its own reason (TRUST-01, TRUST-04, TRUST-11). Among them the forgeries known from the field. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { der } from '../../src/lib/asn1/index.ts';
import {
  createAuthority,
  createCertificate,
  validatePath,
  type Certificate,
  type Issuer,
  type TrustContext,
} from '../../src/lib/pki/index.ts';
import { refusedWith } from './support/refusals.ts';
import {
  alice,
  at,
  createTestPki,
  emailProtection,
  future,
  past,
  spareAuthority,
  type TestPki,
} from './support/test-pki.ts';

interface Chain {
  readonly leaf: Certificate;
  readonly candidates?: readonly Certificate[];
  readonly anchors?: readonly Certificate[];
}

interface Case {
  readonly title: string;
  readonly code: string;
  readonly make: (pki: TestPki) => Chain;
  readonly context?: Partial<TrustContext>;
}

/** A leaf below an intermediate CA that a test changes. */
function below(pki: TestPki, changes: Parameters<TestPki['issueAuthority']>[0]): Chain {
  const issuer = pki.issueAuthority(changes);
  return { leaf: pki.issue({ issuer }), candidates: [issuer.certificate] };
}

/** An outsider's certificate in the name of the anchor, with the anchor's key identifier. */
function forgeAnchor(pki: TestPki): Issuer {
  const [keys] = pki.spareKeys;
  assert.ok(keys);
  const { subjectKeyIdentifier } = pki.root.certificate;
  const certificate = createCertificate({
    subject: [
      ['CN', 'alpha anchor'],
      ['O', 'alpha'],
    ],
    ...keys,
    notBefore: past(100),
    notAfter: future(1000),
    isCa: true,
    keyUsage: ['keyCertSign', 'cRLSign'],
    ...(subjectKeyIdentifier && { subjectKeyIdentifier, authorityKeyIdentifier: subjectKeyIdentifier }),
  });
  return { certificate, privateKey: keys.privateKey };
}

const cases: readonly Case[] = [
  {
    title: 'TRUST-02 no anchor at all',
    code: 'PKI_NO_ANCHORS',
    make: (pki) => ({ leaf: pki.issue(), anchors: [] }),
  },
  {
    title: 'TRUST-02 no anchor, though the certificate is self-signed',
    code: 'PKI_NO_ANCHORS',
    make: (pki) => ({ leaf: pki.root.certificate, anchors: [] }),
  },
  {
    title: 'TRUST-01 the anchor of another CA',
    code: 'PKI_ISSUER_NOT_FOUND',
    make: (pki) => ({ leaf: pki.issue(), anchors: [pki.untrustedCa.certificate] }),
  },
  {
    title: 'TRUST-01 an unknown CA that is enclosed in the message',
    code: 'PKI_ISSUER_NOT_FOUND',
    make: (pki) => ({
      leaf: pki.issue({ issuer: pki.untrustedCa }),
      candidates: [pki.untrustedCa.certificate],
    }),
  },
  {
    title: "TRUST-01 a leaf of a CA that copies the anchor's name and key identifier",
    code: 'PKI_SIGNATURE_INVALID',
    make: (pki) => {
      const issuer = forgeAnchor(pki);
      return { leaf: pki.issue({ issuer }), candidates: [issuer.certificate] };
    },
  },
  {
    title:
      "TRUST-01 a self-signed certificate that copies the anchor's name and key identifier, as end entity",
    code: 'PKI_SIGNATURE_INVALID',
    make: (pki) => {
      const { subjectKeyIdentifier } = pki.root.certificate;
      const leaf = createCertificate({
        subject: [
          ['CN', 'alpha anchor'],
          ['O', 'alpha'],
        ],
        ...pki.ecKeys,
        notBefore: past(10),
        notAfter: future(10),
        keyUsage: ['digitalSignature'],
        extendedKeyUsage: [emailProtection],
        rfc822Names: [alice],
        ...(subjectKeyIdentifier && { subjectKeyIdentifier }),
      });
      return { leaf };
    },
  },
  {
    title: "TRUST-01 a self-signed certificate with only the anchor's key identifier copied",
    code: 'PKI_ISSUER_NOT_FOUND',
    make: (pki) => {
      const { subjectKeyIdentifier } = pki.root.certificate;
      const leaf = createCertificate({
        subject: [['CN', 'alice']],
        ...pki.ecKeys,
        notBefore: past(10),
        notAfter: future(10),
        keyUsage: ['digitalSignature'],
        rfc822Names: [alice],
        ...(subjectKeyIdentifier && { subjectKeyIdentifier, authorityKeyIdentifier: subjectKeyIdentifier }),
      });
      return { leaf, candidates: [leaf] };
    },
  },
  {
    title: "TRUST-01 the anchor's serial number and names copied, signed by an unknown CA",
    code: 'PKI_SIGNATURE_INVALID',
    make: (pki) => {
      const issuer = { certificate: pki.root.certificate, privateKey: pki.untrustedCa.privateKey };
      return { leaf: pki.issue({ issuer }) };
    },
  },
  {
    title: 'TRUST-11 issued by an end entity that the anchor vouches for',
    code: 'PKI_ISSUER_NOT_CA',
    make: (pki) => {
      const certificate = pki.issue({ subject: [['CN', 'mallory']], publicKey: pki.ecKeys.publicKey });
      return {
        leaf: pki.issue({ issuer: { certificate, privateKey: pki.ecKeys.privateKey } }),
        candidates: [certificate],
      };
    },
  },
  {
    title: 'TRUST-04 issued by an end entity that is an anchor',
    code: 'PKI_ISSUER_NOT_CA',
    make: (pki) => {
      const certificate = pki.issue({ subject: [['CN', 'mallory']], publicKey: pki.ecKeys.publicKey });
      return {
        leaf: pki.issue({ issuer: { certificate, privateKey: pki.ecKeys.privateKey } }),
        anchors: [certificate],
      };
    },
  },
  {
    title: 'TRUST-11 a CA that may not sign certificates',
    code: 'PKI_ISSUER_KEY_USAGE',
    make: (pki) => below(pki, { keyUsage: ['cRLSign', 'digitalSignature'] }),
  },
  {
    title: 'TRUST-11 a CA certificate without cA',
    code: 'PKI_ISSUER_NOT_CA',
    make: (pki) => below(pki, { isCa: false }),
  },
  {
    title: 'TRUST-11 a CA with a path length but without cA',
    code: 'PKI_ISSUER_NOT_CA',
    make: (pki) => below(pki, { isCa: false, pathLength: 3 }),
  },
  {
    title: 'TRUST-01 an expired intermediate CA',
    code: 'PKI_EXPIRED',
    make: (pki) => below(pki, { notAfter: past(1) }),
  },
  {
    title: 'TRUST-01 an intermediate CA not yet valid',
    code: 'PKI_NOT_YET_VALID',
    make: (pki) => below(pki, { notBefore: future(1) }),
  },
  {
    title: 'AS-20 an intermediate CA signed with SHA-1',
    code: 'PKI_SIGNATURE_ALGORITHM',
    make: (pki) => below(pki, { digest: 'sha1' }),
  },
  {
    title: 'AS-17 an intermediate CA for servers only',
    code: 'PKI_EXTENDED_KEY_USAGE',
    make: (pki) => below(pki, { extendedKeyUsage: ['1.3.6.1.5.5.7.3.1'] }),
  },
  {
    title: 'TRUST-11 an intermediate CA with an unknown critical extension',
    code: 'PKI_CRITICAL_EXTENSION',
    make: (pki) =>
      below(pki, { extensions: [{ oid: '1.3.6.1.4.1.55555.2', isCritical: true, value: der.sequence() }] }),
  },
  ...([0x80, 0x81] as const).map((tag): Case => ({
    title: `TRUST-11 name constraints with a ${tag === 0x80 ? 'minimum' : 'maximum'} (RFC 5280 §4.2.1.10)`,
    code: 'PKI_NAME_CONSTRAINT',
    make: (pki) => {
      const base = der.implicit(1, false, Buffer.from('direct.alpha.example'));
      const permitted = der.implicit(0, true, der.sequence(base, der.tlv(tag, Buffer.of(1))));
      return below(pki, {
        extensions: [{ oid: '2.5.29.30', isCritical: true, value: der.sequence(permitted) }],
      });
    },
  })),
  {
    title: 'TRUST-11 path length 0 with a CA below',
    code: 'PKI_PATH_LENGTH',
    make: (pki) => {
      const first = spareAuthority(pki, 1, { pathLength: 0 });
      const second = spareAuthority(pki, 2, { issuer: first });
      return { leaf: pki.issue({ issuer: second }), candidates: [first.certificate, second.certificate] };
    },
  },
  {
    title: 'TRUST-11 the path length of the anchor itself',
    code: 'PKI_PATH_LENGTH',
    make: (pki) => {
      const keys = pki.spareKeys[1];
      assert.ok(keys);
      const certificate = createAuthority({
        subject: [['CN', 'short']],
        ...keys,
        notBefore: past(9),
        notAfter: future(9),
        pathLength: 0,
      });
      const issuer = spareAuthority(pki, 2, { issuer: { certificate, privateKey: keys.privateKey } });
      return { leaf: pki.issue({ issuer }), candidates: [issuer.certificate], anchors: [certificate] };
    },
  },
  {
    title: 'TRUST-05 the chain cut: no intermediate CA to be had',
    code: 'PKI_ISSUER_NOT_FOUND',
    make: (pki) => ({ leaf: pki.issue({ issuer: pki.intermediate }) }),
  },
  {
    title: 'TRUST-01 the chain cut and re-rooted: the same intermediate name and key under an unknown CA',
    code: 'PKI_ISSUER_NOT_FOUND',
    make: (pki) => {
      const rerooted = pki.issueAuthority({ issuer: pki.untrustedCa });
      return {
        leaf: pki.issue({ issuer: pki.intermediate }),
        candidates: [rerooted.certificate, pki.untrustedCa.certificate],
      };
    },
  },
  {
    title: 'TRUST-01 the chain cut and re-rooted on a CA in the name of the anchor',
    code: 'PKI_SIGNATURE_INVALID',
    make: (pki) => {
      const forged = forgeAnchor(pki);
      const rerooted = pki.issueAuthority({ issuer: forged });
      return {
        leaf: pki.issue({ issuer: pki.intermediate }),
        candidates: [rerooted.certificate, forged.certificate],
      };
    },
  },
  {
    title: 'TRUST-11 two CAs that vouch for each other in a circle',
    code: 'PKI_ISSUER_NOT_FOUND',
    make: (pki) => {
      const first = spareAuthority(pki, 1, { issuer: pki.untrustedCa });
      const second = spareAuthority(pki, 2, { issuer: first });
      const back = spareAuthority(pki, 1, { issuer: second });
      return {
        leaf: pki.issue({ issuer: first }),
        candidates: [back.certificate, second.certificate, first.certificate],
      };
    },
  },
  {
    title: 'TRUST-11 more certificates than any real path has',
    code: 'PKI_PATH_TOO_LONG',
    make: (pki) => {
      const chain = [pki.root];
      for (let index = 0; index < 9; index++)
        chain.push(spareAuthority(pki, index, { issuer: chain[index] ?? pki.root }));
      return {
        leaf: pki.issue({ issuer: chain.at(-1) ?? pki.root }),
        candidates: chain.slice(1).map((one) => one.certificate),
      };
    },
  },
  {
    title: 'TRUST-11 a crowd of CAs of one name, to buy time',
    code: 'PKI_PATH_TOO_BROAD',
    make: (pki) => {
      const crowd = Array.from(
        { length: 60 },
        () => pki.issueAuthority({ issuer: pki.untrustedCa, publicKey: pki.ecKeys.publicKey }).certificate,
      );
      return { leaf: pki.issue({ issuer: pki.intermediate }), candidates: crowd };
    },
  },
  {
    title: 'TRUST-11 an outsider who compares thousands of names with thousands of limits, to buy time',
    code: 'PKI_PATH_TOO_BROAD',
    make: (pki) => {
      const numbers = Array.from({ length: 4000 }, (_, index) => index);
      const issuer = pki.issueAuthority({
        issuer: pki.untrustedCa,
        nameConstraints: { excluded: { rfc822: numbers.map((number) => `.x${number}.example`) } },
      });
      const rfc822Names = [alice, ...numbers.map((number) => `a${number}@b.example`)];
      return { leaf: pki.issue({ issuer, rfc822Names }), candidates: [issuer.certificate] };
    },
  },
  {
    title: 'TRUST-01 an expired anchor',
    code: 'PKI_EXPIRED',
    make: (pki) => {
      const keys = pki.spareKeys[1];
      assert.ok(keys);
      const certificate = createAuthority({
        subject: [['CN', 'old']],
        ...keys,
        notBefore: past(9),
        notAfter: past(1),
      });
      return {
        leaf: pki.issue({ issuer: { certificate, privateKey: keys.privateKey } }),
        anchors: [certificate],
      };
    },
  },
  {
    title: 'AS-14 an intermediate CA with an RSA key of 1024 bits',
    code: 'PKI_KEY_TOO_WEAK',
    make: (pki) => below(pki, { keys: pki.weakKeys }),
  },
  {
    title: 'TRUST-11 mailboxes limited to the host of the parent domain',
    code: 'PKI_NAME_CONSTRAINT',
    make: (pki) => below(pki, { nameConstraints: { permitted: { rfc822: ['alpha.example'] } } }),
  },
  {
    title: 'TRUST-11 hosts limited to a domain that is only the end of a label',
    code: 'PKI_NAME_CONSTRAINT',
    make: (pki) => below(pki, { nameConstraints: { permitted: { dns: ['lpha.example'] } } }),
  },
  {
    title: 'TRUST-11 a name written in capitals does not escape an exclusion',
    code: 'PKI_NAME_CONSTRAINT',
    make: (pki) => {
      const issuer = pki.issueAuthority({
        nameConstraints: { excluded: { rfc822: ['x@direct.alpha.example'] } },
      });
      const names = [alice, 'X@DIRECT.alpha.example'];
      return { leaf: pki.issue({ issuer, rfc822Names: names }), candidates: [issuer.certificate] };
    },
  },
  {
    title: 'TRUST-11 mailboxes limited to another host',
    code: 'PKI_NAME_CONSTRAINT',
    make: (pki) => below(pki, { nameConstraints: { permitted: { rfc822: ['direct.gamma.example'] } } }),
  },
  {
    title: 'TRUST-11 mailboxes limited to hosts below the domain',
    code: 'PKI_NAME_CONSTRAINT',
    make: (pki) => below(pki, { nameConstraints: { permitted: { rfc822: ['.direct.alpha.example'] } } }),
  },
  {
    title: 'TRUST-11 hosts limited to those below the domain',
    code: 'PKI_NAME_CONSTRAINT',
    make: (pki) => below(pki, { nameConstraints: { permitted: { dns: ['.direct.alpha.example'] } } }),
  },
  {
    title: 'TRUST-11 a single mailbox excluded, in other case',
    code: 'PKI_NAME_CONSTRAINT',
    make: (pki) => below(pki, { nameConstraints: { excluded: { rfc822: ['ALICE@direct.Alpha.example'] } } }),
  },
  ...(
    [
      ['rfc822', '@direct.alpha.example'],
      ['rfc822', 'a@b@direct.alpha.example'],
      ['rfc822', 'direct.alpha.example.'],
      ['dns', 'alpha.example.'],
      ['dns', '*.alpha.example'],
      ['dns', '.alpha.example'],
    ] as const
  ).map(([kind, base]): Case => ({
    title: `TRUST-11 what excludes ${base} may mean every mailbox there`,
    code: 'PKI_NAME_CONSTRAINT',
    make: (pki) => below(pki, { nameConstraints: { excluded: { [kind]: [base] } } }),
  })),
  {
    title: 'TRUST-11 all mailboxes excluded',
    code: 'PKI_NAME_CONSTRAINT',
    make: (pki) => below(pki, { nameConstraints: { excluded: { rfc822: [''] } } }),
  },
  {
    title: 'TRUST-11 a permitted host does not undo its exclusion',
    code: 'PKI_NAME_CONSTRAINT',
    make: (pki) =>
      below(pki, {
        nameConstraints: {
          permitted: { rfc822: ['direct.alpha.example'] },
          excluded: { rfc822: ['direct.alpha.example'] },
        },
      }),
  },
  {
    title: 'TRUST-11 one name of several outside the limit',
    code: 'PKI_NAME_CONSTRAINT',
    make: (pki) => {
      const issuer = pki.issueAuthority({
        nameConstraints: { permitted: { rfc822: ['direct.alpha.example'] } },
      });
      return {
        leaf: pki.issue({ issuer, rfc822Names: [alice, 'x@direct.beta.example'] }),
        candidates: [issuer.certificate],
      };
    },
  },
  {
    title: 'TRUST-11 the legacy address in the subject counts where there is no rfc822Name',
    code: 'PKI_NAME_CONSTRAINT',
    make: (pki) => {
      const issuer = pki.issueAuthority({
        nameConstraints: { permitted: { rfc822: ['direct.alpha.example'] } },
      });
      const subject = [
        ['CN', 'x'],
        ['emailAddress', 'x@direct.beta.example'],
      ] as const;
      return {
        leaf: pki.issue({ issuer, subject, rfc822Names: [], dnsNames: ['direct.alpha.example'] }),
        candidates: [issuer.certificate],
      };
    },
  },
  {
    title: 'TRUST-11 hosts limited to another domain, for a domain-bound certificate',
    code: 'PKI_NAME_CONSTRAINT',
    make: (pki) => {
      const issuer = pki.issueAuthority({ nameConstraints: { permitted: { dns: ['gamma.example'] } } });
      return {
        leaf: pki.issue({ issuer, rfc822Names: [], dnsNames: ['direct.alpha.example'] }),
        candidates: [issuer.certificate],
      };
    },
  },
  {
    title: 'TRUST-11 a CA limited to the mailboxes of one domain that issues a dNSName for another',
    code: 'PKI_NAME_CONSTRAINT',
    make: (pki) => {
      const issuer = pki.issueAuthority({
        nameConstraints: { permitted: { rfc822: ['direct.gamma.example'] } },
      });
      return {
        leaf: pki.issue({ issuer, rfc822Names: [], dnsNames: ['direct.alpha.example'] }),
        candidates: [issuer.certificate],
      };
    },
  },
  {
    title: 'TRUST-11 a CA limited to the hosts of one domain that issues an rfc822Name of another',
    code: 'PKI_NAME_CONSTRAINT',
    make: (pki) => below(pki, { nameConstraints: { permitted: { dns: ['direct.gamma.example'] } } }),
  },
  {
    title: 'TRUST-11 subjects limited to another organization',
    code: 'PKI_NAME_CONSTRAINT',
    make: (pki) => below(pki, { nameConstraints: { permitted: { directory: [[['O', 'gamma']]] } } }),
  },
  {
    title: 'TRUST-11 a subject that is excluded',
    code: 'PKI_NAME_CONSTRAINT',
    make: (pki) => below(pki, { nameConstraints: { excluded: { directory: [[['CN', 'alice']]] } } }),
  },
  {
    title: 'TRUST-11 an end entity in the name of its issuer does not escape the limits of CAs in between',
    code: 'PKI_NAME_CONSTRAINT',
    make: (pki) => {
      const issuer = spareAuthority(pki, 1, {
        nameConstraints: { permitted: { directory: [[['O', 'gamma']]] } },
      });
      return { leaf: pki.issue({ issuer, subject: [['CN', 'spare 1']] }), candidates: [issuer.certificate] };
    },
  },
  {
    title: 'TRUST-11 a limit on URIs, which cannot be checked, and a certificate with one',
    code: 'PKI_NAME_CONSTRAINT',
    make: (pki) => {
      const issuer = pki.issueAuthority({ nameConstraints: { permitted: { uri: ['alpha.example'] } } });
      const uri = der.implicit(6, false, Buffer.from('https://alpha.example/', 'latin1'));
      return { leaf: pki.issue({ issuer, otherNames: [uri] }), candidates: [issuer.certificate] };
    },
  },
  {
    title: 'TRUST-11 an excluded URI, which cannot be checked either',
    code: 'PKI_NAME_CONSTRAINT',
    make: (pki) => {
      const issuer = pki.issueAuthority({ nameConstraints: { excluded: { uri: ['beta.example'] } } });
      const uri = der.implicit(6, false, Buffer.from('https://alpha.example/', 'latin1'));
      return { leaf: pki.issue({ issuer, otherNames: [uri] }), candidates: [issuer.certificate] };
    },
  },
  {
    title: 'TRUST-11 the limits of the anchor itself',
    code: 'PKI_NAME_CONSTRAINT',
    make: (pki) => {
      const keys = pki.spareKeys[1];
      assert.ok(keys);
      const certificate = createCertificate({
        subject: [['CN', 'limited']],
        ...keys,
        notBefore: past(9),
        notAfter: future(9),
        isCa: true,
        keyUsage: ['keyCertSign'],
        nameConstraints: { permitted: { rfc822: ['direct.gamma.example'] } },
      });
      return {
        leaf: pki.issue({ issuer: { certificate, privateKey: keys.privateKey } }),
        anchors: [certificate],
      };
    },
  },
  {
    title: 'TRUST-11 the limits of a CA two levels up',
    code: 'PKI_NAME_CONSTRAINT',
    make: (pki) => {
      const first = spareAuthority(pki, 1, {
        nameConstraints: { permitted: { rfc822: ['direct.gamma.example'] } },
      });
      const second = spareAuthority(pki, 2, { issuer: first });
      return { leaf: pki.issue({ issuer: second }), candidates: [first.certificate, second.certificate] };
    },
  },
];

describe('paths that are refused', () => {
  let pki: TestPki;
  before(async () => {
    pki = await createTestPki();
  });
  for (const { title, code, make, context = {} } of cases) {
    test(`${title}: ${code}`, async () => {
      const { leaf, candidates = [], anchors = [pki.root.certificate] } = make(pki);
      await refusedWith(code, () =>
        validatePath(leaf, 'signing', { at, anchors, candidates, address: alice, ...context }),
      );
    });
  }
});
