/**
 * Ascending numbers of which neighbors differ by little: where the rows of each group begin, or the bytes of
 * each text. A number is two bytes that are added to the first one of its block; the few that are too far
 * from there are listed.
 */
import { lowerBound, type ArrayReader } from './arrays.ts';

const blockShift = 6;
// Fewer numbers are blocks of one each.
const fewNumbers = 0x10000;
/** In place of a number that is listed. */
export const far = 0xffff;

/** The arrays of such numbers. */
export const ascendingParts = (name: string) =>
  ({
    bases: `${name}.bases`,
    lows: `${name}.lows`,
    farPlaces: `${name}.farPlaces`,
    far: `${name}.far`,
  }) as const;

/** Ascending numbers, read-only. */
export class Ascending {
  readonly length: number;
  readonly #shift: number;
  readonly #lows: Uint16Array;
  readonly #bases: Uint32Array;
  readonly #farPlaces: Uint32Array;
  readonly #far: Uint32Array;

  constructor(name: string, arrays: ArrayReader) {
    const parts = ascendingParts(name);
    this.#lows = arrays.get(parts.lows, 'u16');
    this.#bases = arrays.get(parts.bases, 'u32');
    this.#farPlaces = arrays.get(parts.farPlaces, 'u32');
    this.#far = arrays.get(parts.far, 'u32');
    this.length = this.#lows.length;
    this.#shift = shiftFor(this.length);
  }

  at(place: number): number {
    const low = this.#lows[place] as number;
    if (low === far) return this.#far[lowerBound(this.#farPlaces, place)] as number;
    return (this.#bases[place >>> this.#shift] as number) + low;
  }
}

/** A block has `1 << shift` of so many numbers. */
export function shiftFor(length: number): number {
  return length < fewNumbers ? 0 : blockShift;
}

/** Undefined if the index has no such numbers. */
export function findAscending(name: string, arrays: ArrayReader): Ascending | undefined {
  return arrays.find(ascendingParts(name).lows, 'u16') && new Ascending(name, arrays);
}
