import { hash, randomBytes, scrypt } from 'node:crypto';
import { equalSecrets } from '../../core/index.ts';
import { OauthError } from './errors.ts';

/**
 * scrypt (RFC 7914) with r = 8, p = 1: 16 MB and about 45 ms on one core of the reference machine. For
 * secrets that an operator brought along (OAUTH-11, Decision 0006).
 */
export const secretCost = 16_384;
const saltBytes = 16;
const hashBytes = 32;

/** Hashes at the same time: one core stays free for everything else. */
const maxRunning = 2;
/** Hashes that wait before a request is turned away. */
const maxWaiting = 64;

export interface SecretHasher {
  /**
   * Slow, unless the secret is a generated one. `begin` is called when the turn of a slow hash has come; what
   * it throws ends it. Throws OAUTH_OVERLOADED when too many wait.
   */
  hash(secret: string, salt: Uint8Array, cost: number, begin?: () => void): Promise<Uint8Array>;
}

export function createSecretHasher(): SecretHasher {
  const slow = createSlowHasher();
  return {
    async hash(secret, salt, cost, begin) {
      if (isGenerated(secret)) return hashGenerated(secret, salt);
      const hashing = slow.hash(secret, salt, cost, begin);
      if (hashing !== undefined) return hashing;
      throw new OauthError('OAUTH_OVERLOADED', 'too many token requests wait for their turn', {
        retryAfterSeconds: 5,
      });
    },
  };
}

/** Hashes of secrets that people chose or type. */
export interface SlowHasher {
  /** Undefined if too many wait. `begin` is called when its turn has come; what it throws ends it. */
  hash(secret: string, salt: Uint8Array, cost: number, begin?: () => void): Promise<Uint8Array> | undefined;
}

/** Some at a time, so that guessing does not take the processor from everything else. */
export function createSlowHasher(): SlowHasher {
  let running = 0;
  const waiting: (() => void)[] = [];
  async function run(work: () => Promise<Uint8Array>): Promise<Uint8Array> {
    if (running >= maxRunning) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  }
  return {
    hash(secret, salt, cost, begin = () => {}) {
      if (waiting.length >= maxWaiting) return undefined;
      return run(() => {
        begin();
        return derive(secret, salt, cost);
      });
    },
  };
}

function derive(secret: string, salt: Uint8Array, cost: number): Promise<Uint8Array> {
  const options = { N: cost, r: 8, p: 1, maxmem: 256 * cost * 8 };
  return new Promise((resolve, reject) => {
    scrypt(secret.normalize('NFC'), salt, hashBytes, options, (error, key) =>
      error === null ? resolve(key) : reject(error),
    );
  });
}

/**
 * Distinguishes generated secrets from those chosen by an operator, so that response times do not reveal
 * which ids exist.
 */
const generatedPrefix = 'ohs_';

/** 256 bits in base64url, which reads the same form-decoded and raw (OAUTH-02). */
export function createSecret(): string {
  return generatedPrefix + randomBytes(32).toString('base64url');
}

/** By its form: a secret of 256 random bits needs no slow hash. */
export function isGenerated(secret: string): boolean {
  return secret.startsWith(generatedPrefix);
}

/** SHA-256 with the client's salt. */
function hashGenerated(secret: string, salt: Uint8Array): Uint8Array {
  return hash('sha256', Buffer.concat([salt, Buffer.from(secret)]), 'buffer');
}

export function createSalt(): Uint8Array {
  return randomBytes(saltBytes);
}

/** The stored hash that equals, or undefined. Looks at all of them, in constant time each. */
export function findEqualHash<Stored extends { readonly hash: Uint8Array }>(
  hash: Uint8Array,
  stored: readonly Stored[],
): Stored | undefined {
  let found: Stored | undefined;
  for (const candidate of stored) {
    if (equalSecrets(hash, candidate.hash)) found = candidate;
  }
  return found;
}
