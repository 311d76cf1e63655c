import { createCipheriv, createHash, publicEncrypt, sign } from 'node:crypto';
import { deflateSync } from 'node:zlib';
import { der } from '../../src/lib/asn1/index.ts';
import type { Certificate } from '../../src/lib/pki/index.ts';
import type { SigningKey } from '../../src/lib/smime/index.ts';

/** Builders of CMS structures that the production code would never write, to see whether they are refused. */

export const names = {
  data: '1.2.840.113549.1.7.1',
  signedData: '1.2.840.113549.1.7.2',
  envelopedData: '1.2.840.113549.1.7.3',
  authEnvelopedData: '1.2.840.113549.1.9.16.1.23',
  contentType: '1.2.840.113549.1.9.3',
  messageDigest: '1.2.840.113549.1.9.4',
  signingTime: '1.2.840.113549.1.9.5',
  algorithmProtection: '1.2.840.113549.1.9.52',
  md5: '1.2.840.113549.2.5',
  sha1: '1.3.14.3.2.26',
  sha256: '2.16.840.1.101.3.4.2.1',
  sha384: '2.16.840.1.101.3.4.2.2',
  sha512: '2.16.840.1.101.3.4.2.3',
  rsa: '1.2.840.113549.1.1.1',
  oaep: '1.2.840.113549.1.1.7',
  mgf1: '1.2.840.113549.1.1.8',
  pSpecified: '1.2.840.113549.1.1.9',
  rsaPss: '1.2.840.113549.1.1.10',
  sha256WithRsa: '1.2.840.113549.1.1.11',
  sha512WithRsa: '1.2.840.113549.1.1.13',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  aes128Cbc: '2.16.840.1.101.3.4.1.2',
  aes256Cbc: '2.16.840.1.101.3.4.1.42',
  aes128Gcm: '2.16.840.1.101.3.4.1.6',
  tripleDes: '1.2.840.113549.3.7',
  rc2: '1.2.840.113549.3.2',
} as const;

export function algorithm(oid: string, ...parameters: Uint8Array[]): Buffer {
  return der.sequence(der.oid(oid), ...parameters);
}

export function contentInfo(contentType: string, content: Uint8Array): Buffer {
  return der.sequence(der.oid(contentType), der.explicit(0, content));
}

export function attribute(oid: string, ...values: Uint8Array[]): Buffer {
  return der.sequence(der.oid(oid), der.set(...values));
}

export function issuerAndSerial({ issuerDer, serialNumberDer }: Certificate): Buffer {
  return der.sequence(issuerDer, der.tlv(0x02, serialNumberDer));
}

/** The three attributes that a signature over such content needs. */
export function goodAttributes(content: Uint8Array, digest = 'sha256'): Buffer[] {
  return [
    attribute(names.contentType, der.oid(names.data)),
    attribute(names.signingTime, der.time(new Date('2026-11-21T10:00:00Z'))),
    attribute(names.messageDigest, der.octetString(createHash(digest).update(content).digest())),
  ];
}

export interface ForgedSigner {
  readonly key: SigningKey;
  readonly content: Uint8Array;
  /** Signed attributes; null for none. Default: the good ones. */
  readonly attributes?: readonly Uint8Array[] | null;
  readonly digestAlgorithm?: Uint8Array;
  readonly signatureAlgorithm?: Uint8Array;
  readonly reference?: Uint8Array;
  /** Digest that is really used. */
  readonly digest?: string;
  readonly changeSignature?: (signature: Buffer) => Buffer;
  readonly trailing?: readonly Uint8Array[];
}

export function forgeSigner(options: ForgedSigner): Buffer {
  const digest = options.digest ?? 'sha256';
  const attributes =
    options.attributes === undefined ? goodAttributes(options.content, digest) : options.attributes;
  const signed = attributes === null ? options.content : der.set(...attributes);
  const signature = sign(digest, signed, options.key.privateKey);
  return der.sequence(
    der.integer(1),
    options.reference ?? issuerAndSerial(options.key.certificate),
    options.digestAlgorithm ?? algorithm(names.sha256),
    ...(attributes === null
      ? []
      : [der.tlv(0xa0, signed.subarray(signed.length - contentLength(attributes)))]),
    options.signatureAlgorithm ?? algorithm(names.sha256WithRsa, der.null()),
    der.octetString(options.changeSignature?.(signature) ?? signature),
    ...(options.trailing ?? []),
  );
}

