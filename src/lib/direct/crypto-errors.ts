/**
 * An error of OpenSSL or of its binding: about a key or a value of the message, never a fault of the program
 * that has its own code.
 */
export function isCryptoError(error: unknown): error is Error {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return code.startsWith('ERR_OSSL_') || code.startsWith('ERR_CRYPTO_');
}
