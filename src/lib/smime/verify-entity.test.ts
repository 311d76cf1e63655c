import assert from 'node:assert/strict';
import { constants, createHash, sign } from 'node:crypto';
import { test } from 'node:test';
import {
  algorithm,
  attribute,
  cmsEntity,
  forgeEnvelope,
  forgeSignedData,
  forgeSigner,
  goodAttributes,
  issuerAndSerial,
  names,
} from '../../../test/peer-messages/forge-cms.ts';
import { readPeerKey } from '../../../test/peer-messages/peer-files.ts';
import { der } from '../asn1/index.ts';
import { decodeBody, parseEntity } from '../mime/index.ts';
import { createCertificate, type Certificate } from '../pki/index.ts';
import {
  decryptCms,
  defaultCryptoPolicy,
  encryptEntity,
  signEntity,
  SmimeError,
  verifyCms,
  verifyEntity,
  type DecryptionKey,
  type SignerResult,
} from './index.ts';

const alice = readPeerKey('alice');
const elliptic = readPeerKey('aliceEC');
const at = new Date('2026-11-21T10:00:00Z');
const content = Buffer.from('Content-Type: text/plain\r\n\r\nhello\r\n', 'latin1');
const certificates = [alice.certificate.der, elliptic.certificate.der];

const good = forgeSigner({ key: alice, content });
const altered = forgeSigner({ key: alice, content, attributes: goodAttributes(Buffer.from('other')) });
const unsupported = forgeSigner({ key: alice, content, digestAlgorithm: algorithm('1.2.3') });

function outcomes(signers: readonly SignerResult[]): string[] {
  return signers.map((signer) => (signer.outcome === 'valid' ? 'valid' : signer.code));
}

function tryDecrypt(cms: Uint8Array, key: DecryptionKey): Uint8Array | undefined {
  try {
    return decryptCms(cms, [key]).content;
  } catch {
    return undefined;
  }
}

test('AS-71: unsigned messages are refused in every form', () => {
  const envelope = encryptEntity(content, [readPeerKey('bob')]);
  const unsigned = cmsEntity(forgeSignedData({ signers: [], certificates, content }));
  for (const entity of [content, envelope, unsigned]) {
    assert.throws(() => verifyEntity(entity), { code: 'SMIME_NOT_SIGNED' });
  }
});

test('AS-73: signed data without a certificate has nothing to bind and is refused', () => {
  assert.throws(() => verifyCms(forgeSignedData({ signers: [good] }), { content }), {
    code: 'SMIME_CERTIFICATES_MISSING',
  });
});

test('AS-76: one valid signer among others is enough, in any order, each with its own outcome', () => {
  const expected = ['SMIME_DIGEST_MISMATCH', 'valid', 'SMIME_DIGEST_UNSUPPORTED', 'SMIME_SIGNER_MALFORMED'];
  const signers = [altered, good, unsupported, der.sequence()];
  assert.deepEqual(
    outcomes(verifyCms(forgeSignedData({ signers, certificates }), { content }).signers),
    expected,
  );
  const reversed = verifyCms(forgeSignedData({ signers: signers.toReversed(), certificates }), { content });
  assert.deepEqual(outcomes(reversed.signers), expected.toReversed());
});

test('without a valid signer the first fault is thrown, and all are listed', () => {
  const cms = forgeSignedData({ signers: [altered, unsupported], certificates });
  assert.throws(
    () => verifyCms(cms, { content }),
    (error) => {
      assert.ok(error instanceof SmimeError);
      assert.equal(error.code, 'SMIME_DIGEST_MISMATCH');
      assert.deepEqual(error.fields['signers'], ['SMIME_DIGEST_MISMATCH', 'SMIME_DIGEST_UNSUPPORTED']);
      return true;
    },
  );
});

test('AS-72: an opaque signature gives the same entity as a detached one', () => {
  const opaque = forgeSignedData({ signers: [good], certificates, content });
  for (const type of [
    'application/pkcs7-mime; smime-type=signed-data',
    'application/x-pkcs7-mime',
    'application/octet-stream; name="SMIME.P7M"',
  ]) {
    const verified = verifyEntity(cmsEntity(opaque, type));
    assert.equal(verified.form, 'opaque');
    assert.deepEqual(Buffer.from(verified.entity), content);
  }
  assert.equal(verifyEntity(signEntity(content, [alice], { at })).form, 'detached');
});

