/**
 * Signs, verifies, encrypts and decrypts S/MIME entities and the CMS structures in them, on node:crypto.
 *
 * Standards: RFC 8551 (S/MIME 4.0), RFC 5652 (CMS), RFC 5083 and RFC 5084 (GCM), RFC 5754 (SHA-2), RFC 4055
 * and RFC 8017 (RSA), RFC 5753 (elliptic curves, read only for encryption), RFC 6211, RFC 3274, RFC 1847;
 * Applicability Statement chapter 2; Decision 0015. Not supported: writing of compressed-data, digested-data,
 * password and shared-key recipients, countersignatures, EdDSA, writing of opaque
 * signatures, of RSASSA-PSS and of key agreement.
 * Synchronous and CPU bound, so that worker threads can run it; it knows no trust and no discovery.
 * Called by lib/direct, service/trust (signed bundles) and the command line.
 */
export { smimeErrors, SmimeError, type SmimeErrorCode } from './errors.ts';
export { defaultCryptoPolicy, type CryptoPolicy } from './policy.ts';
export { signEntity, signPieces } from './sign-entity.ts';
export { signCms, type SigningDigest, type SigningKey } from './sign-cms.ts';
export { verifyEntity, type VerifiedEntity } from './verify-entity.ts';
export { decompressEntity } from './decompress-entity.ts';
export { verifyCms } from './verify-cms.ts';
export type { SignerResult } from './verify-signer.ts';
export { encryptEntity } from './encrypt-entity.ts';
export { encryptCms } from './encrypt-cms.ts';
export { checkEnvelopeRecipient, type KeyTransport } from './key-transport.ts';
export { announcesEnvelope } from './smime-entity.ts';
export { decryptEntity } from './decrypt-entity.ts';
export { decryptCms, findRemains, type DecryptionKey } from './decrypt-cms.ts';
export type { SendingCipher } from './start-encryption.ts';
export { readSignedData } from './signed-data.ts';
