/**
 * Long fuzzing of the CMS reader, by hand: `node test/fuzz/cms.ts [--seconds N] [--seed N]` (default 60 seconds). Prints what came out how
 * often; at a finding it prints the case, keeps it next to the corpus, and ends with status 1.
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { createRandom } from '../support/fast-check.ts';
import { checkCms, readSeeds } from './cms-target.ts';
import { mutate } from './mutate-cms.ts';

/** One case that takes longer is a finding too. */
const maxCaseMs = 1000;

function argument(name: string, fallback: number): number {
  const index = process.argv.indexOf(`--${name}`);
  return index < 0 ? fallback : Number(process.argv[index + 1]);
}

const seconds = argument('seconds', 60);
const seed = argument('seed', Date.now() & 0x7fff_ffff);
const random = createRandom('cms', seed);
const pick = (limit: number): number => Math.floor(random() * limit);
const seeds = readSeeds().filter(({ name }) => !name.startsWith('hostile'));
const outcomes = new Map<string, number>();
const end = Date.now() + seconds * 1000;
let count = 0;
let slowestMs = 0;

while (Date.now() < end) {
  const chosen = seeds[pick(seeds.length)];
  const other = seeds[pick(seeds.length)];
  if (chosen === undefined || other === undefined) throw new Error('the corpus is empty');
  let bytes = chosen.bytes;
  for (let left = 1 + pick(6); left > 0; left--) bytes = mutate(bytes, other.bytes, pick);
  const start = performance.now();
  try {
    const outcome = checkCms(chosen.name, bytes);
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  } catch (error) {
    keep(chosen.name, bytes, error);
  }
  const tookMs = performance.now() - start;
  slowestMs = Math.max(slowestMs, tookMs);
  if (tookMs > maxCaseMs) keep(chosen.name, bytes, `took ${Math.round(tookMs)} ms`);
  count++;
}

function keep(name: string, bytes: Uint8Array, why: unknown): never {
  const file = path.join(import.meta.dirname, `finding-${count}-${name}`);
  writeFileSync(file, bytes);
  console.error(`finding in case ${count} of seed ${seed}, kept as ${file}:`, why);
  process.exit(1);
}

console.log(`${count} cases in ${seconds} s (seed ${seed}), slowest ${slowestMs.toFixed(1)} ms`);
for (const [outcome, times] of [...outcomes].toSorted(([, a], [, b]) => b - a))
  console.log(`${String(times).padStart(9)}  ${outcome}`);
