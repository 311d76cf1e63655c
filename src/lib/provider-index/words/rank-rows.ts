import { matchLevels, type WordField } from '../../search-words/index.ts';
import { countBits, hasBit, writeCommon } from '../bits.ts';
import type { CodeArray } from '../arrays.ts';
import type { ColumnName } from '../columns.ts';
import type { WordClass, WordContext, WordSets } from './context.ts';
import type { Matches } from '../intersect.ts';
import { countByLeaf, nearRows, type NearRows } from '../order/near-rows.ts';
import { orderPage } from '../order/order-page.ts';
import { circleOf, milesToPoint, type Circle } from '../points.ts';
import type { TextColumn } from '../text-column.ts';
import { markMembers, type RowSet } from './row-set.ts';

/** A row and what its place in the order rests on, most important first. */
export interface RankedRow {
  readonly row: number;
  /** Words that fit only misspelt, then the points of all words. */
  readonly slips: number;
  readonly points: number;
  /** 0 if its address was confirmed lately, 1 if it is trusted, else 2. */
  readonly tier: number;
  /** Infinite without a place. */
  readonly miles: number;
}

export interface RankRequest {
  readonly sets: readonly WordSets[];
  readonly matches: Matches;
  /** Of each word. */
  readonly weights: readonly number[];
  readonly near: { readonly latitude: number; readonly longitude: number } | undefined;
  readonly trusted: Uint32Array | undefined;
  readonly confirmed: Uint32Array | undefined;
  /** Rows to return. */
  readonly limit: number;
}

// What a word counts by where and how it fits: exact before prefix before near, names before organizations
// before places before addresses.
const fieldPoints: Readonly<Record<WordField, number>> = {
  name: 1,
  organization: 0.9,
  specialty: 0.9,
  place: 0.8,
  address: 0.7,
};
const levelPoints = {
  [matchLevels.exact]: 2,
  [matchLevels.prefix]: 1,
  [matchLevels.near]: 0.2,
  [matchLevels.none]: 0,
};

/** Longer results are ranked class by class instead of row by row. */
const longestScored = 20_000;
/** Of longer lists whose rows have the same points only those near the place are measured. */
const longestMeasured = 8192;
/** Combinations of classes that are looked at; then the rest follows by name. */
const maxCombinations = 64;
/** More than half of the way around the earth. */
const everywhereMiles = 13_000;
/** Circles in which the first rows near a place are looked for, so that few rows of a large set count. */
const nearMiles = [1, 2.5, 6, 15, 40, 100, 250, 625, everywhereMiles] as const;
/** Rows are not looked for in circles where, as common as they are, so many times too few would be. */
const fewerThanExpected = 4;

export function rankRows(request: RankRequest, context: WordContext): RankedRow[] {
  const { matches, limit } = request;
  if (matches.count === 0 || limit === 0) return [];
  const order = createRowOrder(request, context);
  if (matches.count <= longestScored || matches.bits === undefined) {
    const rows = matches.rows ?? listBits(matches.bits as Uint32Array, matches.count);
    return order.best(scoreRows(rows, request), limit);
  }
  return rankSet(matches.bits, request, order, context);
}

interface Scored {
  readonly rows: Uint32Array;
  readonly points: Float64Array;
  readonly slips: Uint8Array;
}

function pointsOf({ level, field }: Pick<WordClass, 'level' | 'field'>, weight: number): number {
  return levelPoints[level] * fieldPoints[field] * weight;
}

