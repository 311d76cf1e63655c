/**
 * fast-check with the seed of the run, for every random test: `OPENHISP_TEST_SEED` repeats a run, and without it the seed is drawn and
 * printed.
 */
import { hash, randomInt } from 'node:crypto';
import fc from 'fast-check';

const given = process.env['OPENHISP_TEST_SEED'];
export const seed = given === undefined ? randomInt(2 ** 31) : Number(given);
if (!Number.isSafeInteger(seed)) throw new Error('OPENHISP_TEST_SEED: not a whole number');
if (given === undefined) console.log(`seed of the random tests: ${seed} (OPENHISP_TEST_SEED repeats it)`);
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed });

/** A generator of numbers from 0 to 1, the same for the same seed and name. The moments still depend on the machine. */
export function createRandom(name: string, of: number = seed): () => number {
  let state = Buffer.from(hash('sha256', `${of} ${name}`, 'buffer')).readUInt32LE(0);
  // Mulberry32.
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export { fc };
export type { Arbitrary } from 'fast-check';
