import assert from 'node:assert/strict';
import { publicEncrypt } from 'node:crypto';
import { test } from 'node:test';
import { errorText } from '../../core/index.ts';
import {
  algorithm,
  compressedEntity,
  attribute,
  cmsEntity,
  contentInfo,
  forgeEnvelope,
  forgeSignedData,
  forgeSigner,
  goodAttributes,
  names,
  type ForgedSigner,
} from '../../../test/peer-messages/forge-cms.ts';
import { readPeerKey } from '../../../test/peer-messages/peer-files.ts';
import { childAt, der, readAsn1, readOctetString } from '../asn1/index.ts';
import { parseEntity } from '../mime/index.ts';
import {
  decompressEntity,
  decryptCms,
  decryptEntity,
  encryptCms,
  encryptEntity,
  signEntity,
  SmimeError,
  smimeErrors,
  verifyCms,
  verifyEntity,
  type KeyTransport,
  type SmimeErrorCode,
} from './index.ts';

const alice = readPeerKey('alice');
const bob = readPeerKey('bob');
const weak = readPeerKey('alice1024');
const elliptic = readPeerKey('aliceEC');
const at = new Date('2026-11-21T10:00:00Z');
const content = Buffer.from('Content-Type: text/plain\r\n\r\nhello\r\n', 'latin1');

/** A detached signature of one signer with that fault, or of several. */
function verifyForged(signer: Partial<ForgedSigner>, certificates = [alice.certificate.der]): unknown {
  const cms = forgeSignedData({ signers: [forgeSigner({ key: alice, content, ...signer })], certificates });
  return verifyCms(cms, { content: signer.content ?? content });
}

function withAttributes(change: (attributes: Buffer[]) => Buffer[]): unknown {
  return verifyForged({ attributes: change(goodAttributes(content)) });
}

function open(cms: Uint8Array): unknown {
  return decryptCms(cms, [bob]);
}

function replaceIn(entity: Uint8Array, text: string, other: string): Buffer {
  return Buffer.from(Buffer.from(entity).toString('latin1').replace(text, other), 'latin1');
}

/** Signed data with its content inside. */
function opaque(): Buffer {
  const signers = [forgeSigner({ key: alice, content })];
  return forgeSignedData({ signers, certificates: [alice.certificate.der], content });
}

/** The same with a wrong Content-Transfer-Encoding. */
function relabelled(entity: Uint8Array, encoding: string): Buffer {
  const text = Buffer.from(entity).toString('latin1');
  return Buffer.from(text.replace('Transfer-Encoding: base64', `Transfer-Encoding: ${encoding}`), 'latin1');
}

const recipientOf = (kind: number) => der.implicit(kind, true, der.integer(0));

