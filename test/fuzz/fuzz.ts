import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { createRandom } from '../support/fast-check.ts';
import { mutate } from './mutate.ts';

/** A parser under test. */
export interface FuzzTarget {
  /** Also the name of the folder in `corpus`. */
  readonly name: string;
  /** Words of the format that are worth inserting. */
  readonly tokens: readonly string[];
  /** Must come to an end; throws for anything that is a fault. Returns a word for the statistics, such as an error code. */
  run(bytes: Buffer): string | Promise<string>;
}

export interface FuzzReport {
  readonly runs: number;
  readonly outcomes: ReadonlyMap<string, number>;
  readonly slowestMs: number;
}

/** The committed samples of a target, by file name. */
export function readCorpus(name: string): Map<string, Buffer> {
  const folder = path.join(import.meta.dirname, 'corpus', name);
  return new Map(
    readdirSync(folder)
      .toSorted()
      .map((file) => [file, readFileSync(path.join(folder, file))]),
  );
}

/** Runs the target on damaged samples until the runs or the seconds are exhausted; a fault is thrown with its seed. */
export async function fuzz(
  target: FuzzTarget,
  limits: { runs: number; seconds: number; seed: number },
): Promise<FuzzReport> {
  const corpus = [...readCorpus(target.name).values()];
  const outcomes = new Map<string, number>();
  const deadline = performance.now() + limits.seconds * 1000;
  let runs = 0;
  let slowestMs = 0;
  for (; runs < limits.runs && performance.now() < deadline; runs++) {
    const seed = limits.seed + runs;
    const random = createRandom('fuzz', seed);
    const sample = corpus[Math.floor(random() * corpus.length)] ?? Buffer.alloc(0);
    const bytes = mutate(sample, corpus, target.tokens, random);
    const startedAt = performance.now();
    const outcome = await runOnce(target, bytes, seed);
    slowestMs = Math.max(slowestMs, performance.now() - startedAt);
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  }
  return { runs, outcomes, slowestMs };
}

async function runOnce(target: FuzzTarget, bytes: Buffer, seed: number): Promise<string> {
  try {
    return await target.run(bytes);
  } catch (error) {
    throw new Error(`${target.name} failed with seed ${seed}`, { cause: error });
  }
}

/** The program of a target: `node test/fuzz/NAME.ts [SECONDS] [SEED]`, 30 seconds if nothing is said. */
export async function main(target: FuzzTarget, args: readonly string[]): Promise<void> {
  const seconds = Number(args[0] ?? 30);
  const seed = Number(args[1] ?? Date.now() % 1_000_000_000);
  const report = await fuzz(target, { runs: Number.POSITIVE_INFINITY, seconds, seed });
  console.log(
    `${target.name}: ${report.runs} runs in ${seconds} s from seed ${seed}, slowest ${report.slowestMs.toFixed(1)} ms`,
  );
  for (const [outcome, count] of [...report.outcomes].toSorted((a, b) => b[1] - a[1]))
    console.log(`  ${count} ${outcome}`);
}
