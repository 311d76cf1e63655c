import { generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';

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
