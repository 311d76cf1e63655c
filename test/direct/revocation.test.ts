/** CRLs: what they revoke, when they are trusted, and what follows when none can be (TRUST-06, TRUST-07). */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { der } from '../../src/lib/asn1/index.ts';
import {
  createAuthority,
  createRevocationChecker,
  createValidationBudget,
  formatPem,
  generalNameDer,
  validatePath,
  type Certificate,
  type CrlRequest,
  type Issuer,
  type TrustContext,
} from '../../src/lib/pki/index.ts';
import { countTurns } from './support/count-turns.ts';
import { createFilesFetch, type ServedFile } from './support/files-fetch.ts';
import { expectFinding, refusedWith } from './support/refusals.ts';
import { alice, at, createTestPki, dayMs, future, past, type TestPki } from './support/test-pki.ts';

const url = 'http://crl.alpha.example/alpha.crl';
const otherUrl = 'http://crl.alpha.example/other.crl';

const extension = (oid: string, value: Buffer, isCritical = true) => ({ oid, isCritical, value });
const distributionPoint = (...parts: Buffer[]) => extension('2.5.29.28', der.sequence(...parts));
const pointName = (name: string) => der.explicit(0, der.implicit(0, true, generalNameDer.uri(name)));
const flag = (tag: number) => der.implicit(tag, false, Buffer.of(0xff));

