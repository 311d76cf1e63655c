import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { refusedAtOnce } from '../../../test/direct/support/refusals.ts';
import { contentBytes, der, readAsn1 } from '../asn1/index.ts';
import {
  createAuthority,
  createKeyPair,
  formatPem,
  PkiError,
  readTrustBundle,
  writeTrustBundle,
  type Certificate,
} from './index.ts';

describe('readTrustBundle', () => {
  let anchors: readonly [Certificate, Certificate];
  before(async () => {
    const keys = await createKeyPair({ curve: 'P-256' });
    const make = (name: string) =>
      createAuthority({
        subject: [['CN', name]],
        ...keys,
        notBefore: new Date('2026-01-01'),
        notAfter: new Date('2036-01-01'),
      });
    anchors = [make('one'), make('two')];
  });

  /**
   * SignedData with the given content and certificates; `signers` stands for SignerInfos that nobody verifies
   * here.
   */
  function signedData(options: {
    content?: Buffer;
    certificates?: readonly Certificate[];
    signers?: Buffer[];
  }): Buffer {
    const { content, certificates = [], signers = [] } = options;
    const holder = content === undefined ? [] : [der.explicit(0, der.octetString(content))];
    const sets =
      certificates.length === 0 ? [] : [der.implicit(0, true, ...certificates.map((one) => one.der))];
    const body = der.sequence(
      der.integer(1),
      der.set(),
      der.sequence(der.oid('1.2.840.113549.1.7.1'), ...holder),
      ...sets,
      der.set(...signers),
    );
    return der.sequence(der.oid('1.2.840.113549.1.7.2'), der.explicit(0, body));
  }
  const plain = () => signedData({ certificates: anchors });
  const names = (bundle: { anchors: readonly Certificate[] }) => bundle.anchors.map(({ subject }) => subject);
  test('BUNDLE-01 a set of certificates without signers, in DER and in BER with indefinite lengths', () => {
    assert.deepEqual(names(readTrustBundle(plain())), ['CN=one', 'CN=two']);
    const ber = Buffer.concat([Buffer.of(0x30, 0x80), contentBytes(readAsn1(plain())), Buffer.of(0, 0)]);
    assert.deepEqual(names(readTrustBundle(ber)), ['CN=one', 'CN=two']);
  });

  test('BUNDLE-02 metadata next to the certificates', () => {
    const bundle = readTrustBundle(
      signedData({ certificates: anchors, content: Buffer.from('<bundle>ü</bundle>') }),
    );
    assert.deepEqual(
      [names(bundle), bundle.metadata, bundle.isSigned],
      [['CN=one', 'CN=two'], '<bundle>ü</bundle>', false],
    );
    const unreadable = readTrustBundle(signedData({ certificates: anchors, content: Buffer.of(0xff, 0xfe) }));
    assert.equal(unreadable.metadata, undefined);
  });

  test('BUNDLE-04 with PEM armour, and as a list of PEM certificates', () => {
    assert.deepEqual(names(readTrustBundle(Buffer.from(formatPem('PKCS7', plain())))), ['CN=one', 'CN=two']);
    const list = anchors.map((one) => formatPem('CERTIFICATE', one.der)).join('');
    assert.deepEqual(names(readTrustBundle(Buffer.from(list))), ['CN=one', 'CN=two']);
  });

  test('BUNDLE-06 a written bundle is read again, and is the same for every order', () => {
    const written = writeTrustBundle([anchors[1], anchors[0], anchors[1]]);
    assert.deepEqual(names(readTrustBundle(written)).toSorted(), ['CN=one', 'CN=two']);
    assert.deepEqual(written, writeTrustBundle(anchors));
    assert.throws(() => readTrustBundle(writeTrustBundle([])), PkiError);
  });

  test('BUNDLE-01 repetitions are dropped', () => {
    assert.equal(readTrustBundle(signedData({ certificates: [anchors[0], anchors[0]] })).anchors.length, 1);
  });

  describe('signed', () => {
    const signers = [der.sequence(der.integer(1))];

    test('BUNDLE-03 the verified content is the bundle, with or without armour inside', () => {
      const [signer] = anchors;
      for (const inside of [plain(), Buffer.from(formatPem('PKCS7', plain()))]) {
        const outer = signedData({ content: inside, certificates: [signer], signers });
        const seen: Uint8Array[] = [];
        const verifySignature = (bytes: Uint8Array, by: Certificate) => {
          assert.equal(by.fingerprint, signer.fingerprint);
          seen.push(bytes);
          return inside;
        };
        const bundle = readTrustBundle(outer, { signer, verifySignature });
        assert.deepEqual([names(bundle), bundle.isSigned, seen.length], [['CN=one', 'CN=two'], true, 1]);
      }
    });

    test("BUNDLE-03 the signer's own certificate is no anchor", () => {
      const outer = signedData({
        content: signedData({ certificates: [anchors[1]] }),
        certificates: [anchors[0]],
        signers,
      });
      assert.deepEqual(names(readTrustBundle(outer)), ['CN=two']);
    });

    test('BUNDLE-03 a bad signature: PKI_BUNDLE_SIGNATURE', () => {
      const outer = signedData({ content: plain(), certificates: anchors, signers });
      const verifySignature = () => {
        throw new Error('no');
      };
      refusedAtOnce('PKI_BUNDLE_SIGNATURE', () =>
        readTrustBundle(outer, { signer: anchors[0], verifySignature }),
      );
    });

    test('BUNDLE-03 no signature where one is configured: PKI_BUNDLE_UNSIGNED', () => {
      const verifySignature = (bytes: Uint8Array) => bytes;
      refusedAtOnce('PKI_BUNDLE_UNSIGNED', () =>
        readTrustBundle(plain(), { signer: anchors[0], verifySignature }),
      );
      const list = Buffer.from(anchors.map((one) => formatPem('CERTIFICATE', one.der)).join(''));
      refusedAtOnce('PKI_BUNDLE_UNSIGNED', () =>
        readTrustBundle(list, { signer: anchors[0], verifySignature }),
      );
    });
  });

  test('BUNDLE-05 a certificate that cannot be read is left out, and the others are read', () => {
    // Of a version that nobody knows, and no certificate at all.
    const unknown = Buffer.from(anchors[1].der);
    unknown.writeUInt8(7, unknown.indexOf(Buffer.from('a003020102', 'hex')) + 4);
    const others = [{ der: unknown }, { der: der.sequence(der.integer(1)) }] as unknown as Certificate[];
    const bundle = readTrustBundle(signedData({ certificates: [...others, ...anchors] }));
    assert.deepEqual([names(bundle), bundle.unreadableCount], [['CN=one', 'CN=two'], 2]);
    assert.equal(readTrustBundle(plain()).unreadableCount, 0);
    refusedAtOnce('PKI_BUNDLE_MALFORMED', () => readTrustBundle(signedData({ certificates: others })));
  });

  test('BUNDLE-01 not a bundle: PKI_BUNDLE_MALFORMED', () => {
    const signers = [der.sequence(der.integer(1))];
    const bad = [
      Buffer.from('invalid'),
      new Uint8Array(),
      signedData({}),
      anchors[0].der,
      plain().subarray(0, -5),
      signedData({ signers, certificates: anchors }),
    ];
    for (const bytes of bad) refusedAtOnce('PKI_BUNDLE_MALFORMED', () => readTrustBundle(bytes));
  });
});
