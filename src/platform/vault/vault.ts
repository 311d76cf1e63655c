/**
 * Encryption of stored values by data keys, which a master key from outside the database protects
 * (SEC-06).
 * Used by `platform`; others by its `index.ts`.
 * Begin with this file, then `open-vault.ts`.
 */
import { hkdfSync, randomBytes, type KeyObject } from 'node:crypto';
import { createHmacSha256, equalSecrets, viewAsBuffer } from '../../core/index.ts';
import { PlatformError } from '../errors.ts';
import { decryptAead, prepareKey, encryptAead } from './aead.ts';

/** First byte of an encrypted value. */
const formatVersion = 1;
const formatPrefix = '01';
/** A data key is named by eight random bytes, written as hex in the database. */
const keyIdBytes = 8;
const macBytes = 32;

/**
 * Encrypts values in the database (SEC-05, SEC-06), in columns named `sealed_…`.
 *
 * An encrypted value is `version (1) | key id (8) | nonce (12) | ciphertext | tag (16)`, that is 37 bytes
 * more than the plain one.
 */
export interface Vault {
  /** Id of the data key that encrypts new values, as hex. */
  readonly keyId: string;
  /**
   * `context` names the place of the value, for example `message:<id>`; the value can be decrypted only
   * there.
   */
  encrypt(plain: Uint8Array, context: string): Uint8Array;
  /**
   * Throws PLATFORM_SEAL_BROKEN, or PLATFORM_SEAL_KEY_UNKNOWN (transient) if no key with that id is loaded.
   */
  decrypt(encrypted: Uint8Array, context: string): Uint8Array;
  /**
   * Authenticates bytes that stay readable: `version (1) | key id (8) | HMAC-SHA-256 (32)`, valid for this
   * context only.
   */
  mac(data: Uint8Array, context: string): Uint8Array;
  /**
   * Throws PLATFORM_MAC_INVALID unless `mac` was made for these bytes in this context, or
   * PLATFORM_SEAL_KEY_UNKNOWN.
   */
  requireMac(mac: Uint8Array, data: Uint8Array, context: string): void;
  /** 32 bytes for one purpose, always the same for the same data key. Throws PLATFORM_SEAL_KEY_UNKNOWN. */
  deriveKey(keyId: string, purpose: string): Uint8Array;
}

/** The data keys in use, by id. */
export interface KeyRing {
  readonly currentId: string;
  find(keyId: string): KeyObject | undefined;
}

export function createVaultOver(keys: KeyRing): Vault {
  const derived = new Map<string, Uint8Array>();
  const macKeys = new Map<string, ReturnType<typeof createHmacSha256>>();

  function deriveKey(keyId: string, purpose: string): Uint8Array {
    const name = `${keyId} ${purpose}`;
    const known = derived.get(name);
    if (known !== undefined) return known;
    const key = Buffer.from(hkdfSync('sha256', requireKey(keys, keyId), '', `openhisp ${purpose}`, macBytes));
    derived.set(name, key);
    return key;
  }

  function macOf(keyId: string, data: Uint8Array, context: string): Buffer {
    const authenticate = macKeys.get(keyId) ?? createHmacSha256(deriveKey(keyId, 'mac'));
    macKeys.set(keyId, authenticate);
    const tag = authenticate(`${boundTo(keyId, context)}\0`, data);
    return Buffer.concat([Buffer.of(formatVersion), Buffer.from(keyId, 'hex'), tag]);
  }

  return {
    get keyId() {
      return keys.currentId;
    },
    encrypt(plain, context) {
      const { currentId } = keys;
      const head = Buffer.from(formatPrefix + currentId, 'hex');
      return encryptAead(requireKey(keys, currentId), plain, boundTo(currentId, context), head);
    },
    decrypt(encrypted, context) {
      if (encrypted[0] !== formatVersion)
        throw new PlatformError('PLATFORM_SEAL_BROKEN', 'an encrypted value has an unknown format');
      const keyId = viewAsBuffer(encrypted).toString('hex', 1, 1 + keyIdBytes);
      return decryptAead(
        requireKey(keys, keyId),
        encrypted.subarray(1 + keyIdBytes),
        boundTo(keyId, context),
      );
    },
    mac: (data, context) => macOf(keys.currentId, data, context),
    requireMac(mac, data, context) {
      const keyId = Buffer.from(mac.subarray(1, 1 + keyIdBytes)).toString('hex');
      const hasForm = mac.length === 1 + keyIdBytes + macBytes && mac[0] === formatVersion;
      if (!hasForm || !equalSecrets(mac, macOf(keyId, data, context)))
        throw new PlatformError('PLATFORM_MAC_INVALID', `the MAC of ${context} does not match`);
    },
    deriveKey,
  };
}

/** A vault with a single data key derived from the master key: for tools and tests that have no database. */
export function createVault(masterKey: Uint8Array): Vault {
  const derived = Buffer.from(hkdfSync('sha256', masterKey, '', 'openhisp vault', keyIdBytes + 32));
  const currentId = derived.subarray(0, keyIdBytes).toString('hex');
  const key = prepareKey(derived.subarray(keyIdBytes));
  return createVaultOver({ currentId, find: (keyId) => (keyId === currentId ? key : undefined) });
}

export function createKeyId(): string {
  return randomBytes(keyIdBytes).toString('hex');
}

function boundTo(keyId: string, context: string): string {
  return `openhisp:${formatVersion}:${keyId}:${context}`;
}

function requireKey(keys: KeyRing, keyId: string): KeyObject {
  const key = keys.find(keyId);
  if (key !== undefined) return key;
  throw new PlatformError('PLATFORM_SEAL_KEY_UNKNOWN', `the data key ${keyId} is unknown`, {
    fields: { keyId },
  });
}
