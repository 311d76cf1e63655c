import { createDecipheriv, createHash, createPublicKey, diffieHellman, type KeyObject } from 'node:crypto';
import { concatBytes } from '../../core/index.ts';
import { childAt, der, encodedBytes, readAsn1 } from '../asn1/index.ts';
import type { Certificate } from '../pki/index.ts';
import type { DigestName } from './algorithms.ts';
import type { AgreementRecipient } from './recipient-info.ts';
import type { KeyOpener } from './key-transport.ts';
import { oids } from './oids.ts';
import { readAlgorithm } from './structure.ts';

// On curves with cofactor 1, which are all that are read here, plain and cofactor agreement are the same.
const agreementDigests: ReadonlyMap<string, DigestName> = new Map([
  [oids.ecdhSha1Kdf, 'sha1'],
  [oids.ecdhSha256Kdf, 'sha256'],
  [oids.ecdhSha384Kdf, 'sha384'],
  [oids.ecdhSha512Kdf, 'sha512'],
  [oids.ecdhCofactorSha1Kdf, 'sha1'],
  [oids.ecdhCofactorSha256Kdf, 'sha256'],
  [oids.ecdhCofactorSha384Kdf, 'sha384'],
  [oids.ecdhCofactorSha512Kdf, 'sha512'],
]);

const wraps: ReadonlyMap<string, { readonly cipher: string; readonly keyBytes: number }> = new Map([
  [oids.aes128Wrap, { cipher: 'id-aes128-wrap', keyBytes: 16 }],
  [oids.aes192Wrap, { cipher: 'id-aes192-wrap', keyBytes: 24 }],
  [oids.aes256Wrap, { cipher: 'id-aes256-wrap', keyBytes: 32 }],
]);

/**
 * Ephemeral-static ECDH with the X9.63 key derivation and AES key wrap (RFC 5753 §3.1). Undefined for what is
 * not supported. Errors: those of lib/asn1.
 */
export function readKeyAgreement(
  recipient: AgreementRecipient,
  certificate: Certificate,
): KeyOpener | undefined {
  const { algorithm, originatorPoint, encryptedKey } = recipient;
  const digest = agreementDigests.get(algorithm.oid);
  if (digest === undefined || algorithm.parameters === undefined || originatorPoint === undefined)
    return undefined;
  const wrapInfo = algorithm.parameters;
  const wrap = wraps.get(readAlgorithm(wrapInfo).oid);
  if (wrap === undefined || certificate.keyType !== 'ec') return undefined;
  return {
    keyTransport: `ecdh-${digest}`,
    open: (privateKey) => {
      try {
        const publicKey = importPoint(originatorPoint, certificate);
        const secret = diffieHellman({ privateKey, publicKey });
        const info = writeSharedInfo(encodedBytes(wrapInfo), recipient.keyingMaterial, wrap.keyBytes);
        return unwrapKey(wrap.cipher, deriveKey(digest, secret, info, wrap.keyBytes), encryptedKey);
      } catch {
        return undefined;
      }
    },
  };
}

/** The point on the curve of our key; OpenSSL refuses one that does not lie on it. */
function importPoint(point: Uint8Array, certificate: Certificate): KeyObject {
  const algorithm = encodedBytes(childAt(readAsn1(certificate.publicKeyDer), 0));
  return createPublicKey({ key: der.sequence(algorithm, der.bitString(point)), format: 'der', type: 'spki' });
}

/** ECC-CMS-SharedInfo (RFC 5753 §7.2). */
function writeSharedInfo(wrapInfo: Uint8Array, material: Uint8Array | undefined, keyBytes: number): Buffer {
  const keyBits = Buffer.alloc(4);
  keyBits.writeUInt32BE(keyBytes * 8);
  const elements = [wrapInfo, der.explicit(2, der.octetString(keyBits))];
  if (material !== undefined) elements.splice(1, 0, der.explicit(0, der.octetString(material)));
  return der.sequence(...elements);
}

/** ANSI X9.63 key derivation as SEC 1 §3.6.1 gives it. */
function deriveKey(digest: DigestName, secret: Uint8Array, info: Uint8Array, keyBytes: number): Buffer {
  const blocks: Buffer[] = [];
  const counter = Buffer.alloc(4);
  for (let index = 1, size = 0; size < keyBytes; index++) {
    counter.writeUInt32BE(index);
    const block = createHash(digest).update(secret).update(counter).update(info).digest();
    blocks.push(block);
    size += block.length;
  }
  return Buffer.concat(blocks, keyBytes);
}

const wrapIv = Buffer.alloc(8, 0xa6);

/** RFC 3394 §2.2.2. Throws if the check value is wrong. */
function unwrapKey(cipher: string, key: Uint8Array, wrapped: Uint8Array): Buffer {
  const decipher = createDecipheriv(cipher, key, wrapIv);
  return concatBytes([decipher.update(wrapped), decipher.final()]);
}
