import { createPrivateKey, type KeyObject } from 'node:crypto';
import {
  Asn1Error,
  childAt,
  encodedBytes,
  isContext,
  octetStringPieces,
  readAsn1,
  readOctetString,
  readOid,
  sequenceItems,
  type Asn1,
} from '../asn1/index.ts';
import { readCertificate, type Certificate } from './certificate.ts';
import { PkiError } from './errors.ts';
import { oids } from './oids.ts';
import { decryptPbes2 } from './pbes2.ts';
import { verifyMac } from './pkcs12-mac.ts';

/**
 * The content of a PKCS#12 file: each private key with the certificate of its public key, and the other
 * certificates.
 */
export interface Pkcs12 {
  readonly keys: readonly { readonly privateKey: KeyObject; readonly certificate: Certificate }[];
  readonly certificates: readonly Certificate[];
}

const encryptedData = '1.2.840.113549.1.7.6';
const bags = {
  key: '1.2.840.113549.1.12.10.1.1',
  shroudedKey: '1.2.840.113549.1.12.10.1.2',
  certificate: '1.2.840.113549.1.12.10.1.3',
} as const;

/**
 * Reads a PKCS#12 file (PKCS #12 version 1.1) of the modern kind: PBES2 with AES, checked with SHA-2, as
 * OpenSSL 3 and current tools write it. Files with RC2, Triple DES or a SHA-1 check can be rewritten with
 * `openssl pkcs12 -legacy`.
 *
 * Errors: `PKI_PKCS12_MALFORMED`, `PKI_PKCS12_UNSUPPORTED`, `PKI_PKCS12_PASSWORD`.
 */
export function readPkcs12(bytes: Uint8Array, password: string): Pkcs12 {
  try {
    return readFile(bytes, password);
  } catch (error) {
    const isOurs = error instanceof PkiError && error.code.startsWith('PKI_PKCS12_');
    if (isOurs || !(error instanceof Asn1Error || error instanceof PkiError)) throw error;
    throw new PkiError('PKI_PKCS12_MALFORMED', 'not a PKCS#12 file');
  }
}

function readFile(bytes: Uint8Array, password: string): Pkcs12 {
  const [, authSafe, macData] = sequenceItems(readAsn1(bytes, { maxNodes: 20_000 }));
  if (authSafe === undefined || readOid(childAt(authSafe, 0)) !== oids.pkcs7Data)
    throw malformed('no plain contents');
  // Without the check, contents could have been exchanged by anybody.
  if (macData === undefined)
    throw new PkiError('PKI_PKCS12_UNSUPPORTED', 'PKCS#12 without a check over its contents');
  const contents = readOctetString(childAt(childAt(authSafe, 1), 0));
  verifyMac(macData, contents, password);
  const all = sequenceItems(readAsn1(contents)).flatMap((part) => readSafe(part, password));
  return pairKeys(
    all.flatMap((bag) => ('privateKey' in bag ? [bag.privateKey] : [])),
    all.flatMap((bag) => ('certificate' in bag ? [bag.certificate] : [])),
  );
}

type Bag = { readonly privateKey: KeyObject } | { readonly certificate: Certificate };

/** One ContentInfo with SafeContents, encrypted or not. */
function readSafe(part: Asn1, password: string): Bag[] {
  const content = childAt(childAt(part, 1), 0);
  const isEncrypted = readOid(childAt(part, 0)) === encryptedData;
  const safe = isEncrypted ? decryptSafe(content, password) : readOctetString(content);
  return sequenceItems(readAsn1(safe)).flatMap((bag) => readBag(bag, password));
}

function decryptSafe(content: Asn1, password: string): Buffer {
  const info = childAt(content, 1);
  const encrypted = info.children.find((child) => isContext(child, 0));
  if (encrypted === undefined) throw malformed('no encrypted content');
  return decryptPbes2(childAt(info, 1), Buffer.concat(octetStringPieces(encrypted)), password);
}

function readBag(bag: Asn1, password: string): Bag[] {
  const kind = readOid(childAt(bag, 0));
  const value = childAt(childAt(bag, 1), 0);
  if (kind === bags.key) return [{ privateKey: readKey(encodedBytes(value)) }];
  if (kind === bags.shroudedKey) {
    const encrypted = readOctetString(childAt(value, 1));
    return [{ privateKey: readKey(decryptPbes2(childAt(value, 0), encrypted, password)) }];
  }
  return kind === bags.certificate
    ? [{ certificate: readCertificate(readOctetString(childAt(childAt(value, 1), 0))) }]
    : [];
}

function readKey(pkcs8: Uint8Array): KeyObject {
  try {
    return createPrivateKey({ key: Buffer.from(pkcs8), format: 'der', type: 'pkcs8' });
  } catch {
    throw malformed('a private key that cannot be read');
  }
}

function pairKeys(privateKeys: readonly KeyObject[], certificates: readonly Certificate[]): Pkcs12 {
  const keys = privateKeys.flatMap((privateKey) => {
    const jwk = publicPartOf(privateKey);
    const certificate = certificates.find((one) => publicPartOf(one.publicKey) === jwk);
    return certificate === undefined ? [] : [{ privateKey, certificate }];
  });
  const owned = new Set(keys.map(({ certificate }) => certificate.fingerprint));
  return { keys, certificates: certificates.filter((one) => !owned.has(one.fingerprint)) };
}

function publicPartOf(key: KeyObject): string {
  const { kty, n, e, crv, x, y } = key.export({ format: 'jwk' });
  return JSON.stringify([kty, n, e, crv, x, y]);
}

function malformed(what: string): PkiError {
  return new PkiError('PKI_PKCS12_MALFORMED', what);
}