/** One provocation for every code, so that none can be forgotten. */
const provocations: Readonly<Record<SmimeErrorCode, readonly (() => unknown)[]>> = {
  SMIME_NO_SIGNERS: [() => signEntity(content, [], { at })],
  SMIME_SIGNING_KEY_NOT_ALLOWED: [() => signEntity(content, [alice, weak], { at })],
  SMIME_SIGNING_KEY_MISMATCH: [
    () => signEntity(content, [{ certificate: alice.certificate, privateKey: bob.privateKey }], { at }),
    () =>
      signEntity(content, [{ certificate: alice.certificate, privateKey: alice.certificate.publicKey }], {
        at,
      }),
    () => signEntity(content, [{ certificate: elliptic.certificate, privateKey: alice.privateKey }], { at }),
  ],
  SMIME_SIGNING_KEY_USAGE: [() => signEntity(content, [readPeerKey('aliceKE')], { at })],
  SMIME_NO_RECIPIENTS: [() => encryptEntity(content, [])],
  SMIME_RECIPIENT_KEY_NOT_ALLOWED: [
    () => encryptEntity(content, [bob, weak]),
    () => encryptEntity(content, [readPeerKey('bobEC')]),
  ],
  SMIME_RECIPIENT_KEY_USAGE: [() => encryptEntity(content, [bob, { certificate: withoutEncryption() }])],

  SMIME_CMS_MALFORMED: [
    () => open(Buffer.from('not CMS at all')),
    () => open(Buffer.alloc(0)),
    () => open(forgeEnvelope({ content, certificate: bob.certificate }).subarray(0, 300)),
    () => open(contentInfo(names.envelopedData, der.sequence(der.integer(0)))),
    () => open(der.sequence(der.oid(names.envelopedData))),
    () =>
      open(
        forgeEnvelope({
          content,
          certificate: bob.certificate,
          contentAlgorithm: () => algorithm(names.aes128Cbc),
        }),
      ),
    () =>
      open(
        forgeEnvelope({
          content,
          certificate: bob.certificate,
          contentAlgorithm: (iv) => algorithm(names.aes128Cbc, der.octetString(iv.subarray(1))),
        }),
      ),
    () => verifyCms(forgeSignedData({ signers: [], trailing: [der.null()] }), { content }),
    () => verifyCms(contentInfo(names.signedData, der.null())),
  ],
  SMIME_TRAILING_DATA: [
    () => open(Buffer.concat([forgeEnvelope({ content, certificate: bob.certificate }), Buffer.of(0)])),
    () => verifyCms(Buffer.concat([signed(), Buffer.from(' ')]), { content }),
  ],
  SMIME_COMPRESSION_UNSUPPORTED: [
    () => decompressEntity(parseEntity(compressedEntity(compressedEntity(content)))),
    () => decompressEntity(parseEntity(compressedEntity(content, { oid: '1.2.3' }))),
  ],
  SMIME_COMPRESSED_TOO_LARGE: [
    () => decompressEntity(parseEntity(compressedEntity(Buffer.alloc(61 * 1024 * 1024)))),
  ],
  SMIME_TRANSFER_ENCODING_INVALID: [
    () => decryptEntity(relabelled(encryptEntity(content, [bob]), '7bit'), [bob]),
    () => decryptEntity(relabelled(encryptEntity(content, [bob]), 'x-unknown'), [bob]),
    () => verifyEntity(relabelled(signEntity(content, [alice], { at }), '8bit')),
  ],
  SMIME_CONTENT_TYPE_UNEXPECTED: [
    () => open(contentInfo('1.2.840.113549.1.7.5', der.null())),
    () => verifyCms(contentInfo(names.envelopedData, der.null())),
    () =>
      decryptEntity(
        cmsEntity(forgeEnvelope({ content, certificate: bob.certificate, contentType: names.signedData })),
        [bob],
      ),
  ],
  SMIME_TOO_MANY_SIGNERS: [
    () =>
      verifyCms(forgeSignedData({ signers: Array.from({ length: 17 }, () => der.sequence()) }), { content }),
  ],
  SMIME_TOO_MANY_RECIPIENTS: [
    () =>
      open(
        forgeEnvelope({
          content,
          certificate: bob.certificate,
          recipients: Array.from({ length: 2001 }, () => recipientOf(4)),
        }),
      ),
  ],
  SMIME_TOO_MANY_CERTIFICATES: [
    () =>
      verifyCms(
        forgeSignedData({
          signers: [],
          certificates: Array.from({ length: 65 }, () => alice.certificate.der),
        }),
        { content },
      ),
    () =>
      verifyCms(
        forgeSignedData({
          signers: [],
          certificates: Array.from({ length: 5 }, () => der.sequence(der.octetString(Buffer.alloc(250_000)))),
        }),
        { content },
      ),
  ],

  SMIME_NOT_ENCRYPTED: [
    () => decryptEntity(content, [bob]),
    () => decryptEntity(signEntity(content, [alice], { at }), [bob]),
    () => open(signed()),
  ],
  SMIME_PARTLY_ENCRYPTED: [
    () =>
      decryptEntity(
        Buffer.concat([
          Buffer.from('Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n'),
          encryptEntity(content, [bob]),
          Buffer.from('\r\n--b\r\n\r\nThis message was scanned.\r\n--b--\r\n'),
        ]),
        [bob],
      ),
  ],
  SMIME_ENCRYPTED_CONTENT_MISSING: [
    () => open(forgeEnvelope({ content, certificate: bob.certificate, isEmpty: true })),
  ],
  SMIME_CONTENT_CIPHER_UNSUPPORTED: [
    () =>
      open(
        forgeEnvelope({
          content,
          certificate: bob.certificate,
          contentAlgorithm: () => algorithm('1.2.3.4'),
        }),
      ),
    // An authenticating cipher whose tag nobody would check.
    () =>
      open(
        forgeEnvelope({
          content,
          certificate: bob.certificate,
          contentAlgorithm: (iv) => algorithm(names.aes128Gcm, der.sequence(der.octetString(iv))),
        }),
      ),
  ],
  SMIME_CONTENT_CIPHER_NOT_ALLOWED: [
    () =>
      open(
        forgeEnvelope({
          content,
          certificate: bob.certificate,
          contentAlgorithm: (iv) => algorithm(names.tripleDes, der.octetString(iv.subarray(8))),
        }),
      ),
    () =>
      open(
        forgeEnvelope({
          content,
          certificate: bob.certificate,
          contentAlgorithm: (iv) => algorithm(names.rc2, der.octetString(iv)),
        }),
      ),
    () =>
      open(
        forgeEnvelope({
          content,
          certificate: bob.certificate,
          contentAlgorithm: (iv) => algorithm('1.3.14.3.2.7', der.octetString(iv)),
        }),
      ),
  ],
  SMIME_KEY_MANAGEMENT_UNSUPPORTED: [
    () => open(forgeEnvelope({ content, certificate: bob.certificate, keyAlgorithm: algorithm('1.2.3.4') })),
    () =>
      open(
        forgeEnvelope({
          content,
          certificate: bob.certificate,
          keyAlgorithm: algorithm(names.oaep, der.sequence(der.explicit(0, algorithm('1.2.3')))),
        }),
      ),
    () =>
      decryptCms(forgeEnvelope({ content, certificate: bob.certificate, reference: referenceTo(elliptic) }), [
        elliptic,
      ]),
  ],
  SMIME_NO_RECIPIENT_KEY: [
    () => decryptCms(forgeEnvelope({ content, certificate: bob.certificate }), [readPeerKey('bob2')]),
    () => decryptCms(forgeEnvelope({ content, certificate: bob.certificate }), []),
    () =>
      open(
        forgeEnvelope({
          content,
          certificate: bob.certificate,
          recipients: [recipientOf(2), recipientOf(3), recipientOf(4)],
        }),
      ),
    () => open(forgeEnvelope({ content, certificate: bob.certificate, recipients: [] })),
  ],
  // GCM where the content key is what is wrong: under CBC one random key in 256 happens to give valid
  // padding.
  SMIME_DECRYPTION_FAILED: [
    () => open(gcmEnvelope('pkcs1', () => Buffer.alloc(256, 7))),
    () => open(gcmEnvelope('pkcs1', () => Buffer.alloc(256, 0xff))),
    () =>
      open(
        gcmEnvelope('pkcs1', () =>
          publicEncrypt({ key: bob.certificate.publicKey, padding: 1 }, Buffer.alloc(31)),
        ),
      ),
    () => open(gcmEnvelope('oaep-sha256', () => Buffer.alloc(256, 7))),
    () => open(gcmEnvelope('oaep-sha1', (key) => key.reverse())),
    () => open(gcmEnvelope('oaep-sha1', (key) => key, 1)),
    () =>
      open(
        forgeEnvelope({
          content,
          certificate: bob.certificate,
          changeCiphertext: (bytes) => bytes.subarray(1),
        }),
      ),
    () =>
      open(
        forgeEnvelope({
          content,
          certificate: bob.certificate,
          changeCiphertext: () => Buffer.alloc(0),
        }),
      ),
    // The right certificate with an outsider's private key.
    () =>
      decryptCms(
        gcmEnvelope('oaep-sha256', (key) => key),
        [{ ...bob, privateKey: alice.privateKey }],
      ),
  ],

  SMIME_NOT_SIGNED: [
    () => verifyEntity(content),
    () => verifyEntity(encryptEntity(content, [bob])),
    () => verifyCms(forgeSignedData({ signers: [], certificates: [alice.certificate.der] }), { content }),
  ],
  SMIME_MULTIPART_SIGNED_MALFORMED: [
    () =>
      verifyEntity(
        Buffer.from('Content-Type: multipart/signed; boundary=b\r\n\r\n--b\r\n\r\none\r\n--b--\r\n'),
      ),
    () => verifyEntity(Buffer.from('Content-Type: multipart/signed\r\n\r\n--b\r\n\r\none\r\n--b--\r\n')),
    () =>
      verifyEntity(
        Buffer.from(
          'Content-Type: multipart/signed; boundary=b\r\n\r\n--b\r\n\r\none\r\n--b\r\n\r\ntwo\r\n--b--\r\n',
        ),
      ),
    () => verifyEntity(withThirdPart(signEntity(content, [alice], { at }))),
  ],
  SMIME_UNSIGNED_NOT_TEXT: [
    () => verifyEntity(Buffer.concat([signEntity(content, [alice], { at }), Buffer.of(0xa7)])),
    () => verifyEntity(replaceIn(signEntity(content, [alice], { at }), 'protocol="app', 'protocol="a\0p')),
    () => verifyEntity(replaceIn(signEntity(content, [alice], { at }), '\r\n--=_', '\r\n\xff\r\n--=_')),
    () =>
      verifyEntity(replaceIn(signEntity(content, [alice], { at }), 'filename=smime', 'filename=s\x7fime')),
    () => verifyEntity(Buffer.concat([cmsEntity(opaque()), Buffer.of(0xa7)])),
  ],
  SMIME_SIGNED_CONTENT_MISSING: [() => verifyCms(signed())],
  SMIME_SIGNED_CONTENT_AMBIGUOUS: [
    () =>
      verifyCms(
        forgeSignedData({
          signers: [forgeSigner({ key: alice, content })],
          certificates: [alice.certificate.der],
          content,
        }),
        { content },
      ),
  ],
  SMIME_CERTIFICATES_MISSING: [() => verifyForged({}, [])],
  SMIME_CERTIFICATE_MALFORMED: [
    () => verifyForged({}, [der.sequence(der.null())]),
    () => verifyForged({}, [bob.certificate.der, der.sequence(der.null())]),
  ],

  SMIME_SIGNER_MALFORMED: [
    () => verifyForged({ trailing: [der.null()] }),
    () => verifyForged({ digestAlgorithm: der.sequence() }),
    () => withAttributes((attributes) => [...attributes, der.sequence()]),
    () =>
      withAttributes(([type, , digest]) => [
        type ?? empty,
        digest ?? empty,
        attribute(names.signingTime, der.null()),
      ]),
    () =>
      withAttributes(([type, time]) => [
        type ?? empty,
        time ?? empty,
        attribute(names.messageDigest, der.null()),
      ]),
  ],
  SMIME_SIGNER_CERTIFICATE_MISSING: [
    () => verifyForged({}, [bob.certificate.der]),
    () => verifyForged({ reference: der.implicit(0, false, Buffer.alloc(20)) }),
  ],
  SMIME_SIGNER_KEY_NOT_ALLOWED: [() => verifyForged({ key: weak }, [weak.certificate.der])],
  SMIME_DIGEST_UNSUPPORTED: [() => verifyForged({ digestAlgorithm: algorithm('2.16.840.1.101.3.4.2.4') })],
  SMIME_DIGEST_NOT_ALLOWED: [
    () =>
      verifyForged({
        digest: 'sha1',
        digestAlgorithm: algorithm(names.sha1),
        signatureAlgorithm: algorithm(names.rsa),
      }),
    () =>
      verifyForged({
        digest: 'md5',
        digestAlgorithm: algorithm(names.md5),
        signatureAlgorithm: algorithm(names.rsa),
      }),
  ],
  SMIME_SIGNATURE_ALGORITHM_UNSUPPORTED: [
    () => verifyForged({ signatureAlgorithm: algorithm('1.3.101.112') }),
    () => verifyForged({ signatureAlgorithm: algorithm(names.rsaPss) }),
    () =>
      verifyForged({
        signatureAlgorithm: algorithm(names.rsaPss, der.sequence(der.explicit(0, algorithm(names.sha256)))),
      }),
  ],
  SMIME_SIGNATURE_ALGORITHM_MISMATCH: [
    () => verifyForged({ signatureAlgorithm: algorithm(names.sha512WithRsa) }),
    () => verifyForged({ signatureAlgorithm: algorithm('1.2.840.113549.1.1.5') }),
    () => verifyForged({ signatureAlgorithm: algorithm(names.ecdsaWithSha256) }),
    () => verifyForged({ key: elliptic }, [elliptic.certificate.der]),
    () => verifyForged({ signatureAlgorithm: algorithm(names.rsaPss, der.sequence()) }),
  ],
  SMIME_SIGNED_ATTRIBUTE_MISSING: [
    () => withAttributes(([, time, digest]) => [time ?? empty, digest ?? empty]),
    () => withAttributes(([type, time]) => [type ?? empty, time ?? empty]),
    () => withAttributes(() => []),
    () => withAttributes(([type, time]) => [type ?? empty, time ?? empty, attribute(names.messageDigest)]),
    // Without attributes any other content type would go unprotected.
    () =>
      verifyCms(
        forgeSignedData({
          signers: [forgeSigner({ key: alice, content, attributes: null })],
          certificates: [alice.certificate.der],
          contentType: '1.2.3',
        }),
        {
          content,
          contentTypes: ['1.2.3'],
        },
      ),
  ],
  SMIME_SIGNED_ATTRIBUTE_DUPLICATE: [
    () =>
      withAttributes((attributes) => [
        ...attributes,
        attribute(names.messageDigest, der.octetString(Buffer.alloc(32))),
      ]),
    () => withAttributes((attributes) => [...attributes, ...attributes]),
    () =>
      withAttributes(([, time, digest]) => [
        time ?? empty,
        digest ?? empty,
        attribute(names.contentType, der.oid(names.data), der.oid('1.2.3')),
      ]),
  ],
  SMIME_SIGNED_ATTRIBUTES_STRIPPED: [
    () => verifyForged({ attributes: null, content: der.set(...goodAttributes(content)) }),
  ],
  SMIME_SIGNED_CONTENT_TYPE_MISMATCH: [
    () =>
      withAttributes(([, time, digest]) => [
        time ?? empty,
        digest ?? empty,
        attribute(names.contentType, der.oid('1.2.3')),
      ]),
    () => verifyCms(forgeSignedData({ signers: [], contentType: names.signedData }), { content }),
  ],
  SMIME_ALGORITHM_PROTECTION_MISMATCH: [
    () => withAttributes((attributes) => [...attributes, protection(names.sha512, names.sha256WithRsa)]),
    () => withAttributes((attributes) => [...attributes, protection(names.sha256, names.rsa)]),
    () =>
      withAttributes((attributes) => [
        ...attributes,
        attribute(names.algorithmProtection, der.sequence(algorithm(names.sha256))),
      ]),
  ],
  SMIME_DIGEST_MISMATCH: [
    () => verifyCms(signed(), { content: Buffer.concat([content, Buffer.from('x')]) }),
    () => verifyForged({ attributes: goodAttributes(Buffer.from('other')) }),
  ],
  SMIME_SIGNATURE_INVALID: [
    () => verifyForged({ changeSignature: (signature) => signature.fill(1, 0, 1) }),
    () => verifyForged({ changeSignature: () => Buffer.alloc(0) }),
    () => verifyForged({ attributes: null, content, changeSignature: (signature) => signature.reverse() }),
    // Signed by another key than that of the named certificate.
    () => verifyForged({ key: { ...alice, privateKey: bob.privateKey } }),
  ],
};

