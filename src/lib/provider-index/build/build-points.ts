import type { ArrayStore } from '../arrays.ts';
import { degreeParts } from '../points.ts';
import { levelsFor } from '../point-tree.ts';
import { unitVector } from '../unit-sphere.ts';
import { fillGroups, groupStarts, orderOf } from './counting-sort.ts';
import type { DistinctPoints } from './point-interner.ts';

export interface PointSource {
  readonly points: DistinctPoints;
  /** For each record in order of arrival its point, or `points.count` without coordinates. */
  readonly pointOfRecord: Uint32Array;
  readonly recordOfRow: Uint32Array;
  /** Rows by id. */
  readonly sequence: Uint32Array;
}

/** Writes the points in spatial order, the rows of each, and the spheres of the tree over them. */
export function buildPoints(
  { points, pointOfRecord, recordOfRow, sequence }: PointSource,
  store: ArrayStore,
): void {
  const { count, latitudes, longitudes } = points;
  const keys = new Float64Array(count);
  for (let point = 0; point < count; point++)
    keys[point] = hilbertKey(latitudes[point] as number, longitudes[point] as number);
  const order = orderOf(keys);
  const rankOf = new Uint32Array(count + 1).fill(count);
  for (let rank = 0; rank < count; rank++) rankOf[order[rank] as number] = rank;
  const codes = store.allocateCodes('point.codes', count + 1, recordOfRow.length);
  for (let row = 0; row < recordOfRow.length; row++)
    codes[row] = rankOf[pointOfRecord[recordOfRow[row] as number] as number] as number;
  const starts = store.allocate('point.starts', 'u32', count + 2);
  groupStarts(codes, count + 1, starts);
  fillGroups(codes, starts, sequence, store.allocate('point.postings', 'u32', recordOfRow.length));
  writeDegrees('latitudes', latitudes, order, store);
  writeDegrees('longitudes', longitudes, order, store);
  const vectors = store.allocate('point.vectors', 'f32', count * 3);
  for (let rank = 0; rank < count; rank++) {
    const point = order[rank] as number;
    vectors.set(unitVector(latitudes[point] as number, longitudes[point] as number), rank * 3);
  }
  buildSpheres(vectors, store);
}

// In the smaller form if that loses nothing: hardly anybody writes more than seven digits behind the point.
function writeDegrees(
  name: 'latitudes' | 'longitudes',
  degrees: Float64Array,
  order: Uint32Array,
  store: ArrayStore,
): void {
  const isWhole = degrees.every((one) => Math.round(one * degreeParts) / degreeParts === one);
  const target = store.allocate(`point.${name}`, isWhole ? 'i32' : 'f64', order.length);
  for (let rank = 0; rank < order.length; rank++) {
    const own = degrees[order[rank] as number] as number;
    target[rank] = isWhole ? Math.round(own * degreeParts) : own;
  }
}

/**
 * For each node the middle of its points and the longest chord from there, four numbers in all. Both are
 * rounded; the tolerance of chords covers that.
 */
function buildSpheres(vectors: Float32Array, store: ArrayStore): void {
  const pointCount = vectors.length / 3;
  const levels = levelsFor(pointCount);
  const nodes = levels.reduce((sum, { count }) => sum + count, 0);
  const spheres = store.allocate('point.spheres', 'f32', nodes * 4);
  let at = 0;
  for (const { shift, count } of levels)
    for (let node = 0; node < count; node++, at += 4)
      putSphere(vectors, node << shift, Math.min(pointCount, (node + 1) << shift), spheres, at);
}

function putSphere(
  vectors: Float32Array,
  first: number,
  end: number,
  spheres: Float32Array,
  to: number,
): void {
  let [x, y, z] = [0, 0, 0];
  for (let at = first * 3; at < end * 3; at += 3) {
    x += vectors[at] as number;
    y += vectors[at + 1] as number;
    z += vectors[at + 2] as number;
  }
  const count = Math.max(1, end - first);
  [x, y, z] = [Math.fround(x / count), Math.fround(y / count), Math.fround(z / count)];
  let square = 0;
  for (let at = first * 3; at < end * 3; at += 3) {
    const dx = (vectors[at] as number) - x;
    const dy = (vectors[at + 1] as number) - y;
    const dz = (vectors[at + 2] as number) - z;
    square = Math.max(square, dx * dx + dy * dy + dz * dz);
  }
  spheres[to] = x;
  spheres[to + 1] = y;
  spheres[to + 2] = z;
  spheres[to + 3] = Math.sqrt(square);
}

// Fine enough for the points of one town to be in order.
const hilbertSide = 0x1000000;

/**
 * The place of a point on a Hilbert curve over the map, so that neighbors on the curve are neighbors on the
 * earth.
 */
function hilbertKey(latitude: number, longitude: number): number {
  const last = hilbertSide - 1;
  let x = Math.min(last, Math.floor(((longitude + 180) / 360) * hilbertSide));
  let y = Math.min(last, Math.floor(((latitude + 90) / 180) * hilbertSide));
  let key = 0;
  for (let half = hilbertSide / 2; half >= 1; half /= 2) {
    const right = (x & half) !== 0 ? 1 : 0;
    const upper = (y & half) !== 0 ? 1 : 0;
    key = key * 4 + ((3 * right) ^ upper);
    if (upper === 0) {
      if (right === 1) {
        x = last - x;
        y = last - y;
      }
      const other = x;
      x = y;
      y = other;
    }
  }
  return key;
}
