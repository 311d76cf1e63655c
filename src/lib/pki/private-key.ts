import { createPrivateKey, type KeyObject } from 'node:crypto';
import { viewAsBuffer } from '../../core/index.ts';
import { PkiError } from './errors.ts';
import { isPem } from './pem.ts';

/**
 * Reads a private key without password from PEM (PKCS#8, PKCS#1, SEC1) or DER (PKCS#8, RFC 5958, or PKCS#1).
 * Errors: `PKI_KEY_MALFORMED`; its text never repeats the input.
 */
export function readPrivateKey(pemOrDer: Uint8Array | string): KeyObject {
  const bytes = typeof pemOrDer === 'string' ? Buffer.from(pemOrDer, 'utf8') : viewAsBuffer(pemOrDer);
  if (isPem(bytes)) return build(() => createPrivateKey({ key: bytes, format: 'pem' }));
  return build(() => {
    try {
      return createPrivateKey({ key: bytes, format: 'der', type: 'pkcs8' });
    } catch {
      return createPrivateKey({ key: bytes, format: 'der', type: 'pkcs1' });
    }
  });
}

function build(create: () => KeyObject): KeyObject {
  try {
    return create();
  } catch {
    // The cause is omitted: OpenSSL's texts can quote parts of the key.
    throw new PkiError('PKI_KEY_MALFORMED', 'not a private key in a form that is read here');
  }
}