const empty = Buffer.alloc(0);

function signed(): Buffer {
  return forgeSignedData({
    signers: [forgeSigner({ key: alice, content })],
    certificates: [alice.certificate.der],
  });
}

/** An envelope for bob whose encrypted key, or whose tag, was changed in place. */
function gcmEnvelope(
  keyTransport: KeyTransport,
  changeKey: (key: Buffer) => Uint8Array,
  tagChange = 0,
): Buffer {
  const cms = encryptCms([content], [{ ...bob, keyTransport }], { contentCipher: 'aes-256-gcm' });
  const envelope = childAt(childAt(readAsn1(cms), 1), 0);
  const key = childAt(childAt(childAt(envelope, 1), 0), 3);
  cms.set(changeKey(Buffer.from(readOctetString(key))), key.contentStart);
  cms[cms.length - 1] = (cms.at(-1) ?? 0) ^ tagChange;
  return cms;
}

function protection(digest: string, signature: string): Buffer {
  const signatureAlgorithm = der.implicit(1, true, der.oid(signature), der.null());
  return attribute(names.algorithmProtection, der.sequence(algorithm(digest), signatureAlgorithm));
}

function referenceTo({ certificate }: typeof alice): Buffer {
  return der.implicit(0, false, certificate.subjectKeyIdentifier ?? empty);
}

