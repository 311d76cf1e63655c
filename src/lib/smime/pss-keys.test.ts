import assert from 'node:assert/strict';
import { constants, generateKeyPairSync, sign } from 'node:crypto';
import { test } from 'node:test';
import {
  algorithm,
  forgeSignedData,
  goodAttributes,
  issuerAndSerial,
  names,
} from '../../../test/peer-messages/forge-cms.ts';
import { readPeerKey } from '../../../test/peer-messages/peer-files.ts';
import { der } from '../asn1/index.ts';
import { createCertificate } from '../pki/index.ts';
import { encryptEntity, signEntity, verifyCms } from './index.ts';

const at = new Date('2026-11-21T10:00:00Z');
const content = Buffer.from('Content-Type: text/plain\r\n\r\nhello\r\n', 'latin1');
// A key that its certificate binds to RSASSA-PSS (RFC 4055 §1.2).
const { publicKey, privateKey } = generateKeyPairSync('rsa-pss', { modulusLength: 2048 });
const certificate = createCertificate({
  subject: [['CN', 'pss']],
  publicKey,
  issuer: readPeerKey('alice'),
  notBefore: at,
  notAfter: at,
});

function forge(signatureAlgorithm: Buffer): Buffer {
  const attributes = der.set(...goodAttributes(content));
  const signature = sign('sha256', attributes, {
    key: privateKey,
    padding: constants.RSA_PKCS1_PSS_PADDING,
    saltLength: 32,
  });
  const signer = der.sequence(
    der.integer(1),
    issuerAndSerial(certificate),
    algorithm(names.sha256),
    Buffer.concat([Buffer.of(0xa0), attributes.subarray(1)]),
    signatureAlgorithm,
    der.octetString(signature),
  );
  return forgeSignedData({ signers: [signer], certificates: [certificate.der] });
}

const hash = algorithm(names.sha256);
const pss = algorithm(
  names.rsaPss,
  der.sequence(
    der.explicit(0, hash),
    der.explicit(1, algorithm(names.mgf1, hash)),
    der.explicit(2, der.integer(32)),
  ),
);

test('AS-51: a signature under a key bound to RSASSA-PSS is verified, and only as such', () => {
  const [signer] = verifyCms(forge(pss), { content }).signers;
  assert.ok(signer?.outcome === 'valid' && signer.signatureAlgorithm === 'rsa-pss');
  assert.throws(() => verifyCms(forge(algorithm(names.sha256WithRsa, der.null())), { content }), {
    code: 'SMIME_SIGNATURE_INVALID',
  });
});

test('such a key neither signs nor receives: we send PKCS#1 v1.5 and OAEP', () => {
  assert.throws(() => signEntity(content, [{ certificate, privateKey }], { at }), {
    code: 'SMIME_SIGNING_KEY_NOT_ALLOWED',
  });
  assert.throws(() => encryptEntity(content, [{ certificate }]), { code: 'SMIME_RECIPIENT_KEY_NOT_ALLOWED' });
});
