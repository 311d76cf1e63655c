import { randomBytes, scrypt } from 'node:crypto';
import { equalSecrets } from '../../core/index.ts';

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

/** scrypt (RFC 7914) with r = 8, p = 1: 16 MB and about 45 ms. */
const cost = 16_384;
const hashBytes = 32;
const maxRunning = 2;
const maxWaiting = 64;

export interface PasswordHasher {
  /** Undefined if too many wait. */
  hash(password: string, salt: Uint8Array): Promise<Uint8Array> | undefined;
}

/** Two at a time, so that guessing does not take the processor from mail. */
export function createPasswordHasher(): PasswordHasher {
  let running = 0;
  const waiting: (() => void)[] = [];
  async function run(password: string, salt: Uint8Array): Promise<Uint8Array> {
    if (running >= maxRunning) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
    try {
      return await derive(password, salt);
    } finally {
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  }
  return {
    hash: (password, salt) => (waiting.length >= maxWaiting ? undefined : run(password, salt)),
  };
}

function derive(password: string, salt: Uint8Array): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    scrypt(
      password.normalize('NFC'),
      salt,
      hashBytes,
      { N: cost, r: 8, p: 1, maxmem: 256 * cost * 8 },
      (error, key) => (error === null ? resolve(key) : reject(error)),
    );
  });
}

/** The stored hash that equals. Looks at all of them, in constant time each. */
export function findEqual<T extends { readonly hash: Uint8Array }>(
  hash: Uint8Array,
  stored: readonly T[],
): T | undefined {
  let found: T | undefined;
  for (const candidate of stored) if (equalSecrets(hash, candidate.hash)) found = candidate;
  return found;
}
