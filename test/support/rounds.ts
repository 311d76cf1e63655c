/** How much random tests do: the quick tier runs a part of their rounds (`npm test`), the full tier all of them (`OPENHISP_TEST_TIER=full`). */
const isFull = process.env['OPENHISP_TEST_TIER'] === 'full';

/** Rounds of a random test: all of them in the full tier, a fifth in the quick one unless another number is given. */
export const rounds = (all: number, quick = Math.ceil(all / 5)): number => (isFull ? all : quick);