// Rows are ascending.
function scoreRows(rows: Uint32Array, { sets, weights }: RankRequest): Scored {
  const points = new Float64Array(rows.length);
  const slips = new Uint8Array(rows.length);
  const own = new Float64Array(rows.length);
  const isSlip = new Uint8Array(rows.length);
  for (const [index, { classes }] of sets.entries()) {
    const weight = weights[index] as number;
    own.fill(0);
    isSlip.fill(0);
    // The best class of a row is written last.
    for (const one of byPoints(classes, weight).toReversed()) {
      const value = pointsOf(one, weight);
      const slip = one.level === matchLevels.near ? 1 : 0;
      markMembers(one.rows, rows, (place) => {
        own[place] = value;
        isSlip[place] = slip;
      });
    }
    for (let place = 0; place < rows.length; place++) {
      points[place] = (points[place] as number) + (own[place] as number);
      slips[place] = (slips[place] as number) + (isSlip[place] as number);
    }
  }
  return { rows, points, slips };
}

function byPoints(classes: readonly WordClass[], weight: number): WordClass[] {
  return classes.toSorted((a, b) => pointsOf(b, weight) - pointsOf(a, weight));
}

interface RowOrder {
  /** The first rows of a list, in order. */
  best(scored: Scored, limit: number): RankedRow[];
  /** The first rows of a set all of whose rows have the same points. */
  bestOfSet(set: RowSet, slips: number, points: number, limit: number): RankedRow[];
}

function createRowOrder({ near, trusted, confirmed }: RankRequest, context: WordContext): RowOrder {
  const { points, idOf, columns } = context;
  const codesOf = (name: ColumnName): CodeArray => (columns.get(name) as TextColumn).codes;
  const [last, first, organization] = [codesOf('lastName'), codesOf('firstName'), codesOf('organization')];
  const tierOf = (row: number): number =>
    confirmed !== undefined && hasBit(confirmed, row)
      ? 0
      : trusted !== undefined && hasBit(trusted, row)
        ? 1
        : 2;
  const circle = near && circleOf(points, { ...near, miles: everywhereMiles });
  const milesOf = (row: number): number => {
    const point = points.codes[row] as number;
    return circle === undefined || point >= points.count ? Infinity : milesToPoint(points, circle, point);
  };
  const compare = (a: RankedRow, b: RankedRow): number =>
    a.slips - b.slips ||
    b.points - a.points ||
    a.tier - b.tier ||
    (a.miles === b.miles ? 0 : a.miles - b.miles) ||
    (last[a.row] as number) - (last[b.row] as number) ||
    (first[a.row] as number) - (first[b.row] as number) ||
    (organization[a.row] as number) - (organization[b.row] as number) ||
    idOf(a.row) - idOf(b.row);

  function best({ rows, points: scores, slips }: Scored, limit: number): RankedRow[] {
    const kept: RankedRow[] = [];
    for (let place = 0; place < rows.length; place++) {
      const worst = kept[limit - 1];
      const [slip, score] = [slips[place] as number, scores[place] as number];
      // Most rows are out by their points alone.
      if (worst !== undefined && (slip > worst.slips || (slip === worst.slips && score < worst.points)))
        continue;
      const row = rows[place] as number;
      const one = { row, slips: slip, points: score, tier: tierOf(row), miles: milesOf(row) };
      if (worst !== undefined && compare(one, worst) >= 0) continue;
      if (worst !== undefined) kept.pop();
      let [low, high] = [0, kept.length];
      while (low < high) {
        const middle = (low + high) >>> 1;
        if (compare(kept[middle] as RankedRow, one) < 0) low = middle + 1;
        else high = middle;
      }
      kept.splice(low, 0, one);
    }
    return kept;
  }

  function bestOfRows(rows: Uint32Array, slips: number, score: number, limit: number): RankedRow[] {
    return best(
      {
        rows,
        slips: new Uint8Array(rows.length).fill(slips),
        points: new Float64Array(rows.length).fill(score),
      },
      limit,
    );
  }

  function nextRows(bits: Uint32Array, count: number, limit: number): Uint32Array {
    if (count <= (circle === undefined ? longestScored : longestMeasured)) return listBits(bits, count);
    if (circle === undefined) return firstByName(bits, limit, context);
    const placed = nearest(bits, count, limit, circle);
    if (placed.length >= limit) return placed;
    // Those without coordinates come behind all others.
    const { starts, postings } = points;
    const unplaced = postings.subarray(starts.at(points.count), starts.at(points.count + 1));
    return Uint32Array.from([...placed, ...unplaced.filter((row) => hasBit(bits, row))]);
  }

  // The first rows by distance of those with coordinates, and further ones that are as near as the last.
  function nearest(bits: Uint32Array, count: number, limit: number, everywhere: Circle): Uint32Array {
    let before: Uint32Array | undefined;
    const around = (miles: number): Circle =>
      miles === everywhereMiles ? everywhere : circleOf(points, { ...everywhere, miles });
    const within = (circle: Circle): NearRows => {
      const isSmall = circle.inside.count < count;
      if (!isSmall) before ??= countByLeaf(points, bits, count);
      return nearRows(points, circle, { bits, count }, isSmall ? undefined : before);
    };
    const pageOf = (near: NearRows, most: number): Uint32Array => {
      const steps = [{ kind: 'distance', isDescending: false }] as const;
      const page = { from: 0, to: Math.min(most, near.count) };
      return orderPage(
        { matches: { count: near.count, near }, steps, circle: near.circle, ...page },
        context,
      );
    };
    const fewest = (limit / fewerThanExpected) * (context.rowCount / count);
    let near: NearRows | undefined;
    for (const miles of nearMiles) {
      const circle = around(miles);
      if (circle.inside.count < fewest && circle !== everywhere) continue;
      near = within(circle);
      if (near.count > limit) break;
    }
    const rows = near === undefined ? new Uint32Array(0) : pageOf(near, limit + 1);
    if (rows.length <= limit) return rows;
    const [last, next] = [milesOf(rows[limit - 1] as number), milesOf(rows[limit] as number)];
    return last === next ? pageOf(within(around(last)), mostOfName) : rows;
  }

  return {
    best,
    bestOfSet(set, slips, score, limit) {
      if (set.kind === 'rows') return bestOfRows(set.rows, slips, score, limit);
      // The tiers one after another, each of which is mostly still long.
      const found: RankedRow[] = [];
      let rest = set.bits;
      for (const tier of [confirmed, trusted, undefined]) {
        const own = tier === undefined ? rest : context.pool.take();
        const count = tier === undefined ? countBits(rest) : writeCommon(rest, tier, own);
        if (count > 0)
          found.push(...bestOfRows(nextRows(own, count, limit).sort(), slips, score, limit - found.length));
        if (found.length >= limit || tier === undefined) break;
        rest = without(rest, tier, context);
      }
      return found.slice(0, limit);
    },
  };
}

