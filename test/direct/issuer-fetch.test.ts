/** Missing issuers fetched by AIA (TRUST-05): what helps, what does not, and what it may cost. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { der } from '../../src/lib/asn1/index.ts';
import {
  createIssuerFetcher,
  formatPem,
  validatePath,
  type Certificate,
  type TrustContext,
} from '../../src/lib/pki/index.ts';
import { countTurns } from './support/count-turns.ts';
import { createFilesFetch, type ServedFile } from './support/files-fetch.ts';
import { refusedWith } from './support/refusals.ts';
import { alice, at, createTestPki, type TestPki } from './support/test-pki.ts';

const url = 'http://aia.alpha.example/intermediate.cer';

/** A PKCS#7 certificate set without signers, as p7c files are. */
function certificateSet(certificates: readonly Pick<Certificate, 'der'>[]): Buffer {
  const signedData = der.sequence(
    der.integer(1),
    der.set(),
    der.sequence(der.oid('1.2.840.113549.1.7.1')),
    der.implicit(0, true, ...certificates.map((one) => one.der)),
    der.set(),
  );
  return der.sequence(der.oid('1.2.840.113549.1.7.2'), der.explicit(0, signedData));
}

const broken = { der: der.sequence(der.null()) };

describe('issuers by AIA', () => {
  let pki: TestPki;
  let leaf: Certificate;
  before(async () => {
    pki = await createTestPki();
    leaf = pki.issue({ issuer: pki.intermediate, caIssuerUrls: [url] });
  });

  function contextWith(file: ServedFile): TrustContext {
    const { fetch } = createFilesFetch(new Map([[url, file]]));
    return {
      at,
      anchors: [pki.root.certificate],
      address: alice,
      fetchIssuers: createIssuerFetcher({ fetch, now: () => at }),
    };
  }

  test('TRUST-05 the issuer as one DER certificate, as PEM, and in a PKCS#7 set', async () => {
    const { der: bytes } = pki.intermediate.certificate;
    const set = certificateSet([pki.untrustedCa.certificate, pki.intermediate.certificate]);
    for (const file of [
      bytes,
      Buffer.from(formatPem('CERTIFICATE', bytes)),
      set,
      Buffer.from(formatPem('PKCS7', set)),
    ]) {
      const path = await validatePath(leaf, 'encryption', contextWith(file));
      assert.equal(path.certificates.length, 3);
    }
  });

  test('TRUST-05 in a set of any size the issuer is found by its subject', async () => {
    for (const count of [31, 33, 2_500]) {
      const others = Array.from({ length: count }, () => pki.untrustedCa.certificate);
      for (const set of [
        [...others, pki.intermediate.certificate],
        [broken, ...others, pki.intermediate.certificate],
      ])
        assert.equal(
          (await validatePath(leaf, 'encryption', contextWith(certificateSet(set)))).certificates.length,
          3,
        );
    }
  });

  test('SEC-11 of a large set only some certificates are read, which any sender can have fetched', async () => {
    const crowd = Array.from(
      { length: 40 },
      () => pki.issueAuthority({ publicKey: pki.ecKeys.publicKey }).certificate,
    );
    const late = certificateSet([...crowd, pki.intermediate.certificate]);
    await refusedWith('PKI_SIGNATURE_INVALID', () => validatePath(leaf, 'encryption', contextWith(late)));
  });

  test('SEC-11 the signatures of many look-alikes are verified in several turns of the event loop', async () => {
    const publicKey = pki.ecKeys.publicKey;
    const crowd = Array.from({ length: 32 }, () => pki.issueAuthority({ publicKey }).certificate);
    const { fetch } = createFilesFetch(new Map([[url, certificateSet(crowd)]]));
    const fetchIssuers = createIssuerFetcher({ fetch, now: () => at });
    const turns = await countTurns(async () => assert.equal((await fetchIssuers(leaf)).length, 32));
    assert.ok(turns >= 3, `${turns} turns`);
  });

  test('TRUST-05 an unreadable certificate in a set keeps no other from being tried', async () => {
    const set = certificateSet([broken, pki.intermediate.certificate, broken]);
    assert.equal((await validatePath(leaf, 'encryption', contextWith(set))).certificates.length, 3);
    const none = certificateSet([broken, broken]);
    await refusedWith('PKI_ISSUER_NOT_FOUND', () => validatePath(leaf, 'encryption', contextWith(none)));
  });

  const useless: readonly { title: string; make: () => ServedFile; code?: string }[] = [
    { title: 'an unrelated CA', make: () => pki.untrustedCa.certificate.der },
    { title: 'bytes that are no certificate', make: () => Buffer.from('<html>') },
    { title: 'nothing', make: () => ({ status: 404 }) },
    { title: 'a private target', make: () => 'forbidden' },
    {
      title: 'an end entity of the right name',
      make: () => pki.issueAuthority({ isCa: false }).certificate.der,
      code: 'PKI_ISSUER_NOT_CA',
    },
    {
      title: 'the right name under an unknown CA',
      make: () => pki.issueAuthority({ issuer: pki.untrustedCa }).certificate.der,
    },
    {
      title: 'a CA limited to another domain',
      make: () =>
        pki.issueAuthority({ nameConstraints: { permitted: { rfc822: ['gamma.example'] } } }).certificate.der,
      code: 'PKI_NAME_CONSTRAINT',
    },
  ];
  for (const { title, make, code = 'PKI_ISSUER_NOT_FOUND' } of useless) {
    test(`TRUST-05 ${title} at the URL: ${code}`, async () => {
      const error = await refusedWith(code, () => validatePath(leaf, 'encryption', contextWith(make())));
      assert.equal(error.isTransient, false);
    });
  }

  for (const file of ['timeout', { status: 503 }, { status: 429 }] as const) {
    test(`TRUST-05 a server that fails (${JSON.stringify(file)}) leaves it open: PKI_ISSUER_UNAVAILABLE, transient`, async () => {
      const error = await refusedWith('PKI_ISSUER_UNAVAILABLE', () =>
        validatePath(leaf, 'encryption', contextWith(file)),
      );
      assert.equal(error.isTransient, true);
    });
  }

  test('TRUST-05 a useless certificate at one URL decides nothing while another URL may give the issuer later', async () => {
    const other = 'http://aia.alpha.example/other.cer';
    const twice = pki.issue({ issuer: pki.intermediate, caIssuerUrls: [other, url] });
    const files = new Map<string, ServedFile>([
      [other, pki.untrustedCa.certificate.der],
      [url, 'timeout'],
    ]);
    const validate = () => {
      const { fetch } = createFilesFetch(files);
      return validatePath(twice, 'encryption', {
        ...contextWith('timeout'),
        fetchIssuers: createIssuerFetcher({ fetch, now: () => at }),
      });
    };
    await refusedWith('PKI_ISSUER_UNAVAILABLE', validate);
    files.set(url, { status: 404 });
    await refusedWith('PKI_ISSUER_NOT_FOUND', validate);
    files.set(url, pki.intermediate.certificate.der);
    assert.equal((await validate()).certificates.length, 3);
  });

  test('TRUST-05 nothing is fetched while the certificates at hand suffice', async () => {
    const { fetch, count } = createFilesFetch(new Map());
    const fetchIssuers = createIssuerFetcher({ fetch, now: () => at });
    const candidates = [pki.intermediate.certificate];
    await validatePath(leaf, 'signing', {
      at,
      anchors: [pki.root.certificate],
      candidates,
      address: alice,
      fetchIssuers,
    });
    assert.equal(count(url), 0);
  });

  test('TRUST-05 a chain of AIA pointers is followed a few steps and no further', async () => {
    const urls = Array.from({ length: 7 }, (_, index) => `http://aia.alpha.example/${index}.cer`);
    const files = new Map<string, ServedFile>();
    let issuer = pki.root;
    for (const [index, keys] of pki.spareKeys.slice(0, 6).entries()) {
      issuer = pki.issueAuthority({
        keys,
        issuer,
        subject: [['CN', `step ${index}`]],
        caIssuerUrls: [urls[index - 1] ?? 'http://none.example/'],
      });
      files.set(urls[index] ?? '', issuer.certificate.der);
    }
    const { fetch, count } = createFilesFetch(files);
    const context = {
      at,
      anchors: [pki.root.certificate],
      address: alice,
      fetchIssuers: createIssuerFetcher({ fetch, now: () => at }),
    };
    const far = pki.issue({ issuer, caIssuerUrls: [urls[5] ?? ''] });
    await refusedWith('PKI_ISSUER_NOT_FOUND', () => validatePath(far, 'signing', context));
    const fetched = urls.reduce((sum, one) => sum + count(one), 0);
    assert.equal(fetched, 4);
  });

  test('TRUST-05 answers are remembered for a while, failures only shortly', async () => {
    const { fetch, count } = createFilesFetch(new Map([[url, pki.intermediate.certificate.der]]));
    let now = at;
    const fetchIssuers = createIssuerFetcher({ fetch, now: () => now });
    await fetchIssuers(leaf);
    await fetchIssuers(leaf);
    assert.equal(count(url), 1);
    now = new Date(at.getTime() + 3_600_001);
    await fetchIssuers(leaf);
    assert.equal(count(url), 2);
  });

  test('TRUST-05 only http and https URLs of a certificate are used', () => {
    const urls = [
      'ldap://x.example/',
      'file:///etc/passwd',
      'HTTP://aia.alpha.example/a',
      'https://aia.alpha.example/b',
    ];
    assert.deepEqual(pki.issue({ caIssuerUrls: urls, crlUrls: urls }).caIssuerUrls, urls.slice(2));
    assert.deepEqual(pki.issue({ crlUrls: urls }).crlUrls, urls.slice(2));
  });
});
