/**
 * Object identifiers of CMS (RFC 5652, RFC 5083, RFC 5084, RFC 5753, RFC 5754, RFC 8017) that this module
 * acts on.
 */
export const oids = {
  // Content types.
  data: '1.2.840.113549.1.7.1',
  signedData: '1.2.840.113549.1.7.2',
  envelopedData: '1.2.840.113549.1.7.3',
  authEnvelopedData: '1.2.840.113549.1.9.16.1.23',
  compressedData: '1.2.840.113549.1.9.16.1.9',
  zlibCompression: '1.2.840.113549.1.9.16.3.8',
  // Signed attributes.
  contentType: '1.2.840.113549.1.9.3',
  messageDigest: '1.2.840.113549.1.9.4',
  signingTime: '1.2.840.113549.1.9.5',
  algorithmProtection: '1.2.840.113549.1.9.52',
  // Digests.
  md5: '1.2.840.113549.2.5',
  sha1: '1.3.14.3.2.26',
  sha256: '2.16.840.1.101.3.4.2.1',
  sha384: '2.16.840.1.101.3.4.2.2',
  sha512: '2.16.840.1.101.3.4.2.3',
  // RSA.
  rsaEncryption: '1.2.840.113549.1.1.1',
  md5WithRsa: '1.2.840.113549.1.1.4',
  sha1WithRsa: '1.2.840.113549.1.1.5',
  sha1WithRsaOiw: '1.3.14.3.2.29',
  rsaOaep: '1.2.840.113549.1.1.7',
  mgf1: '1.2.840.113549.1.1.8',
  pSpecified: '1.2.840.113549.1.1.9',
  rsaPss: '1.2.840.113549.1.1.10',
  sha256WithRsa: '1.2.840.113549.1.1.11',
  sha384WithRsa: '1.2.840.113549.1.1.12',
  sha512WithRsa: '1.2.840.113549.1.1.13',
  // Elliptic curves.
  ecPublicKey: '1.2.840.10045.2.1',
  ecdsaWithSha1: '1.2.840.10045.4.1',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  ecdsaWithSha384: '1.2.840.10045.4.3.3',
  ecdsaWithSha512: '1.2.840.10045.4.3.4',
  ecdhSha1Kdf: '1.3.133.16.840.63.0.2',
  ecdhSha256Kdf: '1.3.132.1.11.1',
  ecdhSha384Kdf: '1.3.132.1.11.2',
  ecdhSha512Kdf: '1.3.132.1.11.3',
  ecdhCofactorSha1Kdf: '1.3.133.16.840.63.0.3',
  ecdhCofactorSha256Kdf: '1.3.132.1.14.1',
  ecdhCofactorSha384Kdf: '1.3.132.1.14.2',
  ecdhCofactorSha512Kdf: '1.3.132.1.14.3',
  // Content ciphers and key wrap.
  aes128Wrap: '2.16.840.1.101.3.4.1.5',
  aes192Wrap: '2.16.840.1.101.3.4.1.25',
  aes256Wrap: '2.16.840.1.101.3.4.1.45',
  aes128Cbc: '2.16.840.1.101.3.4.1.2',
  aes192Cbc: '2.16.840.1.101.3.4.1.22',
  aes256Cbc: '2.16.840.1.101.3.4.1.42',
  aes128Gcm: '2.16.840.1.101.3.4.1.6',
  aes192Gcm: '2.16.840.1.101.3.4.1.26',
  aes256Gcm: '2.16.840.1.101.3.4.1.46',
  tripleDesCbc: '1.2.840.113549.3.7',
  rc2Cbc: '1.2.840.113549.3.2',
  desCbc: '1.3.14.3.2.7',
} as const;
