import { randomBytes } from 'node:crypto';

/**
 * Some 124 random bits in groups that a person can type from paper; without letters that look like others.
 * Slow hashes all the same: operators may choose shorter ones.
 */
export function createPassword(): string {
  const alphabet = 'abcdefghjkmnpqrstuvwxyz23456789';
  const letters = Array.from(randomBytes(64))
    .filter((octet) => octet < 8 * alphabet.length)
    .slice(0, 25)
    .map((octet) => alphabet.charAt(octet % alphabet.length))
    .join('');
  return letters.replace(/(.{5})(?=.)/g, '$1-');
}
