/** A number from 0 up to, not including, 1. */
export type Random = () => number;

/** A repeatable source (mulberry32). */
export function mixedRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x100000000;
  };
}

/** A well-mixed 32-bit number from two numbers. */
export function hash32(a: number, b: number): number {
  let hash = Math.imul(a ^ 0x9e3779b9, 0x85ebca6b) ^ b;
  hash = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b);
  hash = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/**
 * An index below `count`; index `n` is drawn about in proportion to 1 / (n + shift), as names and sizes are.
 */
export function skewedIndex(random: Random, count: number, shift: number): number {
  const index = Math.floor((Math.exp(random() * Math.log((count + shift) / shift)) - 1) * shift);
  return Math.min(count - 1, index);
}