function withThirdPart(entity: Buffer): Buffer {
  const text = entity.toString('latin1');
  const boundary = /boundary="([^"]+)"/.exec(text)?.[1] ?? '';
  return Buffer.from(
    text.replace(`--${boundary}--`, `--${boundary}\r\n\r\nthree\r\n--${boundary}--`),
    'latin1',
  );
}

function withoutEncryption(): typeof bob.certificate {
  return {
    ...bob.certificate,
    publicKey: bob.certificate.publicKey,
    keyUsage: new Set(['digitalSignature'] as const),
  };
}

const serialOfAlice = String.raw`\(signer CN=[^()]+ \(serial [0-9a-f]+\)\)$`;

/** What the first attempt's words name: certificate, algorithm, limit. Of others the code says all. */
const words: Partial<Readonly<Record<SmimeErrorCode, string>>> = {
  SMIME_COMPRESSED_TOO_LARGE: String.raw`over \d+ bytes`,
  SMIME_TOO_MANY_SIGNERS: 'more than 16',
  SMIME_TOO_MANY_RECIPIENTS: 'more than 2000',
  SMIME_TOO_MANY_CERTIFICATES: 'more than 64',
  SMIME_NO_RECIPIENT_KEY: 'encrypted to serial [0-9a-f]+ of CN=',
  SMIME_CERTIFICATE_MALFORMED: 'serial [0-9a-f]+ of CN=',
  SMIME_SIGNER_CERTIFICATE_MISSING: 'serial [0-9a-f]+ of CN=',
  SMIME_SIGNER_KEY_NOT_ALLOWED: `1024 bits ${serialOfAlice}`,
  SMIME_DIGEST_UNSUPPORTED: 'SHA-224',
  SMIME_DIGEST_NOT_ALLOWED: 'sha1',
  SMIME_SIGNATURE_ALGORITHM_UNSUPPORTED: 'Ed25519',
  SMIME_SIGNATURE_ALGORITHM_MISMATCH: `sha512.*sha256 ${serialOfAlice}`,
  SMIME_SIGNED_ATTRIBUTE_MISSING: `content-type.*${serialOfAlice}`,
  SMIME_SIGNED_ATTRIBUTE_DUPLICATE: '1.2.840.113549.1.9.4',
  SMIME_ALGORITHM_PROTECTION_MISMATCH: serialOfAlice,
  SMIME_DIGEST_MISMATCH: serialOfAlice,
  SMIME_SIGNATURE_INVALID: serialOfAlice,
};

