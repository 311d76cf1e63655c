/**
 * How much random tests do, and from which seed. The quick tier runs a part of their rounds (`npm test`), the full tier all of them
 * (`OPENHISP_TEST_TIER=full`). The seed is printed; `OPENHISP_TEST_SEED` repeats a run.
 */
import { hash, randomInt } from 'node:crypto';
import fc from 'fast-check';

const given = process.env['OPENHISP_TEST_SEED'];
export const seed = given === undefined ? randomInt(2 ** 31) : Number(given);
if (!Number.isSafeInteger(seed)) throw new Error('OPENHISP_TEST_SEED: not a whole number');
if (given === undefined) console.log(`seed of the random tests: ${seed} (OPENHISP_TEST_SEED repeats it)`);
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed });

const isFull = process.env['OPENHISP_TEST_TIER'] === 'full';

/** Rounds of a random test: all of them in the full tier, a fifth in the quick one unless another number is given. */
export const rounds = (all: number, quick = Math.ceil(all / 5)): number => (isFull ? all : quick);

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