function without(bits: Uint32Array, other: Uint32Array, { pool }: WordContext): Uint32Array {
  const rest = pool.take();
  for (let word = 0; word < rest.length; word++)
    rest[word] = (bits[word] as number) & ~(other[word] as number);
  return rest;
}

function listBits(bits: Uint32Array, count: number): Uint32Array {
  const rows = new Uint32Array(count);
  let found = 0;
  for (let word = 0; word < bits.length && found < count; word++)
    for (let left = bits[word] as number; left !== 0 && found < count; left &= left - 1)
      rows[found++] = (word << 5) + (31 - Math.clz32(left & -left));
  return rows.subarray(0, found);
}

// At least so many rows of a set, if it has them, that begin the order by name: a column's postings are in
// the order of its texts. The last name that is reached is taken whole, up to a limit.
function firstByName(bits: Uint32Array, limit: number, { columns }: WordContext): Uint32Array {
  const found: number[] = [];
  const lastName = columns.get('lastName') as TextColumn;
  const organization = columns.get('organization') as TextColumn;
  const namedEnd = lastName.starts.at(lastName.blankGroup);
  walk(lastName, 0, namedEnd, () => true);
  if (found.length < limit) {
    const isUnnamed = (row: number): boolean => lastName.codes[row] === lastName.blankGroup;
    walk(organization, 0, organization.starts.at(organization.groupCount), isUnnamed);
  }
  return Uint32Array.from(found);

  function walk(
    { postings, codes }: TextColumn,
    from: number,
    end: number,
    isWanted: (row: number) => boolean,
  ): void {
    if (postings === undefined) return;
    let enough: number | undefined;
    for (let at = from; at < end && found.length < mostOfName; at++) {
      const row = postings[at] as number;
      if (!hasBit(bits, row) || !isWanted(row)) continue;
      if (enough !== undefined && codes[row] !== enough) return;
      found.push(row);
      if (found.length >= limit) enough = codes[row] as number;
    }
  }
}

