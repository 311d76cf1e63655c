import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseEntity, unwrapEntity } from '../../src/lib/mime/index.ts';
import { decryptEntity, SmimeError, verifyEntity, type SignerResult } from '../../src/lib/smime/index.ts';
import { listPeerFiles, readPeerCases, readPeerFile, readPeerKey } from './peer-files.ts';

/** The result at the S/MIME level: trust is decided elsewhere. */
interface Opened {
  readonly contentAlgorithm: string;
  readonly keyTransport: string;
  readonly signers: readonly SignerResult[];
  readonly entity: Uint8Array;
}

function open(file: string, keyName: string): Opened {
  const { content, contentAlgorithm, keyTransport } = decryptEntity(readPeerFile(file), [
    readPeerKey(keyName),
  ]);
  const { signers, entity } = verifyEntity(content);
  return { contentAlgorithm, keyTransport, signers, entity };
}

const fromReference: Readonly<
  Record<string, readonly [payload: string, key: string, algorithms: string, signers: number]>
> = {
  'AES128-RSA_OAEP-SHA256.eml': ['plain.eml', 'bob', 'aes-128-cbc oaep-sha256 sha256', 1],
  'AES128-RSA_PKCS1_V15-SHA256.eml': ['plain.eml', 'bob', 'aes-128-cbc pkcs1 sha256', 1],
  'AES192-RSA_OAEP-SHA256.eml': ['plain.eml', 'bob', 'aes-192-cbc oaep-sha256 sha256', 1],
  'AES192-RSA_PKCS1_V15-SHA256.eml': ['plain.eml', 'bob', 'aes-192-cbc pkcs1 sha256', 1],
  'AES256-RSA_OAEP-SHA256.eml': ['plain.eml', 'bob', 'aes-256-cbc oaep-sha256 sha256', 1],
  'AES256-RSA_PKCS1_V15-SHA256.eml': ['plain.eml', 'bob', 'aes-256-cbc pkcs1 sha256', 1],
  'SHA384WITHRSA.eml': ['plain.eml', 'bob', 'aes-128-cbc oaep-sha1 sha384', 1],
  'attachment-100k.eml': ['b100k.eml', 'bob', 'aes-256-cbc oaep-sha256 sha256', 1],
  'domain-bound-both.eml': ['plain.eml', 'beta-org', 'aes-128-cbc oaep-sha1 sha256', 1],
  'two-signers.eml': ['plain.eml', 'bob', 'aes-128-cbc oaep-sha1 sha256', 2],
};

for (const [file, [payload, key, algorithms, signerCount]] of Object.entries(fromReference)) {
  test(`opens ${file} of the Java reference implementation byte for byte`, () => {
    const { contentAlgorithm, keyTransport, signers, entity } = open(`from-ri/${file}`, key);
    const [signer] = signers;
    assert.ok(signer?.outcome === 'valid');
    assert.equal(`${contentAlgorithm} ${keyTransport} ${signer.digestAlgorithm}`, algorithms);
    assert.equal(signers.filter(({ outcome }) => outcome === 'valid').length, signerCount);
    const message = unwrapEntity(parseEntity(entity));
    assert.ok(message?.equals(readPeerFile(`from-ri/${payload}`)));
  });
}

test('every encrypted message of the reference implementation is among them', () => {
  const encrypted = listPeerFiles('from-ri').filter((name) =>
    readPeerFile(`from-ri/${name}`).includes('pkcs7-mime'),
  );
  assert.deepEqual(encrypted.toSorted(), Object.keys(fromReference).toSorted());
});

/** Refused by S/MIME alone; the other refusals of the index are matters of trust or of the envelope. */
const refused: Readonly<Record<string, string>> = {
  '05-content-des3-with-allow-weak.eml': 'SMIME_CONTENT_CIPHER_NOT_ALLOWED',
  '17-digest-sha1.eml': 'SMIME_DIGEST_NOT_ALLOWED',
  '29-signer-alice1024.eml': 'SMIME_SIGNER_KEY_NOT_ALLOWED',
  '51-encrypted-not-signed.eml': 'SMIME_NOT_SIGNED',
  '53-plain-text.eml': 'SMIME_NOT_ENCRYPTED',
  '55-signed-content-altered-before-encryption.eml': 'SMIME_DIGEST_MISMATCH',
  '69-ciphertext-bit-flipped-inside-the-signed-content.eml': 'SMIME_MULTIPART_SIGNED_MALFORMED',
};

for (const { file, name, recipientKey, expected } of readPeerCases()) {
  const code = refused[file.replace('inbound/', '')];
  const key = recipientKey.replace(/^pki\/|\.key$/g, '');
  test(`${code === undefined ? 'reads' : 'refuses'} the OpenSSL message: ${name}`, () => {
    if (code === undefined) {
      assert.ok(open(file, key).signers.some(({ outcome }) => outcome === 'valid'));
      return;
    }
    assert.equal(expected, 'reject');
    assert.throws(
      () => open(file, key),
      (error) => error instanceof SmimeError && error.code === code,
    );
  });
}
