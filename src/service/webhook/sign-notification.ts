import { createHmac, randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sliceBytes, slicesOf } from '../../core/index.ts';

/** Length of a signing secret in bytes (Standard Webhooks asks for 24 to 64). */
const secretBytes = 32;
const secretPrefix = 'whsec_';

/** A new signing secret as the client keeps it: `whsec_` and base64. */
export function createSigningSecret(): string {
  return secretPrefix + randomBytes(secretBytes).toString('base64');
}

export interface SignedParts {
  readonly id: string;
  /** Seconds since 1970. */
  readonly timestamp: number;
  readonly body: Uint8Array;
}

/**
 * The value of `webhook-signature`: one `v1,<base64>` for each secret, joined by blanks (HOOK-01). Each is the
 * HMAC-SHA-256 of `id.timestamp.body` under the bytes behind the secret's prefix.
 */
export async function signNotification(secrets: readonly string[], parts: SignedParts): Promise<string> {
  const signatures: string[] = [];
  for (const secret of secrets) signatures.push(`v1,${await signatureOf(secret, parts)}`);
  return signatures.join(' ');
}

async function signatureOf(secret: string, { id, timestamp, body }: SignedParts): Promise<string> {
  const key = Buffer.from(secret.slice(secretPrefix.length), 'base64');
  const mac = createHmac('sha256', key).update(`${id}.${timestamp}.`);
  for (const slice of slicesOf(body)) {
    mac.update(slice);
    // A received message of 25 MB must not hold up the event loop.
    if (slice.length === sliceBytes) await nextTurn();
  }
  return mac.digest('base64');
}
