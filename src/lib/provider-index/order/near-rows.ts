import { hasBit } from '../bits.ts';
import { leafPoints, leafShift, squaredChord, walkShell } from '../point-tree.ts';
import { isInside, milesToPoint, type Circle, type PointMap } from '../points.ts';
import { chordTolerance } from '../unit-sphere.ts';

/**
 * The rows of a circle, or those of a set that are in it, by their distance from its center. A page anywhere
 * in that order is found by counting the rows within a few distances: a count adds up whole nodes of the tree
 * over the points, and looks at points along its edge only.
 */
export interface NearRows {
  readonly map: PointMap;
  readonly circle: Circle;
  /** The set; absent if all rows inside the circle match. */
  readonly bits: Uint32Array | undefined;
  /** Matching rows inside the circle. */
  readonly count: number;
  /** Matching rows at the points before each leaf of the tree; without a set those of the map are used. */
  readonly before: Uint32Array | undefined;
}

/**
 * Counts the rows of a circle: all of them, or those of a set of `count` rows, whose `before` may be known.
 */
export function nearRows(
  map: PointMap,
  circle: Circle,
  { bits, count }: { readonly bits?: Uint32Array; readonly count: number },
  known?: Uint32Array,
): NearRows {
  if (bits === undefined) return { map, circle, bits, count: circle.inside.count, before: undefined };
  const before = known ?? countLeaves(map, circle, bits, count);
  const found = { map, circle, bits, count: 0, before };
  const { ranges } = circle.inside;
  let inside = 0;
  for (let at = 0; at < ranges.length; at += 2)
    inside += rowsBetween(found, ranges[at] as number, ranges[at + 1] as number);
  return { ...found, count: inside };
}

// Counting a row where it is on the map costs this much of counting one of the set: its bit is looked for. If
// the rows that are not in the set are counted, the number of all rows of each leaf is read, too.
const mapRowCost = 0.7;
const leafCost = 8;

function countLeaves(map: PointMap, circle: Circle, bits: Uint32Array, count: number): Uint32Array {
  const cost = Math.min(count, map.codes.length - count + leafCountOf(map) * leafCost);
  return circle.inside.count * mapRowCost < cost
    ? countInside(map, circle, bits)
    : countByLeaf(map, bits, count);
}

// Rows before each leaf, of those leaves that the circle touches; nobody asks about the others.
function countInside(map: PointMap, { inside: { ranges } }: Circle, bits: Uint32Array): Uint32Array {
  const before = new Uint32Array(leafCountOf(map) + 1);
  let leaf = 0;
  let sum = 0;
  for (let at = 0; at < ranges.length; at += 2) {
    const first = (ranges[at] as number) >>> leafShift;
    const end = Math.ceil((ranges[at + 1] as number) / leafPoints);
    if (first > leaf) before.fill(sum, leaf, first);
    for (leaf = Math.max(leaf, first); leaf < end; leaf++) {
      before[leaf] = sum;
      sum += countAtPoints(map, bits, leaf * leafPoints, (leaf + 1) * leafPoints);
    }
  }
  return before.fill(sum, leaf);
}

/** For each leaf of the tree the number of rows of a set of `count` rows at the points before it. */
export function countByLeaf(map: PointMap, bits: Uint32Array, count: number): Uint32Array {
  const { codes } = map;
  const leafCount = leafCountOf(map);
  // One more for rows without coordinates.
  const before = new Uint32Array(leafCount + 2);
  const isComplement = count * 2 > codes.length;
  const inverted = isComplement ? 0xffffffff : 0;
  for (let word = 0; word < bits.length; word++) {
    const first = word << 5;
    let left = (bits[word] as number) ^ inverted;
    if (first + 32 > codes.length) left &= (1 << (codes.length - first)) - 1;
    for (; left !== 0; left &= left - 1) {
      const point = codes[first + 31 - Math.clz32(left & -left)] as number;
      const leaf = point === map.count ? leafCount : point >>> leafShift;
      before[leaf + 1] = (before[leaf + 1] as number) + 1;
    }
  }
  for (let leaf = 0; leaf < leafCount; leaf++)
    before[leaf + 1] = (before[leaf + 1] as number) + (before[leaf] as number);
  if (isComplement)
    for (let leaf = 0; leaf <= leafCount; leaf++)
      before[leaf] = startOfLeaf(map, leaf) - (before[leaf] as number);
  return before;
}

function leafCountOf({ count }: PointMap): number {
  return Math.ceil(count / leafPoints);
}

function startOfLeaf({ starts, count }: PointMap, leaf: number): number {
  return starts.at(Math.min(count, leaf * leafPoints));
}

function countAtPoints(
  { starts, postings, count }: PointMap,
  bits: Uint32Array,
  first: number,
  end: number,
): number {
  const stop = starts.at(Math.min(count, end));
  let rows = 0;
  for (let at = starts.at(first); at < stop; at++) {
    const row = postings[at] as number;
    rows += ((bits[row >>> 5] as number) >>> (row & 31)) & 1;
  }
  return rows;
}

