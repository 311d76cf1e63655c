import type { ProviderRecord } from '../../src/lib/provider-record/index.ts';
import {
  createIndexBuilder,
  type ProviderIndex,
  type ProviderQuery,
  type SharedIndexBytes,
} from '../../src/lib/provider-index/index.ts';
import { plainFormat } from '../../test/support/record-format.ts';
import type { BenchQuery } from './queries.ts';
import { recordsOfShape, type ShapeName } from './shapes.ts';

export interface Timing {
  readonly p50Ms: number;
  readonly p95Ms: number;
  /** The quickest run: on a busy machine the others tell how busy it is. */
  readonly leastMs: number;
}

export interface EngineTiming extends Timing {
  readonly name: string;
  readonly query: ProviderQuery;
  readonly totalCount: number;
  readonly ids: readonly number[];
}

/** The records of the shape `zip`, the same in each run, in order of id. */
export function sampleRecords(count: number): Iterable<ProviderRecord> {
  return recordsOfShape('zip', count);
}

/** Builds the index; the time that inventing the records takes is distinguished. */
export function buildSample(
  count: number,
  shape: ShapeName,
): {
  bytes: SharedIndexBytes;
  addMs: number;
  finishMs: number;
  generateMs: number;
} {
  const batchSize = 10_000;
  const builder = createIndexBuilder({ expectedRecords: count });
  let addMs = 0;
  const start = performance.now();
  let batch: ProviderRecord[] = [];
  const flush = (): void => {
    const before = performance.now();
    for (const record of batch) builder.add(record);
    addMs += performance.now() - before;
    batch = [];
  };
  for (const record of recordsOfShape(shape, count)) {
    batch.push(record);
    if (batch.length === batchSize) flush();
  }
  flush();
  const generateMs = performance.now() - start - addMs;
  const before = performance.now();
  const bytes = builder.finish();
  return { bytes, addMs, generateMs, finishMs: performance.now() - before };
}

/** Search and page text, as often as 600 ms or 25 times allow, after two runs to warm up. */
export function timeQuery(index: ProviderIndex, { name, query, isLastPage }: BenchQuery): EngineTiming {
  const placed =
    isLastPage === true
      ? { ...query, offset: Math.max(0, index.search({ ...query, limit: 1 }).totalCount - query.limit) }
      : query;
  const once = (): { totalCount: number; rows: Uint32Array } => {
    const found = index.search(placed);
    index.writeRecords(found.rows, plainFormat, found);
    return found;
  };
  once();
  const found = once();
  const times: number[] = [];
  for (let spent = 0; times.length < 25 && (times.length < 3 || spent < 600); spent += times.at(-1) ?? 0) {
    const start = performance.now();
    once();
    times.push(performance.now() - start);
  }
  return {
    name,
    query: placed,
    totalCount: found.totalCount,
    ids: [...found.rows].map((row) => index.record(row).id),
    ...timingOf(times),
  };
}

export function timingOf(times: readonly number[]): Timing {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { p50Ms: at(0.5), p95Ms: at(0.95), leastMs: at(0) };
}
