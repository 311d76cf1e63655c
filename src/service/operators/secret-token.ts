import { hash, randomBytes } from 'node:crypto';

/** 256 bits. */
const tokenBytes = 32;

/** Longer than anything that is issued here; not worth a hash. */
export const longestToken = 200;

export function createSecretToken(prefix = ''): string {
  return `${prefix}${randomBytes(tokenBytes).toString('base64url')}`;
}

/** Tokens are random and long, so that a plain hash tells nothing about them. */
export function hashSecretToken(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
