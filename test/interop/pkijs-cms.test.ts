import assert from 'node:assert/strict';
import { createHash, webcrypto } from 'node:crypto';
import { test } from 'node:test';
import * as asn1js from 'asn1js';
import * as pkijs from 'pkijs';
import { decryptCms, encryptCms, signCms, verifyCms, type DecryptionKey } from '../../src/lib/smime/index.ts';
import { readPeerKey } from '../peer-messages/peer-files.ts';

const alice = readPeerKey('alice');
const bob = readPeerKey('bob');
const at = new Date();
const content = Buffer.from('Content-Type: text/plain\r\n\r\nhello\r\n', 'latin1');

function toArrayBuffer(bytes: Uint8Array): ArrayBuffer {
  return new Uint8Array(bytes).buffer;
}

function pkcs8(key: DecryptionKey): ArrayBuffer {
  return toArrayBuffer(key.privateKey.export({ type: 'pkcs8', format: 'der' }));
}

function certificateOf(key: DecryptionKey): pkijs.Certificate {
  return pkijs.Certificate.fromBER(toArrayBuffer(key.certificate.der));
}

function encode(contentType: string, content: asn1js.Sequence): Buffer {
  return Buffer.from(new pkijs.ContentInfo({ contentType, content }).toSchema().toBER());
}

function decode(cms: Uint8Array): asn1js.BaseBlock {
  return pkijs.ContentInfo.fromBER(toArrayBuffer(cms)).content as asn1js.BaseBlock;
}

for (const keyTransport of ['oaep-sha256', 'oaep-sha1'] as const) {
  test(`pkijs decrypts our messages with ${keyTransport}`, async () => {
    for (const contentCipher of ['aes-128-cbc', 'aes-256-cbc'] as const) {
      const cms = encryptCms([content], [{ ...bob, keyTransport }], { contentCipher });
      const enveloped = new pkijs.EnvelopedData({ schema: decode(cms) });
      const opened = await enveloped.decrypt(0, {
        recipientCertificate: certificateOf(bob),
        recipientPrivateKey: pkcs8(bob),
      });
      assert.deepEqual(Buffer.from(opened), content);
    }
  });
}

for (const oaepHashAlgorithm of ['SHA-1', 'SHA-256', 'SHA-384', 'SHA-512']) {
  test(`decrypts messages of pkijs with OAEP and ${oaepHashAlgorithm}`, async () => {
    const large = Buffer.alloc(100_000, 'payload ');
    const enveloped = new pkijs.EnvelopedData();
    enveloped.addRecipientByCertificate(certificateOf(bob), { oaepHashAlgorithm });
    await enveloped.encrypt({ name: 'AES-CBC', length: 256 }, toArrayBuffer(large));
    const opened = decryptCms(encode(pkijs.ContentInfo.ENVELOPED_DATA, enveloped.toSchema()), [bob]);
    assert.equal(opened.keyTransport, `oaep-${oaepHashAlgorithm.toLowerCase().replace('-', '')}`);
    assert.ok(opened.content.equals(large));
  });
}

test('pkijs verifies our signatures', async () => {
  for (const name of ['alice', 'alice4096', 'aliceEC', 'aliceEC384']) {
    for (const digest of ['sha256', 'sha384', 'sha512'] as const) {
      const cms = signCms([content], [readPeerKey(name)], { at, digest });
      const signed = new pkijs.SignedData({ schema: decode(cms) });
      assert.equal(
        await signed.verify({ signer: 0, data: toArrayBuffer(content), checkChain: false }),
        true,
        `${name}, ${digest}`,
      );
    }
  }
});

test('we verify the signatures of pkijs, PKCS#1 v1.5 and PSS', async () => {
  for (const name of ['RSASSA-PKCS1-v1_5', 'RSA-PSS']) {
    const key = await webcrypto.subtle.importKey('pkcs8', pkcs8(alice), { name, hash: 'SHA-256' }, true, [
      'sign',
    ]);
    const digest = createHash('sha256').update(content).digest();
    const attribute = (type: string, value: asn1js.BaseBlock) =>
      new pkijs.Attribute({ type, values: [value] });
    const signed = new pkijs.SignedData({
      version: 1,
      encapContentInfo: new pkijs.EncapsulatedContentInfo({ eContentType: pkijs.ContentInfo.DATA }),
      signerInfos: [
        new pkijs.SignerInfo({
          version: 1,
          sid: new pkijs.IssuerAndSerialNumber({
            issuer: certificateOf(alice).issuer,
            serialNumber: certificateOf(alice).serialNumber,
          }),
          signedAttrs: new pkijs.SignedAndUnsignedAttributes({
            type: 0,
            attributes: [
              attribute(
                '1.2.840.113549.1.9.3',
                new asn1js.ObjectIdentifier({ value: pkijs.ContentInfo.DATA }),
              ),
              attribute('1.2.840.113549.1.9.4', new asn1js.OctetString({ valueHex: toArrayBuffer(digest) })),
            ],
          }),
        }),
      ],
      certificates: [certificateOf(alice)],
    });
    await signed.sign(key, 0, 'SHA-256', toArrayBuffer(content));
    const [signer] = verifyCms(encode(pkijs.ContentInfo.SIGNED_DATA, signed.toSchema(true)), {
      content,
    }).signers;
    assert.ok(signer?.outcome === 'valid');
    assert.equal(signer.signatureAlgorithm, name === 'RSA-PSS' ? 'rsa-pss' : 'rsa');
  }
});
