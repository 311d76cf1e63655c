import { sign, type KeyObject } from 'node:crypto';
import { der } from '../asn1/index.ts';
import { oids } from './oids.ts';

export type SignatureDigest = 'sha1' | 'sha256' | 'sha384' | 'sha512';

const rsaOids: Readonly<Record<SignatureDigest, string>> = {
  sha1: oids.sha1WithRsa,
  sha256: oids.sha256WithRsa,
  sha384: oids.sha384WithRsa,
  sha512: oids.sha512WithRsa,
};

const ecdsaOids: Readonly<Record<SignatureDigest, string>> = {
  sha1: oids.ecdsaWithSha1,
  sha256: oids.ecdsaWithSha256,
  sha384: oids.ecdsaWithSha384,
  sha512: oids.ecdsaWithSha512,
};

/** The AlgorithmIdentifier of RSA PKCS#1 v1.5 or ECDSA with that digest, by the kind of the key. */
export function signatureAlgorithmDer(privateKey: KeyObject, digest: SignatureDigest): Buffer {
  return privateKey.asymmetricKeyType === 'ec'
    ? der.sequence(der.oid(ecdsaOids[digest]))
    : der.sequence(der.oid(rsaOids[digest]), der.null());
}

/**
 * The SIGNED structure of RFC 5280 §4.1 and §5.1: the bytes, the algorithm and the signature over the bytes.
 */
export function signObject(body: Uint8Array, privateKey: KeyObject, digest: SignatureDigest): Buffer {
  const signature = sign(digest, body, privateKey);
  return der.sequence(body, signatureAlgorithmDer(privateKey, digest), der.bitString(signature));
}