test('AS-72: a signature is recognized by the name of its file too', () => {
  const signed = signEntity(content, [alice], { at }).toString('latin1');
  const named = signed.replace('application/pkcs7-signature; name', 'application/octet-stream; name');
  assert.equal(verifyEntity(Buffer.from(named, 'latin1')).form, 'detached');
  const unnamed = named.replaceAll('smime.p7s', 'smime.bin');
  assert.throws(() => verifyEntity(Buffer.from(unnamed, 'latin1')), {
    code: 'SMIME_MULTIPART_SIGNED_MALFORMED',
  });
});

test('AS-72: application/x-pkcs7-signature, and parts in quoted-printable or binary', () => {
  const signed = signEntity(content, [alice], { at }).toString('latin1');
  assert.equal(
    verifyEntity(
      Buffer.from(
        signed.replace('application/pkcs7-signature; name', 'application/x-pkcs7-signature; name'),
        'latin1',
      ),
    ).signers.length,
    1,
  );
  const signature = parseEntity(Buffer.from(signed, 'latin1')).parts[1];
  assert.ok(signature !== undefined);
  const der = decodeBody(signature);
  const quoted = [...der]
    .map((byte) => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`)
    .join('')
    .replace(/(?:=..){25}/g, '$&=\r\n');
  const encoded = Buffer.from(signature.bodyBytes).toString('latin1');
  for (const [name, body] of [
    ['quoted-printable', quoted],
    ['binary', `${der.toString('latin1')}\r\n`],
    ['8bit', der.toString('latin1')],
  ] as const) {
    const changed = signed
      .replace('Content-Transfer-Encoding: base64', `Content-Transfer-Encoding: ${name}`)
      .replace(encoded, () => body);
    assert.deepEqual(verifyEntity(Buffer.from(changed, 'latin1')).entity, content, name);
  }
});

test('the signed bytes are exactly those between the boundaries', () => {
  for (const body of ['', '\r\n', 'x', 'x\r\n\r\n', 'x \t', '\0\u00ff']) {
    const entity = Buffer.from(`Content-Type: text/plain\r\n\r\n${body}`, 'latin1');
    assert.deepEqual(verifyEntity(signEntity(entity, [alice], { at })).entity, entity);
  }
});

test('AS-77: any change of the signed bytes is noticed', () => {
  const signed = signEntity(content, [alice], { at });
  const start = signed.indexOf(content);
  for (let index = start; index < start + content.length; index++) {
    const changed = Buffer.from(signed);
    changed[index] = (changed[index] ?? 0) ^ 1;
    assert.throws(() => verifyEntity(changed), { code: 'SMIME_DIGEST_MISMATCH' });
  }
});

test('SEC-14: an envelope lengthened by blocks of itself is refused, whatever its padding tells', () => {
  const bob = readPeerKey('bob');
  const signed = signEntity(content, [alice], { at });
  let padded = 0;
  for (let guess = 0; guess < 256; guess++) {
    const cms = forgeEnvelope({
      content: signed,
      certificate: bob.certificate,
      changeCiphertext: (bytes) =>
        Buffer.concat([bytes, bytes.subarray(0, 15), Buffer.of(guess), bytes.subarray(16, 32)]),
    });
    const opened = tryDecrypt(cms, bob);
    if (opened === undefined) continue;
    padded++;
    assert.throws(() => verifyEntity(opened), { code: 'SMIME_UNSIGNED_NOT_TEXT' });
  }
  assert.ok(padded > 0);
});

test('SEC-14: text around the parts is accepted', () => {
  const signed = Buffer.from(signEntity(content, [alice], { at })).toString('latin1');
  const around = signed.replace('\r\n\r\n--', '\r\n\r\nSigned. \u00c2\u00a7\r\n--');
  assert.equal(verifyEntity(Buffer.from(`${around}The end.\t\r\n`, 'latin1')).form, 'detached');
});

test('reports the attributes of the signer', () => {
  const [signer] = verifyEntity(signEntity(content, [elliptic], { at })).signers;
  assert.ok(signer?.outcome === 'valid');
  assert.equal(signer.signatureAlgorithm, 'ecdsa');
  assert.deepEqual(signer.signingTime, at);
  assert.equal(signer.hasSignedAttributes, true);
});

test('AS-51: signatures without signed attributes, by key identifier, under rsaEncryption', () => {
  const keyIdentifier = alice.certificate.subjectKeyIdentifier ?? Buffer.alloc(0);
  const signer = forgeSigner({
    key: alice,
    content,
    attributes: null,
    reference: der.implicit(0, false, keyIdentifier),
    signatureAlgorithm: algorithm(names.rsa, der.null()),
  });
  const [result] = verifyCms(forgeSignedData({ signers: [signer], certificates }), { content }).signers;
  assert.ok(result?.outcome === 'valid' && !result.hasSignedAttributes);
});

for (const digest of ['sha256', 'sha384', 'sha512'] as const) {
  test(`AS-51: RSASSA-PSS with ${digest}`, () => {
    const hash = algorithm(names[digest]);
    for (const saltLength of [0, 20, 32]) {
      const attributes = goodAttributes(content, digest);
      const parameters = der.sequence(
        der.explicit(0, hash),
        der.explicit(1, algorithm(names.mgf1, hash)),
        ...(saltLength === 20 ? [] : [der.explicit(2, der.integer(saltLength))]),
      );
      const signer = der.sequence(
        der.integer(1),
        issuerAndSerial(alice.certificate),
        hash,
        retag(der.set(...attributes)),
        algorithm(names.rsaPss, parameters),
        der.octetString(
          sign(digest, der.set(...attributes), {
            key: alice.privateKey,
            padding: constants.RSA_PKCS1_PSS_PADDING,
            saltLength,
          }),
        ),
      );
      const [result] = verifyCms(forgeSignedData({ signers: [signer], certificates }), { content }).signers;
      assert.ok(result?.outcome === 'valid' && result.signatureAlgorithm === 'rsa-pss');
    }
  });
}

test('RFC 6211: algorithm protection that agrees is accepted, with NULL or without', () => {
  for (const parameters of [[], [der.null()]]) {
    const protection = der.sequence(
      algorithm(names.sha256, ...parameters),
      der.implicit(1, true, der.oid(names.sha256WithRsa), ...parameters),
    );
    const attributes = [...goodAttributes(content), attribute(names.algorithmProtection, protection)];
    const signers = [forgeSigner({ key: alice, content, attributes })];
    assert.deepEqual(outcomes(verifyCms(forgeSignedData({ signers, certificates }), { content }).signers), [
      'valid',
    ]);
  }
});

/** The same encoding, with each text as another kind of string. */
function withTexts(encoded: Uint8Array, tag: number): Buffer {
  const copy = Buffer.from(encoded);
  const visit = (from: number, to: number): void => {
    for (let at = from; at < to; at += 2 + (copy[at + 1] ?? 0)) {
      const isConstructed = ((copy[at] ?? 0) & 0x20) !== 0;
      if (isConstructed) visit(at + 2, at + 2 + (copy[at + 1] ?? 0));
      else if (copy[at] === 0x0c) copy[at] = tag;
    }
  };
  visit(0, copy.length);
  return copy;
}

test('AS-83: a signer named in another, unambiguous form is verified', () => {
  const { issuerDer, serialNumberDer } = alice.certificate;
  const by = (issuer: Uint8Array) => der.sequence(issuer, der.tlv(0x02, serialNumberDer));
  const shouted = Buffer.from(Buffer.from(issuerDer).toString('latin1').replace('alpha', 'ALPHA'), 'latin1');
  assert.notDeepEqual(withTexts(issuerDer, 0x13), Buffer.from(issuerDer));
  for (const [name, signer] of Object.entries({
    'issuer in another kind of string': { key: alice, reference: by(withTexts(issuerDer, 0x13)) },
    'issuer in capitals': { key: alice, reference: by(shouted) },
    'digest named by the signature': {
      key: alice,
      digestAlgorithm: algorithm(names.sha256WithRsa, der.null()),
    },
    'signature named by the kind of key': {
      key: elliptic,
      signatureAlgorithm: algorithm('1.2.840.10045.2.1', der.oid('1.2.840.10045.3.1.7')),
    },
  })) {
    const signers = [forgeSigner({ content, ...signer })];
    const cms = forgeSignedData({ signers, certificates });
    assert.deepEqual(outcomes(verifyCms(cms, { content }).signers), ['valid'], name);
    assert.throws(() => verifyCms(cms, { content: Buffer.from('other') }), { code: 'SMIME_DIGEST_MISMATCH' });
  }
  const other = forgeSigner({ key: alice, content, digestAlgorithm: algorithm(names.sha512WithRsa) });
  assert.throws(() => verifyCms(forgeSignedData({ signers: [other], certificates }), { content }), {
    code: 'SMIME_SIGNATURE_ALGORITHM_MISMATCH',
  });
});

test('AS-52: weak digests are read only under a policy that says so', () => {
  for (const digest of ['sha1', 'md5'] as const) {
    const signer = forgeSigner({
      key: alice,
      content,
      digest,
      digestAlgorithm: algorithm(names[digest]),
      signatureAlgorithm: algorithm(names.rsa),
    });
    const cms = forgeSignedData({ signers: [signer], certificates });
    const policy = { ...defaultCryptoPolicy, weakDigests: new Set([digest]) };
    assert.deepEqual(outcomes(verifyCms(cms, { content, policy }).signers), ['valid']);
    assert.throws(() => verifyCms(cms, { content, policy: { ...policy, weakDigests: new Set() } }), {
      code: 'SMIME_DIGEST_NOT_ALLOWED',
    });
  }
});

test('AS-14: short RSA keys are read only under a policy that says so', () => {
  const weak = readPeerKey('alice1024');
  const cms = forgeSignedData({
    signers: [forgeSigner({ key: weak, content })],
    certificates: [weak.certificate.der],
  });
  const policy = { ...defaultCryptoPolicy, minimumRsaBits: 1024 };
  assert.deepEqual(outcomes(verifyCms(cms, { content, policy }).signers), ['valid']);
});

/** A certificate under the issuer and serial number of alice's. */
function impersonate({ publicKey }: Certificate): Certificate {
  return createCertificate({
    subject: [['CN', 'impostor']],
    publicKey,
    issuer: {
      certificate: {
        ...elliptic.certificate,
        publicKey: elliptic.certificate.publicKey,
        subjectDer: alice.certificate.issuerDer,
      },
      privateKey: elliptic.privateKey,
    },
    serialNumber: alice.certificate.serialNumberDer,
    notBefore: at,
    notAfter: at,
  });
}

test('SEC-11: sixteen signatures of a message are verified, however many certificates its signers could mean', () => {
  const impostors = ['bob', 'bob2', 'beta-org'].map((name) => impersonate(readPeerKey(name).certificate).der);
  const cms = forgeSignedData({
    signers: Array<Buffer>(16).fill(good),
    certificates: [...impostors, alice.certificate.der],
  });
  const [valid, refused] = [Array(4).fill('valid'), Array(12).fill('SMIME_TOO_MANY_SIGNERS')];
  assert.deepEqual(outcomes(verifyCms(cms, { content }).signers), [...valid, ...refused]);
});

test('a foreign certificate under the same issuer and serial does not shadow the right one', () => {
  const impostor = impersonate(elliptic.certificate);
  assert.deepEqual(impostor.issuerDer, alice.certificate.issuerDer);
  assert.equal(impostor.serialNumber, alice.certificate.serialNumber);
  for (const order of [
    [impostor.der, alice.certificate.der],
    [alice.certificate.der, impostor.der],
  ]) {
    const [signer] = verifyCms(forgeSignedData({ signers: [good], certificates: order }), {
      content,
    }).signers;
    assert.ok(signer?.outcome === 'valid');
    assert.equal(signer.certificate.fingerprint, alice.certificate.fingerprint);
  }
});

test('BER: indefinite lengths everywhere, content in small pieces', () => {
  const attributes = goodAttributes(content);
  const indefinite = (tag: number, ...parts: Uint8Array[]) =>
    Buffer.concat([Buffer.of(tag, 0x80), ...parts, Buffer.alloc(2)]);
  const signature = sign('sha256', der.set(...attributes), alice.privateKey);
  const pieces = [...content].map((byte) => der.octetString(Buffer.of(byte)));
  const signer = indefinite(
    0x30,
    der.integer(1),
    issuerAndSerial(alice.certificate),
    algorithm(names.sha256),
    indefinite(0xa0, ...attributes.toSorted(Buffer.compare)),
    algorithm(names.sha256WithRsa, der.null()),
    indefinite(0x24, der.octetString(signature.subarray(0, 100)), der.octetString(signature.subarray(100))),
  );
  const cms = indefinite(
    0x30,
    der.oid(names.signedData),
    indefinite(
      0xa0,
      indefinite(
        0x30,
        der.integer(1),
        indefinite(0x31, algorithm(names.sha256)),
        indefinite(0x30, der.oid(names.data), indefinite(0xa0, indefinite(0x24, ...pieces))),
        indefinite(0xa0, alice.certificate.der),
        indefinite(0x31, signer),
      ),
    ),
  );
  const verified = verifyEntity(cmsEntity(cms));
  assert.deepEqual(Buffer.from(verified.entity), content);
  assert.equal(
    createHash('sha256').update(verified.entity).digest('hex'),
    createHash('sha256').update(content).digest('hex'),
  );
});

function retag(set: Buffer): Buffer {
  return Buffer.concat([Buffer.of(0xa0), set.subarray(1)]);
}

/** One attribute with its length in the long form, which DER does not allow for it. */
const longForm = (encoded: Buffer): Buffer =>
  Buffer.concat([encoded.subarray(0, 1), Buffer.of(0x81), encoded.subarray(1)]);

test('RFC 5652 §5.4: attributes that were signed in DER verify, however they travel', () => {
  const attributes = goodAttributes(content);
  const derForm = der.set(...attributes);
  const signature = sign('sha256', derForm, alice.privateKey);
  const inAnyOrder = [attributes, attributes.toReversed()];
  const withLongForms = [attributes.map((one) => longForm(one)), attributes.toReversed().map(longForm)];
  for (const travelling of [...inAnyOrder, ...withLongForms]) {
    const signer = forgeSigner({
      key: alice,
      content,
      attributes: travelling,
      changeSignature: () => signature,
    });
    const { signers } = verifyCms(forgeSignedData({ signers: [signer], certificates }), { content });
    assert.deepEqual(outcomes(signers), ['valid']);
    const other = forgeSignedData({ signers: [signer], certificates });
    assert.throws(() => verifyCms(other, { content: Buffer.from('other') }), {
      code: 'SMIME_DIGEST_MISMATCH',
    });
  }
});

test('RFC 5652 §5.4: attributes that were signed as they travel, in no DER, verify too; changed ones do not', () => {
  const attributes = goodAttributes(content).toReversed();
  const encoded = Buffer.concat(attributes);
  const signed = Buffer.concat([Buffer.of(0x31, encoded.length), encoded]);
  const signature = sign('sha256', signed, alice.privateKey);
  const forge = (travelling: Buffer[]) =>
    forgeSignedData({
      signers: [
        forgeSigner({ key: alice, content, attributes: travelling, changeSignature: () => signature }),
      ],
      certificates,
    });
  const withTime = [...attributes, attribute(names.signingTime, der.time(at))];
  assert.throws(() => verifyCms(forge(withTime), { content }), { code: /SMIME_SIGN/ });
  const [first, , last] = attributes;
  assert.ok(first && last);
  assert.throws(() => verifyCms(forge([first, last]), { content }), { code: 'SMIME_SIGNATURE_INVALID' });
});

test('RFC 8551 §3.1.1: content that travels with bare LF verifies as it was signed, with CRLF', () => {
  const crlf = 'Content-Type: text/plain\r\n\r\none\r\ntwo\r\n';
  const entity = signEntity(Buffer.from(crlf), [alice], { at }).toString('latin1');
  const withLf = Buffer.from(entity.replace(crlf, crlf.replaceAll('\r\n', '\n')), 'latin1');
  const allLf = Buffer.from(entity.replaceAll('\r\n', '\n'), 'latin1');
  const mixed = Buffer.from(entity.replace('one\r\n', 'one\n'), 'latin1');
  for (const travelling of [withLf, allLf, mixed])
    assert.equal(Buffer.from(verifyEntity(travelling).entity).toString(), crlf);
  const changed = Buffer.from(withLf.toString('latin1').replace('two', 'six'), 'latin1');
  assert.throws(() => verifyEntity(changed), { code: 'SMIME_DIGEST_MISMATCH' });
  // What was signed with LF stays as it is.
  const lf = Buffer.from('Content-Type: text/plain\n\nhello\n');
  const signedLf = signEntity(lf, [alice], { at });
  assert.deepEqual(Buffer.from(verifyEntity(signedLf).entity), lf);
});
