import { hash, randomBytes } from 'node:crypto';

/** 256 bits. */
const tokenBytes = 32;

/** Longer than any issued token; longer values are refused without hashing. */
export const longestToken = 200;

export function createSecretToken(prefix = ''): string {
  return `${prefix}${randomBytes(tokenBytes).toString('base64url')}`;
}

/** Tokens are random and long, so a plain hash reveals nothing about them. */
export function hashSecretToken(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
