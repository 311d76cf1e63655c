import { createPrivateKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { viewAsBuffer } from '../../core/index.ts';
import { PkiError } from './errors.ts';
import { isPem } from './pem.ts';

export interface KeyPair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

export type KeyPairOptions = { readonly keyBits?: number } | { readonly curve: 'P-256' | 'P-384' | 'P-521' };

const generate = promisify(generateKeyPair);

/** A new key, by default RSA with 2048 bits. An RSA key takes some 100 ms, outside the event loop. */
export async function createKeyPair(options: KeyPairOptions = {}): Promise<KeyPair> {
  if ('curve' in options) return generate('ec', { namedCurve: options.curve });
  return generate('rsa', { modulusLength: options.keyBits ?? 2048, publicExponent: 65_537 });
}

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