for (const [code, provoke] of Object.entries(provocations)) {
  test(`refuses with ${code}`, () => {
    assert.ok(provoke.length > 0);
    for (const [index, attempt] of provoke.entries()) {
      assert.throws(
        attempt,
        (error) =>
          error instanceof SmimeError &&
          error.code === code &&
          (index > 0 || new RegExp(words[code as SmimeErrorCode] ?? '.').test(error.message)),
        `attempt ${index} with another outcome`,
      );
    }
  });
}

test('every code of the error table is provoked', () => {
  assert.deepEqual(Object.keys(provocations).toSorted(), Object.keys(smimeErrors).toSorted());
});

test('algorithms are named', () => {
  const messageOf = (attempt: () => unknown): string => {
    try {
      attempt();
      return '';
    } catch (error) {
      return errorText(error);
    }
  };
  const ciphers = provocations.SMIME_CONTENT_CIPHER_NOT_ALLOWED.map(messageOf);
  assert.deepEqual(ciphers, [
    'content cipher 3DES (1.2.840.113549.3.7) is too weak',
    'content cipher RC2 (1.2.840.113549.3.2) is too weak',
    'content cipher DES (1.3.14.3.2.7) is too weak',
  ]);
});

test('the faults of key, padding and content look the same (AS-56)', () => {
  const messages = provocations.SMIME_DECRYPTION_FAILED.map((attempt) => {
    try {
      return attempt();
    } catch (error) {
      return error instanceof Error ? error.message : error;
    }
  });
  assert.equal(new Set(messages).size, 1);
});

test('SEC-11: of signers without signed attributes only the first four cost a hash of the content', () => {
  const bare = forgeSigner({
    key: alice,
    content,
    attributes: null,
    changeSignature: (signature) => signature.reverse(),
  });
  const certificates = [alice.certificate.der];
  const many = forgeSignedData({ signers: Array.from({ length: 16 }, () => bare), certificates });
  assert.throws(
    () => verifyCms(many, { content }),
    (error) => {
      assert.ok(error instanceof SmimeError);
      assert.deepEqual(error.fields['signers'], [
        ...Array<SmimeErrorCode>(4).fill('SMIME_SIGNATURE_INVALID'),
        ...Array<SmimeErrorCode>(12).fill('SMIME_TOO_MANY_SIGNERS'),
      ]);
      return true;
    },
  );
  const good = forgeSigner({ key: alice, content });
  const mixed = forgeSignedData({ signers: [...Array<Buffer>(15).fill(bare), good], certificates });
  assert.equal(verifyCms(mixed, { content }).signers.at(-1)?.outcome, 'valid');
});
