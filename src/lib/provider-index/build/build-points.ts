import type { ArrayStore } from '../arrays.ts';
import { unitVector } from '../unit-sphere.ts';
import { fillGroups, groupStarts, orderOf } from './counting-sort.ts';
import type { PointInterner } from './point-interner.ts';

// Points of one cell are judged together; a cell is a run of neighbors on the Hilbert curve.
const pointsPerCell = 32;

export interface PointSource {
  readonly points: PointInterner;
  /** For each record in order of arrival its point, or `points.count` without coordinates. */
  readonly pointOfRecord: Uint32Array;
  readonly recordOfRow: Uint32Array;
  /** Rows by id. */
  readonly sequence: Uint32Array;
}

/** Writes the points in spatial order, the rows of each, and the cells that they fall into. */
export function buildPoints(
  { points, pointOfRecord, recordOfRow, sequence }: PointSource,
  store: ArrayStore,
): void {
  const { count, latitudes, longitudes } = points;
  const order = orderOf(
    Float64Array.from({ length: count }, (_, point) =>
      hilbertKey(latitudes[point] as number, longitudes[point] as number),
    ),
  );
  const rankOf = new Uint32Array(count + 1).fill(count);
  for (let rank = 0; rank < count; rank++) rankOf[order[rank] as number] = rank;
  const codes = store.allocateCodes('point.codes', count + 1, recordOfRow.length);
  for (let row = 0; row < recordOfRow.length; row++)
    codes[row] = rankOf[pointOfRecord[recordOfRow[row] as number] as number] as number;
  const starts = store.allocate('point.starts', 'u32', count + 2);
  groupStarts(codes, count + 1, starts);
  fillGroups(codes, starts, sequence, store.allocate('point.postings', 'u32', recordOfRow.length));
  const sortedLatitudes = store.allocate('point.latitudes', 'f64', count);
  const sortedLongitudes = store.allocate('point.longitudes', 'f64', count);
  const vectors = store.allocate('point.vectors', 'f32', count * 3);
  for (let rank = 0; rank < count; rank++) {
    const point = order[rank] as number;
    sortedLatitudes[rank] = latitudes[point] as number;
    sortedLongitudes[rank] = longitudes[point] as number;
    vectors.set(unitVector(latitudes[point] as number, longitudes[point] as number), rank * 3);
  }
  buildCells(vectors, store);
}

// Each cell keeps the middle of its points and the longest chord from there, four numbers in all.
function buildCells(vectors: Float32Array, store: ArrayStore): void {
  const pointCount = vectors.length / 3;
  const cellCount = Math.ceil(pointCount / pointsPerCell);
  const firsts = store.allocate('point.cells', 'u32', cellCount + 1);
  const spheres = store.allocate('point.spheres', 'f64', cellCount * 4);
  for (let cell = 0; cell < cellCount; cell++) {
    const first = cell * pointsPerCell;
    const end = Math.min(first + pointsPerCell, pointCount);
    firsts[cell] = first;
    firsts[cell + 1] = end;
    spheres.set(sphereAround(vectors, first, end), cell * 4);
  }
}

function sphereAround(
  vectors: Float32Array,
  first: number,
  end: number,
): readonly [number, number, number, number] {
  const sum: [number, number, number] = [0, 0, 0];
  for (let point = first; point < end; point++) {
    for (let axis = 0; axis < 3; axis++) sum[axis as 0] += vectors[point * 3 + axis] as number;
  }
  const [x, y, z] = sum.map((total) => total / (end - first)) as [number, number, number];
  let radius = 0;
  for (let point = first; point < end; point++) {
    const at = point * 3;
    radius = Math.max(
      radius,
      Math.hypot(
        (vectors[at] as number) - x,
        (vectors[at + 1] as number) - y,
        (vectors[at + 2] as number) - z,
      ),
    );
  }
  return [x, y, z, radius];
}

/**
 * The place of a point on a Hilbert curve over the map, so that neighbors on the curve are neighbors on the
 * earth.
 */
function hilbertKey(latitude: number, longitude: number): number {
  const side = 0x10000;
  let x = Math.min(side - 1, Math.floor(((longitude + 180) / 360) * side));
  let y = Math.min(side - 1, Math.floor(((latitude + 90) / 180) * side));
  let key = 0;
  for (let half = side / 2; half >= 1; half /= 2) {
    const right = (x & half) !== 0 ? 1 : 0;
    const upper = (y & half) !== 0 ? 1 : 0;
    key += half * half * ((3 * right) ^ upper);
    if (upper === 0) {
      if (right === 1) {
        x = side - 1 - x;
        y = side - 1 - y;
      }
      [x, y] = [y, x];
    }
  }
  return key;
}