/** Matching rows at the points [first, end). */
function rowsBetween(rows: NearRows, first: number, end: number): number {
  const { map, bits, before } = rows;
  const { starts } = map;
  if (bits === undefined || before === undefined) return starts.at(end) - starts.at(first);
  return rowsBefore(rows, bits, before, end) - rowsBefore(rows, bits, before, first);
}

// Of the rest of a leaf the part with fewer rows is counted: many rows may be at one point.
function rowsBefore({ map }: NearRows, bits: Uint32Array, before: Uint32Array, point: number): number {
  const leaf = point >>> leafShift;
  const first = leaf * leafPoints;
  if (first === point || point === map.count) return before[Math.ceil(point / leafPoints)] as number;
  const { starts } = map;
  const [low, here, high] = [starts.at(first), starts.at(point), startOfLeaf(map, leaf + 1)];
  return here - low <= high - here
    ? (before[leaf] as number) + countAtPoints(map, bits, first, point)
    : (before[leaf + 1] as number) - countAtPoints(map, bits, point, first + leafPoints);
}

/** Matching rows, and points, whose chord from the center is less. */
interface Counted {
  readonly chord: number;
  readonly rows: number;
  readonly points: number;
}

// The limit of a count is not the circle's: each point is decided by its chord alone.
function countWithin(near: NearRows, chord: number): Counted {
  const { map, circle } = near;
  const { tree } = map;
  if (chord <= 0) return { chord, rows: 0, points: 0 };
  const square = chord * chord;
  let rows = 0;
  let points = 0;
  walkShell(tree, circle.center, -1, chord, {
    whole(first, end) {
      rows += rowsBetween(near, first, end);
      points += end - first;
    },
    leaf(first, end) {
      for (let point = first, start = first; point <= end; point++) {
        if (point < end && squaredChord(tree, circle.center, point) < square) continue;
        if (start < point) {
          rows += rowsBetween(near, start, point);
          points += point - start;
        }
        start = point + 1;
      }
    },
  });
  return { chord, rows, points };
}

/**
 * A few more points than wanted: all between two distances, and how many matching rows are nearer than every
 * one of them.
 */
interface NearPoints {
  readonly points: Uint32Array;
  /** The matching rows of each. */
  readonly rows: Uint32Array;
  readonly nearer: number;
  /** Rows so near the lower limit that nearer ones may come behind them. */
  readonly nearLimit: number;
}

/** The points that hold the places [from, to) counted from the center. */
export function pointsAround(near: NearRows, from: number, to: number): NearPoints {
  const { circle, count } = near;
  const all: Counted = { chord: circle.chord, rows: count, points: Infinity };
  const guesses = sampleChords(near);
  const known = [{ chord: 0, rows: 0, points: 0 }, all];
  const low = findPlace(near, from, 'below', known, guesses);
  const high = findPlace(near, to, 'above', known, guesses).chord + chordTolerance;
  // Chords are approximate: points a little outside come along, and the exact order is made of all of them.
  const found = collect(near, low.chord, high, low.rows);
  // A count so near the edge has points that lie outside.
  const isWithin = low.chord <= circle.chord - chordTolerance;
  if (isWithin && from - low.rows >= found.nearLimit) return found;
  const lower = low.chord - chordTolerance;
  return collect(near, lower, high, countWithin(near, lower).rows);
}

// So many rows, or points, more than wanted cost less than another count.
const slackRows = 512;
const slackPoints = 1024;
const maxCounts = 48;

/**
 * A chord within which there are at most `place` rows, or at least, but few less or more. Begins with the
 * counts that are known, the nearest and the farthest among them, and adds its own.
 */
function findPlace(
  near: NearRows,
  place: number,
  side: 'below' | 'above',
  known: Counted[],
  guesses: Float64Array,
): Counted {
  const isLow = ({ rows }: Counted): boolean => (side === 'below' ? rows <= place : rows < place);
  known.sort((a, b) => a.chord - b.chord);
  const [nearest, farthest] = [known[0] as Counted, known.at(-1) as Counted];
  let low = known.findLast(isLow) ?? nearest;
  let high = known.find((one) => one.chord > low.chord) ?? farthest;
  const wanted = side === 'below' ? place - slackRows / 2 : place + slackRows / 2;
  if (wanted <= low.rows) return low;
  if (wanted >= high.rows) return high;
  const isDone = (): boolean =>
    (side === 'below' ? place - low.rows : high.rows - place) <= slackRows ||
    high.points - low.points <= slackPoints ||
    high.chord - low.chord <= chordTolerance;
  const guess = guesses[Math.floor((wanted / near.count) * guesses.length)] ?? 0;
  for (let count = 0; count < maxCounts && !isDone(); count++) {
    const chord = count === 0 ? guess : between(low, high, wanted, count);
    if (chord <= low.chord || chord >= high.chord) continue;
    const found = countWithin(near, chord);
    known.push(found);
    if (isLow(found)) low = found;
    else high = found;
  }
  return side === 'below' ? low : high;
}