describe('CRLs', () => {
  let pki: TestPki;
  let leaf: Certificate;
  before(async () => {
    pki = await createTestPki();
    leaf = pki.issue({ crlUrls: [url] });
  });

  function contextWith(files: Record<string, ServedFile>, changes: Partial<TrustContext> = {}): TrustContext {
    const { fetch } = createFilesFetch(new Map(Object.entries(files)));
    const checkRevocation = createRevocationChecker({ fetch });
    return {
      at,
      anchors: [pki.root.certificate],
      address: alice,
      checkRevocation,
      policy: { revocation: 'hard-fail' },
      ...changes,
    };
  }

  const revokes = (certificate: Certificate): CrlRequest['revoked'] => [
    { serialNumber: certificate.serialNumberDer, revokedAt: past(2), reason: 'keyCompromise' },
  ];

  test('TRUST-06 a CRL without the certificate: valid, and the result says by which list', async () => {
    for (const list of [pki.crl(), Buffer.from(formatPem('CRL', pki.crl()))]) {
      const path = await validatePath(leaf, 'signing', contextWith({ [url]: list }));
      assert.deepEqual(
        path.revocation.map(({ status, crlUrl }) => ({ status, crlUrl })),
        [{ status: 'good', crlUrl: url }],
      );
      assert.deepEqual(path.warnings, []);
    }
  });

  test('TRUST-06 a revoked signer: PKI_REVOKED', async () => {
    const error = await refusedWith('PKI_REVOKED', () =>
      validatePath(leaf, 'signing', contextWith({ [url]: pki.crl({ revoked: revokes(leaf) }) })),
    );
    assert.match(error.message, /keyCompromise/);
    assert.equal(error.isTransient, false);
  });

  test('SEC-11 a long list is read in several turns of the event loop, whoever has written it', async () => {
    const others = Array.from({ length: 20_000 }, (_, index) => ({
      serialNumber: Buffer.from((index + 2 ** 32).toString(16).padStart(10, '0'), 'hex'),
      revokedAt: past(2),
    }));
    const list = pki.crl({ revoked: [...others, ...(revokes(leaf) ?? [])] });
    const turns = await countTurns(() =>
      refusedWith('PKI_REVOKED', () => validatePath(leaf, 'signing', contextWith({ [url]: list }))),
    );
    assert.ok(turns >= 3, `${turns} turns`);
  });

  test('TRUST-06 a revoked recipient: PKI_REVOKED', async () => {
    await refusedWith('PKI_REVOKED', () =>
      validatePath(leaf, 'encryption', contextWith({ [url]: pki.crl({ revoked: revokes(leaf) }) })),
    );
  });

  test('TRUST-06 a certificate on hold counts as revoked: PKI_REVOKED', async () => {
    const revoked = [
      { serialNumber: leaf.serialNumberDer, revokedAt: past(2), reason: 'certificateHold' as const },
    ];
    await refusedWith('PKI_REVOKED', () =>
      validatePath(leaf, 'signing', contextWith({ [url]: pki.crl({ revoked }) })),
    );
  });

  test('TRUST-06 a revoked intermediate CA: PKI_REVOKED', async () => {
    const issuer = pki.issueAuthority({ crlUrls: [url] });
    const files = {
      [url]: pki.crl({ revoked: revokes(issuer.certificate) }),
      [otherUrl]: pki.crl({ issuer }),
    };
    const below = pki.issue({ issuer, crlUrls: [otherUrl] });
    await refusedWith('PKI_REVOKED', () =>
      validatePath(below, 'signing', contextWith(files, { candidates: [issuer.certificate] })),
    );
  });

  test('TRUST-06 a revoked end entity stays revoked, however many other ways lead up', async () => {
    const keys = pki.spareKeys[0];
    assert.ok(keys);
    const make = (days: number) =>
      createAuthority({ subject: [['CN', 'two']], ...keys, notBefore: past(days), notAfter: future(days) });
    const [first, second] = [make(10), make(20)];
    const issuer = { certificate: first, privateKey: keys.privateKey };
    const certificate = pki.issue({ issuer, crlUrls: [url] });
    const files = { [url]: pki.crl({ issuer, revoked: revokes(certificate) }) };
    await refusedWith('PKI_REVOKED', () =>
      validatePath(certificate, 'signing', contextWith(files, { anchors: [second, first] })),
    );
  });

  test('TRUST-06 a revoked end entity stays revoked, though another issuer certificate has no list', async () => {
    const keys = pki.spareKeys[0];
    assert.ok(keys);
    const make = (days: number) =>
      createAuthority({ subject: [['CN', 'two']], ...keys, notBefore: past(days), notAfter: future(days) });
    const [first, second] = [make(10), make(20)];
    const certificate = pki.issue({ issuer: { certificate: first, privateKey: keys.privateKey } });
    const asked: string[] = [];
    const checkRevocation: TrustContext['checkRevocation'] = async ({ issuer }) => {
      asked.push(issuer.fingerprint);
      return { status: asked.length === 1 ? 'revoked' : 'unknown' };
    };
    const context = { at, anchors: [first, second], address: alice, checkRevocation };
    await refusedWith('PKI_REVOKED', () => validatePath(certificate, 'signing', context));
    assert.equal(asked.length, 1);
  });

  const invalidLists: readonly { title: string; code: string; make: () => ServedFile }[] = [
    {
      title: 'out of date',
      code: 'PKI_CRL_STALE',
      make: () => pki.crl({ thisUpdate: past(20), nextUpdate: past(10) }),
    },
    {
      title: 'without an end',
      code: 'PKI_CRL_STALE',
      make: () => pki.crl({ nextUpdate: undefined as never }),
    },
    {
      title: 'from the future',
      code: 'PKI_CRL_NOT_YET_VALID',
      make: () => pki.crl({ thisUpdate: future(2), nextUpdate: future(9) }),
    },
    {
      title: "signed by an unknown CA in the issuer's name",
      code: 'PKI_CRL_SIGNATURE',
      make: () =>
        pki.crl({ issuer: { certificate: pki.root.certificate, privateKey: pki.untrustedCa.privateKey } }),
    },
    {
      title: 'a list of an unknown CA',
      code: 'PKI_CRL_ISSUER',
      make: () => pki.crl({ issuer: pki.untrustedCa }),
    },
    { title: 'signed with SHA-1', code: 'PKI_CRL_SIGNATURE', make: () => pki.crl({ digest: 'sha1' }) },
    {
      title: 'a delta',
      code: 'PKI_CRL_DELTA',
      make: () => pki.crl({ extensions: [extension('2.5.29.27', der.integer(1))] }),
    },
    {
      title: 'indirect',
      code: 'PKI_CRL_SCOPE',
      make: () => pki.crl({ extensions: [distributionPoint(flag(4))] }),
    },
    {
      title: 'for attribute certificates',
      code: 'PKI_CRL_SCOPE',
      make: () => pki.crl({ extensions: [distributionPoint(flag(5))] }),
    },
    {
      title: 'for some reasons only',
      code: 'PKI_CRL_SCOPE',
      make: () => pki.crl({ extensions: [distributionPoint(der.implicit(3, false, Buffer.of(6, 0x40)))] }),
    },
    {
      title: 'for CA certificates only',
      code: 'PKI_CRL_SCOPE',
      make: () => pki.crl({ extensions: [distributionPoint(flag(2))] }),
    },
    {
      title: 'of another distribution point',
      code: 'PKI_CRL_SCOPE',
      make: () => pki.crl({ extensions: [distributionPoint(pointName(otherUrl))] }),
    },
    {
      title: 'with an unknown critical extension',
      code: 'PKI_CRL_CRITICAL_EXTENSION',
      make: () => pki.crl({ extensions: [extension('1.3.6.1.4.1.55555.2', der.null())] }),
    },
    {
      title: 'with an entry of another issuer, whose certificates have the same numbers',
      code: 'PKI_CRL_CRITICAL_EXTENSION',
      make: () =>
        pki.crl({
          revoked: [
            {
              serialNumber: Buffer.of(9),
              revokedAt: past(1),
              extensions: [extension('2.5.29.29', der.sequence())],
            },
            ...revokes(leaf),
          ],
        }),
    },
    { title: 'that is none', code: 'PKI_CRL_MALFORMED', make: () => Buffer.from('<html>not found</html>') },
    { title: 'cut short', code: 'PKI_CRL_MALFORMED', make: () => pki.crl().subarray(0, -3) },
    {
      title: 'with bytes behind it',
      code: 'PKI_CRL_MALFORMED',
      make: () => Buffer.concat([pki.crl(), Buffer.of(0)]),
    },
    { title: 'not there', code: 'PKI_CRL_UNAVAILABLE', make: () => ({ status: 404 }) },
    { title: 'not to be had in time', code: 'PKI_CRL_UNAVAILABLE', make: () => 'timeout' },
    { title: 'at a private address', code: 'PKI_CRL_UNAVAILABLE', make: () => 'forbidden' },
  ];
  for (const { title, code, make } of invalidLists) {
    test(`TRUST-07 a CRL ${title} is not valid (${code}): hard-fail refuses, soft-fail warns`, async () => {
      const files = { [url]: make() };
      const error = await refusedWith('PKI_REVOCATION_UNKNOWN', () =>
        validatePath(leaf, 'signing', contextWith(files)),
      );
      assert.equal(error.isTransient, true);
      const path = await validatePath(
        leaf,
        'signing',
        contextWith(files, { policy: { revocation: 'soft-fail' } }),
      );
      assert.equal(path.warnings.length, 1);
      expectFinding(code, path.warnings[0]);
      assert.equal(path.revocation[0]?.status, 'unknown');
    });
  }

  test('TRUST-06 an outsider cannot revoke: his list changes nothing but the warnings', async () => {
    const forged = pki.crl({
      issuer: { certificate: pki.root.certificate, privateKey: pki.untrustedCa.privateKey },
      revoked: revokes(leaf),
    });
    const path = await validatePath(
      leaf,
      'signing',
      contextWith({ [url]: forged }, { policy: { revocation: 'soft-fail' } }),
    );
    assert.deepEqual(
      path.warnings.map((warning) => warning.code),
      ['PKI_CRL_SIGNATURE'],
    );
  });

  test('TRUST-07 a list in its grace time counts, with a warning', async () => {
    const path = await validatePath(leaf, 'signing', {
      ...contextWith({}),
      checkRevocation: async () => ({ status: 'good', isOverdue: true }),
    });
    assert.deepEqual(
      path.warnings.map((warning) => warning.code),
      ['PKI_CRL_STALE'],
    );
  });

  const onHold = (certificate: Certificate): CrlRequest['revoked'] => [
    { serialNumber: certificate.serialNumberDer, revokedAt: past(2), reason: 'certificateHold' },
  ];
  const someReasons = distributionPoint(der.implicit(3, false, Buffer.of(6, 0x40)));
  const foreign = { serialNumber: Buffer.of(9), revokedAt: past(1) };
  const weakLists: readonly {
    title: string;
    code: string;
    changes: Partial<CrlRequest> & { others?: CrlRequest['revoked'] };
  }[] = [
    {
      title: 'out of date',
      code: 'PKI_CRL_STALE',
      changes: { thisUpdate: past(20), nextUpdate: past(10) },
    },
    { title: 'without an end', code: 'PKI_CRL_STALE', changes: { nextUpdate: undefined as never } },
    {
      title: 'from the future',
      code: 'PKI_CRL_NOT_YET_VALID',
      changes: { thisUpdate: future(2), nextUpdate: future(9) },
    },
    {
      title: 'that is a delta',
      code: 'PKI_CRL_DELTA',
      changes: { extensions: [extension('2.5.29.27', der.integer(1))] },
    },
    { title: 'of some reasons', code: 'PKI_CRL_SCOPE', changes: { extensions: [someReasons] } },
    {
      title: 'with an unknown critical extension',
      code: 'PKI_CRL_CRITICAL_EXTENSION',
      changes: { extensions: [extension('1.3.6.1.4.1.55555.2', der.null())] },
    },
    {
      title: 'with an unknown critical extension in another entry',
      code: 'PKI_CRL_CRITICAL_EXTENSION',
      changes: { others: [{ ...foreign, extensions: [extension('1.3.6.1.4.1.55555.2', der.null())] }] },
    },
  ];
  for (const { title, code, changes } of weakLists) {
    test(`TRUST-07 a CRL ${title} can revoke, but a hold in it may have been lifted`, async () => {
      const soft = { policy: { revocation: 'soft-fail' } } as const;
      const withRevoked = (revoked: CrlRequest['revoked']) =>
        contextWith(
          { [url]: pki.crl({ ...changes, revoked: [...(changes.others ?? []), ...revoked] }) },
          soft,
        );
      await refusedWith('PKI_REVOKED', () => validatePath(leaf, 'signing', withRevoked(revokes(leaf))));
      for (const others of [onHold(leaf), []]) {
        const { warnings } = await validatePath(leaf, 'signing', withRevoked(others));
        assert.deepEqual(
          warnings.map((warning) => warning.code),
          [code],
        );
      }
    });
  }

  test('TRUST-07 no distribution point: hard-fail refuses for good with PKI_REVOCATION_UNCHECKABLE', async () => {
    const plain = pki.issue();
    const error = await refusedWith('PKI_REVOCATION_UNCHECKABLE', () =>
      validatePath(plain, 'signing', contextWith({})),
    );
    assert.equal(error.isTransient, false);
    const path = await validatePath(
      plain,
      'signing',
      contextWith({}, { policy: { revocation: 'soft-fail' } }),
    );
    assert.deepEqual(
      path.warnings.map((warning) => warning.code),
      ['PKI_REVOCATION_UNCHECKABLE'],
    );
  });

  test('TRUST-07 revocation checking off asks for nothing', async () => {
    const { fetch, count } = createFilesFetch(new Map());
    const checkRevocation = createRevocationChecker({ fetch });
    const context = {
      at,
      anchors: [pki.root.certificate],
      address: alice,
      checkRevocation,
      policy: { revocation: 'off' } as const,
    };
    assert.deepEqual((await validatePath(leaf, 'signing', context)).revocation, []);
    assert.equal(count(url), 0);
  });

  test('TRUST-06 fetches from a second distribution point if the first fails', async () => {
    const certificate = pki.issue({ crlUrls: [otherUrl, url] });
    const files = { [url]: pki.crl({ revoked: revokes(certificate) }) };
    await refusedWith('PKI_REVOKED', () => validatePath(certificate, 'signing', contextWith(files)));
  });

  test('TRUST-06 blanks around the URL of a list are no part of it, those inside are escaped', async () => {
    const certificate = pki.issue({ crlUrls: [` ${url} `, 'http://crl.alpha.example/My CA.crl'] });
    assert.deepEqual(certificate.crlUrls, [url, 'http://crl.alpha.example/My%20CA.crl']);
  });

  test('TRUST-06 a list limited to the very distribution point and to end entities counts', async () => {
    const extensions = [distributionPoint(pointName(url), flag(1))];
    const files = { [url]: pki.crl({ extensions, revoked: revokes(leaf) }) };
    await refusedWith('PKI_REVOKED', () => validatePath(leaf, 'signing', contextWith(files)));
  });

  test('TRUST-06 a CRL signer that the issuer has certified in its own name is accepted, any other is refused', async () => {
    const keys = pki.spareKeys[1];
    assert.ok(keys);
    const signer = (changes: Parameters<TestPki['issueAuthority']>[0] = {}) => ({
      certificate: pki.issueAuthority({
        keys,
        subject: [
          ['CN', 'alpha anchor'],
          ['O', 'alpha'],
        ],
        isCa: false,
        keyUsage: ['cRLSign'],
        ...changes,
      }).certificate,
      privateKey: keys.privateKey,
    });
    const genuine = signer();
    const files = { [url]: pki.crl({ issuer: genuine, revoked: revokes(leaf) }) };
    await refusedWith('PKI_REVOKED', () =>
      validatePath(leaf, 'signing', contextWith(files, { candidates: [genuine.certificate] })),
    );
    for (const changes of [
      { issuer: pki.untrustedCa },
      { extensions: [{ oid: '1.3.6.1.4.1.55555.2', isCritical: true, value: der.sequence() }] },
    ]) {
      const candidates = [signer(changes).certificate];
      await refusedWith('PKI_REVOCATION_UNKNOWN', () =>
        validatePath(leaf, 'signing', contextWith(files, { candidates })),
      );
    }
  });

  test('TRUST-06 a CRL signer whose certificate is out of date can revoke, and acquits nobody', async () => {
    const keys = pki.spareKeys[1];
    assert.ok(keys);
    const { certificate } = pki.issueAuthority({
      keys,
      subject: [
        ['CN', 'alpha anchor'],
        ['O', 'alpha'],
      ],
      isCa: false,
      keyUsage: ['cRLSign'],
      notAfter: past(1),
    });
    const signer = { certificate, privateKey: keys.privateKey };
    const listing = (revoked: CrlRequest['revoked']) =>
      contextWith({ [url]: pki.crl({ issuer: signer, revoked }) }, { candidates: [certificate] });
    await refusedWith('PKI_REVOKED', () => validatePath(leaf, 'signing', listing(revokes(leaf))));
    await refusedWith('PKI_REVOCATION_UNKNOWN', () => validatePath(leaf, 'signing', listing([])));
  });

  /** The CA of `below` with new keys, certified anew by the anchor. */
  function rekeyed(issuer = pki.root): { old: Issuer; renewed: Issuer; below: Certificate } {
    const [oldKeys, newKeys] = [pki.spareKeys[2], pki.spareKeys[3]];
    assert.ok(oldKeys && newKeys);
    const subject = [['CN', 'alpha issuing CA']] as const;
    const old = pki.issueAuthority({ keys: oldKeys, subject });
    const renewed = pki.issueAuthority({ keys: newKeys, subject, issuer });
    return { old, renewed, below: pki.issue({ issuer: old, crlUrls: [url] }) };
  }

  test('TRUST-06 a list under the new key of a CA counts if that leads to the same anchor (RFC 5280 §6.3.3 (f))', async () => {
    const { old, renewed, below } = rekeyed();
    const context = (revoked: CrlRequest['revoked'], more: readonly Certificate[]) =>
      contextWith(
        { [url]: pki.crl({ issuer: renewed, revoked }) },
        { candidates: [old.certificate, ...more], policy: { revocation: 'soft-fail' } },
      );
    const withRenewed = [renewed.certificate];
    await refusedWith('PKI_REVOKED', () =>
      validatePath(below, 'signing', context(revokes(below), withRenewed)),
    );
    const path = await validatePath(below, 'signing', context([], withRenewed));
    assert.equal(path.revocation[0]?.status, 'good');
    const without = await validatePath(below, 'signing', context(revokes(below), []));
    assert.equal(without.revocation[0]?.code, 'PKI_CRL_SIGNATURE');
    const foreign = rekeyed(pki.untrustedCa);
    const outsider = contextWith(
      { [url]: pki.crl({ issuer: foreign.renewed }) },
      { candidates: [foreign.old.certificate, foreign.renewed.certificate] },
    );
    await refusedWith('PKI_REVOCATION_UNKNOWN', () => validatePath(foreign.below, 'signing', outsider));
  });

  test("TRUST-06 a CRL signer's certificate is fetched from where the list says (RFC 5280 §5.2.7)", async () => {
    const { old, renewed, below } = rekeyed();
    const signerUrl = 'http://crl.alpha.example/signer.p7c';
    const access = der.sequence(der.sequence(der.oid('1.3.6.1.5.5.7.48.2'), generalNameDer.uri(signerUrl)));
    const list = pki.crl({
      issuer: renewed,
      revoked: revokes(below),
      extensions: [extension('1.3.6.1.5.5.7.1.1', access, false)],
    });
    const candidates = [old.certificate];
    const files = { [url]: list, [signerUrl]: Buffer.from(renewed.certificate.der) };
    await refusedWith('PKI_REVOKED', () =>
      validatePath(below, 'signing', contextWith(files, { candidates })),
    );
    for (const missing of [{ status: 404 }, Buffer.from(pki.untrustedCa.certificate.der)]) {
      const others = contextWith({ [url]: list, [signerUrl]: missing }, { candidates });
      await refusedWith('PKI_REVOCATION_UNKNOWN', () => validatePath(below, 'signing', others));
      // Nor does the failed fetch keep the list from a message that brings the certificate.
      const withRenewed = { ...others, candidates: [old.certificate, renewed.certificate] };
      await refusedWith('PKI_REVOKED', () => validatePath(below, 'signing', withRenewed));
    }
    // List and certificate are two downloads; one whose budget ends between them leaves both to the next.
    const next = contextWith(files, { candidates });
    const one = { ...next, budget: createValidationBudget({ maxFetches: 1 }) };
    await refusedWith('PKI_FETCH_LIMIT', () => validatePath(below, 'signing', one));
    const again = { ...next, budget: createValidationBudget({ maxFetches: 1 }) };
    await refusedWith('PKI_REVOKED', () => validatePath(below, 'signing', again));
  });

  test('TRUST-06 a failed check is not kept for a message that brings the certificate of the signer', async () => {
    const { old, renewed, below } = rekeyed();
    const context = contextWith({ [url]: pki.crl({ issuer: renewed, revoked: revokes(below) }) });
    const withCandidates = (...candidates: Certificate[]) => ({ ...context, candidates });
    await refusedWith('PKI_REVOCATION_UNKNOWN', () =>
      validatePath(below, 'signing', withCandidates(old.certificate)),
    );
    await refusedWith('PKI_REVOKED', () =>
      validatePath(below, 'signing', withCandidates(old.certificate, renewed.certificate)),
    );
    // And what one message has brought is known for the next.
    await refusedWith('PKI_REVOKED', () => validatePath(below, 'signing', withCandidates(old.certificate)));
  });

  test('TRUST-06 a distribution point for some reasons can revoke, and acquits nobody', async () => {
    const reasons = der.implicit(1, false, Buffer.of(6, 0x40));
    const name = der.explicit(0, der.implicit(0, true, generalNameDer.uri(url)));
    const points = extension('2.5.29.31', der.sequence(der.sequence(name, reasons)), false);
    const certificate = pki.issue({ extensions: [points] });
    const listing = (revoked: CrlRequest['revoked']) => contextWith({ [url]: pki.crl({ revoked }) });
    await refusedWith('PKI_REVOKED', () =>
      validatePath(certificate, 'signing', listing(revokes(certificate))),
    );
    await refusedWith('PKI_REVOCATION_UNKNOWN', () => validatePath(certificate, 'signing', listing([])));
  });

  test('TRUST-06 a certificate in the name of the issuer that is not for CRLs signs none', async () => {
    const keys = pki.spareKeys[1];
    assert.ok(keys);
    const subject = [
      ['CN', 'alpha anchor'],
      ['O', 'alpha'],
    ] as const;
    const { certificate } = pki.issueAuthority({
      keys,
      subject,
      isCa: false,
      keyUsage: ['digitalSignature'],
    });
    const files = {
      [url]: pki.crl({ issuer: { certificate, privateKey: keys.privateKey }, revoked: revokes(leaf) }),
    };
    await refusedWith('PKI_REVOCATION_UNKNOWN', () =>
      validatePath(leaf, 'signing', contextWith(files, { candidates: [certificate] })),
    );
  });

  test('TRUST-06 a list for end entities only says nothing about a CA', async () => {
    const issuer = pki.issueAuthority({ crlUrls: [url] });
    const files = { [url]: pki.crl({ extensions: [distributionPoint(flag(1))] }) };
    const context = contextWith(files, {
      candidates: [issuer.certificate],
      policy: { revocation: 'soft-fail' },
    });
    const { warnings } = await validatePath(pki.issue({ issuer }), 'signing', context);
    assert.deepEqual(
      warnings.map((warning) => warning.code),
      ['PKI_REVOCATION_UNCHECKABLE', 'PKI_CRL_SCOPE'],
    );
  });

  test('TRUST-06 an issuer without the right to sign CRLs', async () => {
    const issuer = pki.issueAuthority({ keyUsage: ['keyCertSign'] });
    const certificate = pki.issue({ issuer, crlUrls: [url] });
    const context = contextWith(
      { [url]: pki.crl({ issuer, revoked: revokes(certificate) }) },
      { candidates: [issuer.certificate] },
    );
    const { warnings } = await validatePath(certificate, 'signing', {
      ...context,
      policy: { revocation: 'soft-fail' },
    });
    assert.deepEqual(
      warnings.map((warning) => warning.code),
      ['PKI_CRL_SIGNATURE', 'PKI_REVOCATION_UNCHECKABLE'],
    );
  });

  describe('the cache', () => {
    const files = new Map<string, ServedFile>();
    const { fetch, count } = createFilesFetch(files);
    const later = (ms: number): Date => new Date(at.getTime() + ms);

    test('TRUST-07 a list is fetched once, again after the refresh time, and counts until its end and the grace time', async () => {
      const checkRevocation = createRevocationChecker({ fetch, refreshMs: 3_600_000, graceMs: dayMs });
      const ask = (when: Date) =>
        checkRevocation({ certificate: leaf, issuer: pki.root.certificate, candidates: [], at: when });
      files.set(url, pki.crl({ nextUpdate: future(2) }));
      assert.equal((await ask(at)).status, 'good');
      assert.equal((await ask(later(1_000))).status, 'good');
      assert.equal(count(url), 1);
      files.set(url, 'timeout');
      assert.equal((await ask(later(4_000_000))).status, 'good');
      assert.equal(count(url), 2);
      const overdue = await ask(later(2.5 * dayMs));
      assert.deepEqual([overdue.status, overdue.isOverdue], ['good', true]);
      assert.equal((await ask(later(3.1 * dayMs))).status, 'unknown');
    });

    test('TRUST-07 a failed fetch is not repeated at once', async () => {
      const checkRevocation = createRevocationChecker({ fetch });
      const before = count(otherUrl);
      const certificate = pki.issue({ crlUrls: [otherUrl] });
      const query = { certificate, issuer: pki.root.certificate, candidates: [] };
      await checkRevocation({ ...query, at });
      await checkRevocation({ ...query, at: later(30_000) });
      assert.equal(count(otherUrl) - before, 1);
      await checkRevocation({ ...query, at: later(61_000) });
      assert.equal(count(otherUrl) - before, 2);
    });

    test('TRUST-06 an older list does not replace a newer one that revokes', async () => {
      const checkRevocation = createRevocationChecker({ fetch, refreshMs: 1 });
      const ask = (when: Date) =>
        checkRevocation({ certificate: leaf, issuer: pki.root.certificate, candidates: [], at: when });
      files.set(url, pki.crl({ thisUpdate: past(1), revoked: revokes(leaf) }));
      assert.equal((await ask(at)).status, 'revoked');
      files.set(url, pki.crl({ thisUpdate: past(3) }));
      assert.equal((await ask(later(1_000))).status, 'revoked');
    });

    test('TRUST-06 a list verified for one issuer is not used for another of the same URL', async () => {
      const checkRevocation = createRevocationChecker({ fetch });
      files.set(url, pki.crl());
      const query = { certificate: leaf, candidates: [], at };
      assert.equal((await checkRevocation({ ...query, issuer: pki.root.certificate })).status, 'good');
      assert.equal(
        (await checkRevocation({ ...query, issuer: pki.untrustedCa.certificate })).status,
        'unknown',
      );
    });
  });
});
