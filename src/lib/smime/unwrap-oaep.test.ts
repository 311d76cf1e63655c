import assert from 'node:assert/strict';
import { constants, privateDecrypt, publicEncrypt } from 'node:crypto';
import { test } from 'node:test';
import { readPeerKey } from '../../../test/peer-messages/peer-files.ts';
import type { DigestName } from './algorithms.ts';
import { unwrapOaep } from './unwrap-oaep.ts';

const { certificate, privateKey } = readPeerKey('bob');
const message = Buffer.from('00ff0102030405060708090a0b0c0d0e0f', 'hex');

/** A ciphertext of OpenSSL with one hash for both uses, decrypted up to the padding. */
function encode(digest: DigestName, label: Uint8Array): Buffer {
  const encrypted = publicEncrypt(
    { key: certificate.publicKey, oaepHash: digest, oaepLabel: label },
    message,
  );
  return privateDecrypt({ key: privateKey, padding: constants.RSA_NO_PADDING }, encrypted);
}

for (const digest of ['sha1', 'sha256', 'sha384', 'sha512'] as const) {
  test(`takes off the padding that OpenSSL put on with ${digest}`, () => {
    for (const label of [Buffer.alloc(0), Buffer.from('label')]) {
      assert.deepEqual(unwrapOaep(encode(digest, label), { digest, maskDigest: digest, label }), message);
    }
  });
}

test('refuses another label, another hash and any altered byte', () => {
  const parameters = { digest: 'sha256', maskDigest: 'sha256', label: Buffer.alloc(0) } as const;
  const encoded = encode('sha256', parameters.label);
  assert.equal(unwrapOaep(encoded, { ...parameters, label: Buffer.from('x') }), undefined);
  assert.equal(unwrapOaep(encoded, { ...parameters, maskDigest: 'sha1' }), undefined);
  for (let index = 0; index < encoded.length; index++) {
    const altered = Buffer.from(encoded);
    altered[index] = (altered[index] ?? 0) ^ 0x40;
    const found = unwrapOaep(altered, parameters);
    assert.ok(found === undefined || !found.equals(message), `byte ${index}`);
  }
  assert.equal(unwrapOaep(encoded.subarray(0, 65), parameters), undefined);
});
