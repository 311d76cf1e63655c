/**
 * Algorithms accepted on receipt (Decision 0015). Outgoing messages do not depend on it: SHA-2, AES and
 * RSA keys of 2048 bits or more, always.
 */
export interface CryptoPolicy {
  /** Digests next to SHA-256, SHA-384 and SHA-512. None by default (AS-52). */
  readonly weakDigests: ReadonlySet<'md5' | 'sha1'>;
  /** Read content under three-key Triple DES. False by default (AS-55); RC2 and DES are never read. */
  readonly allowsTripleDes: boolean;
  /** Smallest RSA modulus of a signer. 2048 by default (AS-14). */
  readonly minimumRsaBits: number;
}

export const defaultCryptoPolicy: CryptoPolicy = Object.freeze({
  weakDigests: new Set<never>(),
  allowsTripleDes: false,
  minimumRsaBits: 2048,
});

/**
 * The RSA modulus and the curves that this project signs and encrypts with, whatever the policy (AS-14,
 * RFC 8551 §4.2).
 */
export const minimumSendingRsaBits = 2048;
export const allowedCurves: ReadonlySet<string> = new Set(['P-256', 'P-384', 'P-521']);

/**
 * Limits of the computation that one message may cause. Real messages have one signer and at most some dozen
 * recipients.
 */
export const limits = {
  signers: 16,
  certificates: 64,
  /**
   * Of all of them together. A path to a published anchor takes 10 kB; they are read before anybody is
   * trusted.
   */
  certificateBytes: 1024 * 1024,
  /** Certificates tried for one signer, where several bear the name that it gives. */
  certificatesPerSigner: 4,
  /**
   * Verifications of signatures of one message. With the slowest keys, of P-521, one takes some milliseconds.
   */
  verifications: 16,
  /**
   * Of these, over the content itself: each hashes all of it, while those over signed attributes share one
   * digest.
   */
  contentVerifications: 4,
  /** A signer's RSA modulus: larger ones only cost time. */
  rsaBits: 8192,
  recipients: 2000,
  /** Private key operations spent on one message. */
  decryptionAttempts: 8,
  /** Of compressed content, opened: the largest message that is accepted by default. */
  decompressedBytes: 60 * 1024 * 1024,
  /** Elements of one CMS structure; the reference implementation cuts content into pieces of 1000 bytes. */
  nodes: 400_000,
} as const;
