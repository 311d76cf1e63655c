import { createHmac, createSecretKey, randomBytes, type KeyObject } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sliceBytes, slicesOf } from '../../core/index.ts';

/** Length of a signing secret in bytes (Standard Webhooks asks for 24 to 64). */
const secretBytes = 32;
const secretPrefix = 'whsec_';

/** A new signing secret as the client keeps it: `whsec_` and base64. */
export function createSigningSecret(): string {
  return secretPrefix + randomBytes(secretBytes).toString('base64');
}

/** The key that a signing secret stands for: the bytes behind its prefix. */
export function readSigningSecret(secret: string): KeyObject {
  return createSecretKey(Buffer.from(secret.slice(secretPrefix.length), 'base64'));
}

export interface SignedFields {
  readonly id: string;
  /** Seconds since 1970. */
  readonly timestamp: number;
  readonly body: Uint8Array;
}

/**
 * The value of `webhook-signature`: one `v1,<base64>` for each key, joined by blanks (HOOK-01). Each is the
 * HMAC-SHA-256 of `id.timestamp.body`.
 */
export async function signNotification(keys: readonly KeyObject[], fields: SignedFields): Promise<string> {
  const signatures: string[] = [];
  for (const key of keys) signatures.push(`v1,${await signatureOf(key, fields)}`);
  return signatures.join(' ');
}

async function signatureOf(key: KeyObject, { id, timestamp, body }: SignedFields): Promise<string> {
  const mac = createHmac('sha256', key).update(`${id}.${timestamp}.`);
  for (const slice of slicesOf(body)) {
    mac.update(slice);
    // A received message of 25 MB must not hold up the event loop.
    if (slice.length === sliceBytes) await nextTurn();
  }
  return mac.digest('base64');
}