// Areas grow with the square of the chord. Every third time the middle, since rows may be dense somewhere.
function between(low: Counted, high: Counted, wanted: number, count: number): number {
  const [a, b] = [low.chord ** 2, high.chord ** 2];
  const share = count % 3 === 0 ? 0.5 : (wanted - low.rows) / (high.rows - low.rows);
  return Math.sqrt(a + (b - a) * Math.min(0.98, Math.max(0.02, share)));
}

const sampleSize = 256;

/** The chords of some matching rows, ascending: about where each share of the rows is. */
function sampleChords(near: NearRows): Float64Array {
  const { map, circle, before, count } = near;
  const rowsUpTo = (leaf: number): number => before?.[leaf] ?? startOfLeaf(map, leaf);
  const { ranges } = circle.inside;
  const chords: number[] = [];
  const step = Math.max(1, count / sampleSize);
  let seen = 0;
  for (let at = 0; at < ranges.length; at += 2) {
    const first = (ranges[at] as number) >>> leafShift;
    const end = (ranges[at + 1] as number) >>> leafShift;
    const own = rowsUpTo(end) - rowsUpTo(first);
    // The leaf with the wanted row.
    for (; chords.length * step < seen + own;) {
      const wanted = rowsUpTo(first) + chords.length * step - seen;
      let [low, high] = [first, end];
      while (high - low > 1) {
        const middle = (low + high) >>> 1;
        if (rowsUpTo(middle) <= wanted) low = middle;
        else high = middle;
      }
      chords.push(Math.sqrt(squaredChord(map.tree, circle.center, low * leafPoints)));
    }
    seen += own;
  }
  return Float64Array.from(chords).sort();
}

// Every point with matching rows from the lower limit on, up to the higher one or the circle's edge.
function collect(near: NearRows, low: number, high: number, nearer: number): NearPoints {
  const { map, circle } = near;
  const { tree } = map;
  const points: number[] = [];
  const rows: number[] = [];
  const [lowSquare, highSquare] = [Math.max(0, low) ** 2, high ** 2];
  const nearLimitSquare = (Math.max(0, low) + 2 * chordTolerance) ** 2;
  let nearLimit = 0;
  const add = (point: number): number => {
    const own = rowsBetween(near, point, point + 1);
    if (own === 0) return 0;
    points.push(point);
    rows.push(own);
    return own;
  };
  walkShell(tree, circle.center, low, Math.min(high, circle.chord + chordTolerance), {
    // Leaf by leaf: of a set with few rows most leaves have none.
    whole(first, end) {
      for (let point = first; point < end; point++) {
        if (point % leafPoints === 0)
          while (point < end && rowsBetween(near, point, Math.min(end, point + leafPoints)) === 0)
            point += leafPoints;
        if (point < end) add(point);
      }
    },
    leaf(first, end) {
      if (rowsBetween(near, first, end) === 0) return;
      for (let point = first; point < end; point++) {
        const square = squaredChord(tree, circle.center, point);
        if (square < lowSquare || square > highSquare) continue;
        if (!isInside(map, circle, point, Math.sqrt(square))) continue;
        const own = add(point);
        if (square < nearLimitSquare) nearLimit += own;
      }
    },
  });
  return { points: Uint32Array.from(points), rows: Uint32Array.from(rows), nearer, nearLimit };
}

/** Points at the same distance, together with the places of their rows. */
export interface PointRun {
  readonly points: readonly number[];
  /** Matching rows of points before them, and of themselves. */
  readonly before: number;
  readonly count: number;
}

/**
 * The points in order of exact distance, in runs of equal distance: those whose rows are at the places [from,
 * to).
 */
export function runsOfPoints(
  { map, circle }: NearRows,
  { points, rows }: NearPoints,
  isDescending: boolean,
  from: number,
  to: number,
): PointRun[] {
  const miles = Float64Array.from(points, (point) => milesToPoint(map, circle, point));
  const order = Uint32Array.from(points, (_, at) => at);
  const sign = isDescending ? -1 : 1;
  order.sort((a, b) => sign * ((miles[a] as number) - (miles[b] as number)));
  const runs: PointRun[] = [];
  let before = 0;
  for (let start = 0, end = 0; start < order.length && before < to; start = end) {
    let count = 0;
    for (; end < order.length && miles[order[end] as number] === miles[order[start] as number]; end++)
      count += rows[order[end] as number] as number;
    if (before + count > from) {
      const own = Array.from(order.subarray(start, end), (at) => points[at] as number);
      runs.push({ points: own, before, count });
    }
    before += count;
  }
  return runs;
}

/** The matching rows of a run, those of a point by id. */
export function rowsOfRun({ map, bits }: NearRows, { points, count }: PointRun): Uint32Array {
  const { starts, postings } = map;
  const rows = new Uint32Array(count);
  let found = 0;
  for (const point of points)
    for (let at = starts.at(point); at < starts.at(point + 1); at++)
      if (bits === undefined || hasBit(bits, postings[at] as number)) rows[found++] = postings[at] as number;
  return rows;
}
