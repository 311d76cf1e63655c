import { hkdfSync, randomBytes } from 'node:crypto';
import { PlatformError } from '../errors.ts';
import { openBox, sealBox } from './sealed-box.ts';

/** First byte of a sealed value. */
const formatVersion = 1;
/** A data key is named by eight random bytes, written as hex in the database. */
const keyIdBytes = 8;

/**
 * Encrypts what lies in the database (SEC-05, SEC-06).
 *
 * A sealed value is `version (1) | key id (8) | nonce (12) | ciphertext | tag (16)`, that is 37 bytes more than the
 * plain one.
 */
export interface Vault {
  /** Id of the data key that seals now, as hex. */
  readonly keyId: string;
  /** `context` names the place of the value, for example `message:<id>`; it opens only there. */
  seal(plain: Uint8Array, context: string): Uint8Array;
  /** Throws PLATFORM_SEAL_BROKEN, or PLATFORM_SEAL_KEY_UNKNOWN (transient) if no key of that id is at hand. */
  open(sealed: Uint8Array, context: string): Uint8Array;
}

/** The data keys in use, by id. */
export interface KeyRing {
  readonly currentId: string;
  find(keyId: string): Uint8Array | undefined;
}

export function createVaultOver(keys: KeyRing): Vault {
  return {
    get keyId() {
      return keys.currentId;
    },
    seal(plain, context) {
      const { currentId } = keys;
      const head = Buffer.concat([Buffer.of(formatVersion), Buffer.from(currentId, 'hex')]);
      return Buffer.concat([head, sealBox(requireKey(keys, currentId), plain, boundTo(currentId, context))]);
    },
    open(sealed, context) {
      if (sealed[0] !== formatVersion)
        throw new PlatformError('PLATFORM_SEAL_BROKEN', 'a sealed value is of no known format');
      const keyId = Buffer.from(sealed.subarray(1, 1 + keyIdBytes)).toString('hex');
      return openBox(requireKey(keys, keyId), sealed.subarray(1 + keyIdBytes), boundTo(keyId, context));
    },
  };
}

/** A vault with a single data key derived from the master key: for tools and tests that have no database. */
export function createVault(masterKey: Uint8Array): Vault {
  const derived = Buffer.from(hkdfSync('sha256', masterKey, '', 'openhisp vault', keyIdBytes + 32));
  const currentId = derived.subarray(0, keyIdBytes).toString('hex');
  const key = derived.subarray(keyIdBytes);
  return createVaultOver({ currentId, find: (keyId) => (keyId === currentId ? key : undefined) });
}

export function createKeyId(): string {
  return randomBytes(keyIdBytes).toString('hex');
}

function boundTo(keyId: string, context: string): string {
  return `openhisp:${formatVersion}:${keyId}:${context}`;
}

function requireKey(keys: KeyRing, keyId: string): Uint8Array {
  const key = keys.find(keyId);
  if (key !== undefined) return key;
  throw new PlatformError('PLATFORM_SEAL_KEY_UNKNOWN', `no data key ${keyId} is at hand`, {
    fields: { keyId },
  });
}