/** Further rows of one name, or at one distance, are in the order of their ids. */
const mostOfName = 4096;

interface Combination {
  readonly classes: readonly WordClass[];
  readonly points: number;
  readonly slips: number;
}

// The best combinations of a class for each word come first; a row belongs to the first one that it is in.
function rankSet(
  bits: Uint32Array,
  { sets, weights, limit }: RankRequest,
  order: RowOrder,
  context: WordContext,
): RankedRow[] {
  const found: RankedRow[] = [];
  const taken = new Set<number>();
  const take = (set: RowSet, slips: number, points: number): void => {
    const missing = limit - found.length;
    // Rows that were taken already come again.
    for (const one of order.bestOfSet(set, slips, points, missing + taken.size)) {
      if (found.length === limit) return;
      if (taken.has(one.row)) continue;
      taken.add(one.row);
      found.push(one);
    }
  };
  const setOf = createIntersections(bits, context);
  for (const { classes, slips, points } of combinationsOf(sets, weights)) {
    if (found.length === limit) return found;
    const set = setOf(classes);
    if (set.count > 0) take(set, slips, points);
  }
  if (found.length < limit) take({ kind: 'bits', bits, count: countBits(bits) }, 0, 0);
  return found;
}

function combinationsOf(sets: readonly WordSets[], weights: readonly number[]): Combination[] {
  let combinations: Combination[] = [{ classes: [], points: 0, slips: 0 }];
  for (const [index, { classes }] of sets.entries()) {
    const weight = weights[index] as number;
    combinations = combinations
      .flatMap((combination) =>
        classes.map((one) => ({
          classes: [...combination.classes, one],
          points: combination.points + pointsOf(one, weight),
          slips: combination.slips + (one.level === matchLevels.near ? 1 : 0),
        })),
      )
      .toSorted((a, b) => a.slips - b.slips || b.points - a.points)
      .slice(0, maxCombinations);
  }
  return combinations;
}

/** What rows of a set have in common with some classes; many combinations begin with the same ones. */
function createIntersections(
  bits: Uint32Array,
  context: WordContext,
): (classes: readonly WordClass[]) => RowSet {
  const all: RowSet = { kind: 'bits', bits, count: context.rowCount };
  const known = new Map<WordClass, Map<RowSet, RowSet>>();
  return (classes) =>
    classes.reduce<RowSet>((set, one) => {
      if (set.count === 0) return set;
      const own = known.get(one) ?? new Map<RowSet, RowSet>();
      known.set(one, own);
      const found = own.get(set) ?? intersectTwo(set, one.rows, context);
      own.set(set, found);
      return found;
    }, all);
}

function intersectTwo(one: RowSet, other: RowSet, context: WordContext): RowSet {
  if (one.kind === 'rows') {
    const rows = one.rows.filter((row) => hasRow(other, row));
    return { kind: 'rows', rows, count: rows.length };
  }
  if (other.kind === 'rows') return intersectTwo(other, one, context);
  const bits = context.pool.take();
  return { kind: 'bits', count: writeCommon(one.bits, other.bits, bits), bits };
}

function hasRow(set: RowSet, row: number): boolean {
  if (set.kind === 'bits') return hasBit(set.bits, row);
  let [low, high] = [0, set.rows.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((set.rows[middle] as number) < row) low = middle + 1;
    else high = middle;
  }
  return set.rows[low] === row;
}
