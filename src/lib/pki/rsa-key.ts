import { readAsn1, readInteger, sequenceItems } from '../asn1/index.ts';

const minExponent = 3n;
const maxExponent = 1n << 256n;

/** NIST SP 800-89 §5.3.3: no prime below 752 divides the modulus of a key that was made as RSA keys are. */
const smallPrimes = listPrimes(752);

/**
 * The fault of the numbers of an RSAPublicKey (RFC 8017 §A.1.1) of any length; undefined if there is none. An
 * exponent of 1 makes encryption and signatures the identity; an even one, or an even modulus, is not an RSA
 * key at all (NIST SP 800-89 §5.3.3). Errors: those of lib/asn1.
 */
export function findRsaFault(keyDer: Uint8Array): string | undefined {
  const numbers = sequenceItems(readAsn1(keyDer, { strictDer: true, maxDepth: 4, maxNodes: 8 }));
  const [modulus = 0n, exponent = 0n] = numbers.map(readInteger);
  if (numbers.length !== 2) return 'not two numbers';
  if (exponent < minExponent || exponent >= maxExponent || isEven(exponent))
    return 'an exponent that is not allowed';
  if (modulus <= 0n || isEven(modulus)) return 'a modulus that is not a product of two primes';
  if (smallPrimes.some((prime) => modulus % prime === 0n)) return 'a modulus with a small factor';
  return undefined;
}

function isEven(value: bigint): boolean {
  return (value & 1n) === 0n;
}

function listPrimes(limit: number): bigint[] {
  const primes: number[] = [];
  for (let candidate = 3; candidate < limit; candidate += 2) {
    if (!primes.some((prime) => candidate % prime === 0)) primes.push(candidate);
  }
  return primes.map(BigInt);
}
