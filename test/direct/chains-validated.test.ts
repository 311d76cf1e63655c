/** Paths that must be valid, at the edge of each rule (TRUST-01, TRUST-04, TRUST-11). */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { createAuthority, directTrustPolicy, validatePath } from '../../src/lib/pki/index.ts';
import { refusedWith } from './support/refusals.ts';
import { alice, at, createTestPki, future, past, spareAuthority, type TestPki } from './support/test-pki.ts';

describe('paths that are valid', () => {
  let pki: TestPki;
  before(async () => {
    pki = await createTestPki();
  });

  test('TRUST-01 a validated path names every certificate, the anchor and the binding', async () => {
    const leaf = pki.issue({ issuer: pki.intermediate });
    const candidates = [pki.untrustedCa.certificate, pki.intermediate.certificate];
    const path = await validatePath(leaf, 'signing', {
      at,
      anchors: [pki.root.certificate],
      candidates,
      address: alice,
    });
    assert.deepEqual(
      path.certificates.map(({ fingerprint }) => fingerprint),
      [leaf, pki.intermediate.certificate, pki.root.certificate].map(({ fingerprint }) => fingerprint),
    );
    assert.equal(path.anchor.fingerprint, pki.root.certificate.fingerprint);
    assert.equal(path.binding, 'address');
  });

  test('TRUST-04 the path stops at the first configured anchor, also one that is no root', async () => {
    const leaf = pki.issue({ issuer: pki.intermediate });
    const anchors = [pki.root.certificate, pki.intermediate.certificate];
    const path = await validatePath(leaf, 'signing', { at, anchors, address: alice });
    assert.equal(path.anchor.fingerprint, pki.intermediate.certificate.fingerprint);
    assert.equal(path.certificates.length, 2);
  });

  test('TRUST-04 an end-entity certificate may itself be the anchor, even one that is no CA', async () => {
    const leaf = pki.issue({ issuer: pki.untrustedCa });
    const path = await validatePath(leaf, 'signing', { at, anchors: [leaf], address: alice });
    assert.deepEqual(path.certificates, [leaf]);
  });

  test('TRUST-04 an anchor is recognized byte for byte: the same names and key in another certificate are no anchor', async () => {
    const leaf = pki.issue();
    const twin = pki.issue();
    await refusedWith('PKI_ISSUER_NOT_FOUND', () =>
      validatePath(leaf, 'signing', { at, anchors: [twin], address: alice }),
    );
  });

  test('TRUST-04 a renewed anchor with the same name and key still vouches, by its signature', async () => {
    const keys = pki.spareKeys[3];
    assert.ok(keys);
    const make = (days: number) =>
      createAuthority({
        subject: [['CN', 'renewed']],
        ...keys,
        notBefore: past(days),
        notAfter: future(days),
      });
    const [old, renewed] = [make(50), make(60)];
    const leaf = pki.issue({ issuer: { certificate: old, privateKey: keys.privateKey } });
    const path = await validatePath(leaf, 'signing', {
      at,
      anchors: [renewed],
      candidates: [old],
      address: alice,
    });
    assert.equal(path.anchor.fingerprint, renewed.fingerprint);
  });

  test('TRUST-11 an expired look-alike among the candidates does not keep the good one from being found', async () => {
    const expired = pki.issueAuthority({ notAfter: past(1) });
    const leaf = pki.issue({ issuer: pki.intermediate });
    const candidates = [expired.certificate, pki.intermediate.certificate];
    const path = await validatePath(leaf, 'signing', {
      at,
      anchors: [pki.root.certificate],
      candidates,
      address: alice,
    });
    assert.equal(path.certificates[1]?.fingerprint, pki.intermediate.certificate.fingerprint);
  });

  test('TRUST-11 a CA that certified another of its keys does not count toward its path length', async () => {
    const first = spareAuthority(pki, 1, { pathLength: 0 });
    const further = spareAuthority(pki, 2, { issuer: first, subject: [['CN', 'spare 1']] });
    const path = await validatePath(pki.issue({ issuer: further }), 'signing', {
      at,
      anchors: [pki.root.certificate],
      candidates: [first.certificate, further.certificate],
      address: alice,
    });
    assert.equal(path.certificates.length, 4);
  });

  test('TRUST-11 names inside all limits pass: host, subdomain, one mailbox, organization', async () => {
    const limits = [
      { rfc822: ['direct.alpha.example'] },
      { rfc822: ['.alpha.example'] },
      { rfc822: [alice] },
      { dns: ['alpha.example'] },
      { dns: ['.alpha.example'] },
      { directory: [[['CN', 'Alice']] as const] },
    ];
    for (const permitted of limits) {
      const issuer = pki.issueAuthority({ nameConstraints: { permitted } });
      const context = {
        at,
        anchors: [pki.root.certificate],
        candidates: [issuer.certificate],
        address: alice,
      };
      const path = await validatePath(pki.issue({ issuer }), 'signing', context);
      assert.equal(path.certificates.length, 3, JSON.stringify(permitted));
    }
  });

  test('TRUST-11 a path length that is just kept', async () => {
    const first = spareAuthority(pki, 1, { pathLength: 1 });
    const second = spareAuthority(pki, 2, { issuer: first, pathLength: 0 });
    const context = {
      at,
      anchors: [pki.root.certificate],
      candidates: [first.certificate, second.certificate],
      address: alice,
    };
    const path = await validatePath(pki.issue({ issuer: second }), 'signing', context);
    assert.equal(path.certificates.length, 4);
  });

  test('AS-20 the switch for SHA-1-signed certificates opens exactly that', async () => {
    const leaf = pki.issue({ digest: 'sha1' });
    const policy = { allowSha1Certificates: true };
    const path = await validatePath(leaf, 'signing', {
      at,
      anchors: [pki.root.certificate],
      address: alice,
      policy,
    });
    assert.equal(path.certificates.length, 2);
  });

  test('AS-19 both policies present satisfy the DirectTrust policy', async () => {
    const leaf = pki.issue({ policyOids: ['1.3.6.1.4.1.41179.1.3', '1.3.6.1.4.1.41179.2.1'] });
    const context = { at, anchors: [pki.root.certificate], address: alice, policy: directTrustPolicy };
    assert.equal((await validatePath(leaf, 'signing', context)).binding, 'address');
  });

  test('AS-12 the address in the subject plays no part; with the switch it must agree if it is there', async () => {
    const context = { at, anchors: [pki.root.certificate], address: alice };
    const other = pki.issue({
      subject: [
        ['CN', 'alice'],
        ['emailAddress', 'x@direct.alpha.example'],
      ],
    });
    await validatePath(other, 'signing', context);
    const policy = { requireSubjectMatch: true };
    for (const email of [alice.toUpperCase(), 'direct.alpha.example']) {
      const same = pki.issue({
        subject: [
          ['CN', 'alice'],
          ['emailAddress', email],
        ],
      });
      await validatePath(same, 'signing', { ...context, policy });
    }
    await validatePath(pki.issue(), 'signing', { ...context, policy });
  });

  test('AS-16 single-use certificates: each for its own use', async () => {
    const context = { at, anchors: [pki.root.certificate], address: alice };
    await validatePath(pki.issue({ keyUsage: ['digitalSignature'] }), 'signing', context);
    await validatePath(pki.issue({ keyUsage: ['keyEncipherment'] }), 'encryption', context);
  });

  test('AS-02, AS-13 binding ignores case and accepts any of several names', async () => {
    const context = { at, anchors: [pki.root.certificate], address: alice };
    const upper = await validatePath(
      pki.issue({ rfc822Names: ['x@y.example', 'ALICE@Direct.Alpha.Example'] }),
      'signing',
      context,
    );
    assert.equal(upper.binding, 'address');
    const domain = await validatePath(
      pki.issue({ rfc822Names: ['x@y.example'], dnsNames: ['Direct.Alpha.Example'] }),
      'signing',
      context,
    );
    assert.equal(domain.binding, 'domain');
  });
});