function contentLength(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, part) => sum + part.length, 0);
}

export interface ForgedSignedData {
  readonly signers: readonly Uint8Array[];
  readonly certificates?: readonly Uint8Array[];
  /** Encapsulated content; none for a detached signature. */
  readonly content?: Uint8Array;
  readonly contentType?: string;
  readonly trailing?: readonly Uint8Array[];
}

export function forgeSignedData(options: ForgedSignedData): Buffer {
  const { signers, certificates = [], content, contentType = names.data, trailing = [] } = options;
  const encapsulated = content === undefined ? [] : [der.explicit(0, der.octetString(content))];
  return contentInfo(
    names.signedData,
    der.sequence(
      der.integer(1),
      der.set(algorithm(names.sha256)),
      der.sequence(der.oid(contentType), ...encapsulated),
      ...(certificates.length === 0 ? [] : [der.implicit(0, true, ...certificates)]),
      der.tlv(0x31, ...signers),
      ...trailing,
    ),
  );
}

export interface ForgedEnvelope {
  readonly content: Uint8Array;
  readonly certificate: Certificate;
  readonly keyAlgorithm?: Uint8Array;
  readonly encryptedKey?: (contentKey: Buffer) => Uint8Array;
  readonly reference?: Uint8Array;
  readonly contentAlgorithm?: (iv: Buffer) => Uint8Array;
  readonly contentType?: string;
  readonly changeCiphertext?: (bytes: Buffer) => Uint8Array;
  /** Used instead of the one RecipientInfo. */
  readonly recipients?: readonly Uint8Array[];
  /** Leaves the encrypted content away. */
  readonly isEmpty?: boolean;
  readonly outerType?: string;
}

const contentKey = Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex');
const iv = Buffer.from('0f0e0d0c0b0a09080706050403020100', 'hex');

/** AES-128-CBC and PKCS#1 v1.5 by default. */
export function forgeEnvelope(options: ForgedEnvelope): Buffer {
  const { certificate } = options;
  const cipher = createCipheriv('aes-128-cbc', contentKey, iv);
  const ciphertext = Buffer.concat([cipher.update(options.content), cipher.final()]);
  const encrypted =
    options.encryptedKey?.(contentKey) ??
    publicEncrypt({ key: certificate.publicKey, padding: 1 }, contentKey);
  const recipient = der.sequence(
    der.integer(0),
    options.reference ?? issuerAndSerial(certificate),
    options.keyAlgorithm ?? algorithm(names.rsa, der.null()),
    der.octetString(encrypted),
  );
  return contentInfo(
    options.outerType ?? names.envelopedData,
    der.sequence(
      der.integer(0),
      der.tlv(0x31, ...(options.recipients ?? [recipient])),
      der.sequence(
        der.oid(options.contentType ?? names.data),
        options.contentAlgorithm?.(iv) ?? algorithm(names.aes128Cbc, der.octetString(iv)),
        ...(options.isEmpty === true
          ? []
          : [der.implicit(0, false, options.changeCiphertext?.(ciphertext) ?? ciphertext)]),
      ),
    ),
  );
}

/** A MIME entity around CMS bytes. */
export function cmsEntity(cms: Uint8Array, contentType = 'application/pkcs7-mime; name=smime.p7m'): Buffer {
  const body = Buffer.from(cms).toString('base64').replace(/.{76}/g, '$&\r\n');
  return Buffer.from(
    `Content-Type: ${contentType}\r\nContent-Transfer-Encoding: base64\r\n\r\n${body}\r\n`,
    'latin1',
  );
}

/** An entity of compressed-data (RFC 3274), by default with zlib. */
export function compressedEntity(
  inner: Uint8Array,
  { oid = '1.2.840.113549.1.9.16.3.8', type = 'compressed-data' } = {},
): Buffer {
  const encapsulated = der.sequence(
    der.oid(names.data),
    der.explicit(0, der.octetString(deflateSync(inner))),
  );
  const compressed = der.sequence(der.integer(0), algorithm(oid), encapsulated);
  return Buffer.concat([
    Buffer.from(
      `Content-Type: application/pkcs7-mime; smime-type=${type}; name=smime.p7z\r\nContent-Transfer-Encoding: base64\r\n\r\n`,
    ),
    Buffer.from(
      contentInfo('1.2.840.113549.1.9.16.1.9', compressed).toString('base64').replaceAll(/.{76}/g, '$&\r\n'),
    ),
    Buffer.from('\r\n'),
  ]);
}
