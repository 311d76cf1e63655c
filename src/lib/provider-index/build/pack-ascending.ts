import { ascendingParts, far, shiftFor } from '../ascending.ts';
import { createArrayStore } from '../arrays.ts';
import { columnNames } from '../columns.ts';
import type { ArraySpec, SharedIndexBytes } from '../types.ts';
import { wordArrays } from '../word-columns.ts';

const ascendingNames: ReadonlySet<string> = new Set([
  'point.starts',
  ...columnNames.flatMap((name) => [
    ...['starts', 'offsets', 'firsts', 'exceptionOffsets', 'alternate.starts'].map(
      (part) => `${name}.${part}`,
    ),
    wordArrays(name).starts,
    wordArrays(name).offsets,
  ]),
]);

/** An array, as it is kept. */
interface StoredArray {
  readonly spec: ArraySpec;
  readonly buffer: SharedArrayBuffer;
}

/** Ascending numbers become those of `ascending.ts`, other arrays stay as they are. */
export function packArray(spec: ArraySpec, buffer: SharedArrayBuffer): readonly StoredArray[] {
  if (!ascendingNames.has(spec.name)) return [{ spec, buffer }];
  const values = new Uint32Array(buffer);
  const store = createArrayStore();
  const shift = shiftFor(values.length);
  const parts = ascendingParts(spec.name);
  const lows = store.allocate(parts.lows, 'u16', values.length);
  const bases = store.allocate(parts.bases, 'u32', Math.ceil(values.length / (1 << shift)));
  const farPlaces: number[] = [];
  for (let place = 0; place < values.length; place++) {
    const value = values[place] as number;
    if (place === (place >>> shift) << shift) bases[place >>> shift] = value;
    const low = value - (bases[place >>> shift] as number);
    lows[place] = Math.min(low, far);
    if (low >= far) farPlaces.push(place);
  }
  store.allocate(parts.farPlaces, 'u32', farPlaces.length).set(farPlaces);
  store.allocate(parts.far, 'u32', farPlaces.length).set(farPlaces.map((place) => values[place] as number));
  const { layout, buffers } = store.finish(0);
  return layout.arrays.map((own, index) => ({ spec: own, buffer: buffers[index] as SharedArrayBuffer }));
}

export function packAscending({ layout, buffers }: SharedIndexBytes): SharedIndexBytes {
  const stored = layout.arrays.flatMap((spec, index) => packArray(spec, buffers[index] as SharedArrayBuffer));
  return {
    layout: { ...layout, arrays: stored.map(({ spec }) => spec) },
    buffers: stored.map(({ buffer }) => buffer),
  };
}
