import { createHmac, randomBytes } from 'node:crypto';

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
  readonly body: string | Uint8Array;
}

/**
 * The value of `webhook-signature`: one `v1,<base64>` for each secret, joined by blanks (HOOK-01). Each is the
 * HMAC-SHA-256 of `id.timestamp.body` under the bytes behind the secret's prefix.
 */
export function signNotification(secrets: readonly string[], parts: SignedParts): string {
  return secrets.map((secret) => `v1,${signatureOf(secret, parts)}`).join(' ');
}

function signatureOf(secret: string, { id, timestamp, body }: SignedParts): string {
  const key = Buffer.from(secret.slice(secretPrefix.length), 'base64');
  return createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64');
}
