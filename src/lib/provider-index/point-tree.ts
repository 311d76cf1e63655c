/**
 * A tree over the points of the map, which are in spatial order: a leaf is a run of neighbors, a node of the
 * next level a run of leaves. Whatever is asked about a circle touches the nodes along its edge only.
 */
import { chordTolerance, type Vector } from './unit-sphere.ts';

/** Points of a leaf, and nodes of a level that are one node of the next. */
export const leafShift = 4;
const fanShift = 3;
export const leafPoints = 1 << leafShift;

/** Nodes of each level, the leaves first. A node has no other data than its place and its sphere. */
export interface PointTree {
  readonly pointCount: number;
  /** Three coordinates per point. */
  readonly vectors: Float32Array;
  readonly levels: readonly TreeLevel[];
}

export interface TreeLevel {
  /** A node has `1 << shift` points; the last one may have fewer. */
  readonly shift: number;
  readonly count: number;
  /** For each node the middle of its points (three coordinates) and the largest chord from there. */
  readonly spheres: Float32Array;
}

/** Points and nodes of each level for so many points; the last level has a single node. */
export function levelsFor(pointCount: number): { readonly shift: number; readonly count: number }[] {
  const levels = [];
  for (let shift = leafShift; ; shift += fanShift) {
    const count = Math.ceil(pointCount / 2 ** shift);
    levels.push({ shift, count });
    if (count <= 1) return levels;
  }
}

// A node has so many rows or more.
const cellRows = 1000;

/**
 * The shift of the level whose nodes are cells: of them the index knows how many of their rows are in each
 * section of a column.
 */
export function cellShiftOf(pointCount: number, rowCount: number): number {
  const levels = levelsFor(pointCount);
  const found = levels.find(({ count }) => rowCount / Math.max(1, count) >= cellRows);
  return (found ?? levels.at(-1) ?? { shift: leafShift }).shift;
}

export function openTree(vectors: Float32Array, spheres: Float32Array): PointTree {
  const pointCount = vectors.length / 3;
  let start = 0;
  const levels = levelsFor(pointCount).map(({ shift, count }): TreeLevel => {
    const own = spheres.subarray(start * 4, (start + count) * 4);
    start += count;
    return { shift, count, spheres: own };
  });
  return { pointCount, vectors, levels };
}

/** The square of the chord from the center to a point. */
export function squaredChord({ vectors }: PointTree, [x, y, z]: Vector, point: number): number {
  const dx = (vectors[point * 3] as number) - x;
  const dy = (vectors[point * 3 + 1] as number) - y;
  const dz = (vectors[point * 3 + 2] as number) - z;
  return dx * dx + dy * dy + dz * dz;
}

/** What {@link walkShell} finds: runs of points, ascending. */
export interface ShellVisitor {
  /** Whole nodes that are in the shell. */
  whole(first: number, end: number): void;
  /** A leaf that may be partly in it. */
  leaf(first: number, end: number): void;
}

// Eight nodes for each level of the deepest tree.
const stackSize = 256;
// Points closer to a limit are never in a whole node.
const margin = 2 * chordTolerance;

/**
 * Visits the points whose chord from the center is between two limits: whole nodes if all their points surely
 * are, leaves if some may be.
 */
export function walkShell(
  { pointCount, levels }: PointTree,
  [x, y, z]: Vector,
  low: number,
  high: number,
  visitor: ShellVisitor,
): void {
  if (pointCount === 0) return;
  const stack = new Int32Array(stackSize);
  let top = 0;
  stack[top++] = levels.length - 1;
  stack[top++] = 0;
  while (top > 0) {
    const node = stack[--top] as number;
    const level = stack[--top] as number;
    const { shift, spheres } = levels[level] as TreeLevel;
    const dx = (spheres[node * 4] as number) - x;
    const dy = (spheres[node * 4 + 1] as number) - y;
    const dz = (spheres[node * 4 + 2] as number) - z;
    const chord = Math.sqrt(dx * dx + dy * dy + dz * dz);
    const extent = (spheres[node * 4 + 3] as number) + chordTolerance;
    if (chord - extent > high || chord + extent < low) continue;
    const first = node << shift;
    const end = Math.min(pointCount, (node + 1) << shift);
    if (chord + extent < high - margin && chord - extent > low + margin) {
      visitor.whole(first, end);
    } else if (level === 0) {
      visitor.leaf(first, end);
    } else {
      const children = (levels[level - 1] as TreeLevel).count;
      const firstChild = node << fanShift;
      for (let child = Math.min(children, firstChild + (1 << fanShift)) - 1; child >= firstChild; child--) {
        stack[top++] = level - 1;
        stack[top++] = child;
      }
    }
  }
}
