/**
 * The messaging engine between two HISPs that are processes of their own: rates, latency, processor time by part, commits,
 * flushes and statements per message, next to what the agent alone needs in the same run.
 *
 * Usage: `npm run bench:messaging -- [--sizes 1,10,100,1000] [--at-once 1,16,64] [--count N] [--sustain MINUTES]
 * [--rate PER_SECOND] [--profile]`. Sizes in kB.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { measureAgent, type AgentAlone } from './agent-alone.ts';
import { runLoad, type LoadOptions, type LoadResult } from './load.ts';
import type { Usage } from '../../test/processes/protocol.ts';
import { startProcessWorld, type ProcessWorld } from '../../test/processes/world.ts';

const { values } = parseArgs({
  options: {
    sizes: { type: 'string', default: '1,10,100,1000' },
    'at-once': { type: 'string', default: '1,16,64' },
    count: { type: 'string', default: '600' },
    sustain: { type: 'string' },
    rate: { type: 'string' },
    profile: { type: 'boolean', default: false },
  },
});
const numbers = (text: string): number[] => text.split(',').map(Number);

// A folder on a disk: a temporary one may lie in memory, where a flush costs nothing.
const folder = await mkdtemp(path.join(process.env['BENCH_DIR'] ?? process.cwd(), '.bench-'));
const world = await startProcessWorld({ folder });
try {
  await runLoad(world, { sizeBytes: 10_000, atOnce: 16, count: 200 });
  console.log(
    '| kB | at once | accepted/s | processed/s | p50 ms | p99 ms | CPU ms | agent alone ms | ratio | sign ms | commits | flushes | statements | loop ms | RSS MB | refused |',
  );
  console.log(`|${' --- |'.repeat(16)}`);
  for (const kilobytes of numbers(values.sizes)) {
    for (const atOnce of numbers(values['at-once'])) {
      const count = Math.ceil(Number(values.count) / (kilobytes >= 1000 ? 5 : 1) / (atOnce === 1 ? 3 : 1));
      await measure({ sizeBytes: kilobytes * 1000, atOnce, count });
    }
  }
  if (values.profile) await profile();
  if (values.sustain !== undefined) await sustain(Number(values.sustain) * 60);
} finally {
  await world.close();
  await rm(folder, { recursive: true, force: true });
}

async function measure(options: LoadOptions): Promise<LoadResult> {
  const alone = measureAgent(world.sender.party, world.receiver.party, options.sizeBytes, 1);
  const before = await usageOfBoth(world);
  const result = await runLoad(world, options);
  const after = await usageOfBoth(world);
  console.log(formatRow(options, result, alone, before, after));
  return result;
}

async function usageOfBoth({ sender, receiver }: ProcessWorld): Promise<readonly [Usage, Usage]> {
  return Promise.all([sender.usage(), receiver.usage()]);
}

function formatRow(
  { sizeBytes, atOnce }: LoadOptions,
  result: LoadResult,
  alone: AgentAlone,
  before: readonly Usage[],
  after: readonly Usage[],
): string {
  const perMessage = (read: (usage: Usage) => number): number =>
    after.reduce((sum, usage, index) => sum + read(usage) - read(before[index] as Usage), 0) / result.count;
  const cpuMs = perMessage((usage) => usage.cpuMs);
  const cells = [
    sizeBytes / 1000,
    atOnce,
    result.acceptedPerSecond.toFixed(0),
    result.processedPerSecond.toFixed(0),
    result.p50Ms.toFixed(0),
    result.p99Ms.toFixed(0),
    cpuMs.toFixed(1),
    alone.cpuMs.toFixed(2),
    (cpuMs / alone.cpuMs).toFixed(2),
    alone.signMs.toFixed(2),
    perMessage(({ storage }) => storage.commits).toFixed(1),
    perMessage(({ storage }) => storage.flushes).toFixed(1),
    perMessage(({ storage }) => storage.statements).toFixed(1),
    Math.max(...after.map((usage) => usage.longestDelayMs)).toFixed(0),
    Math.max(...after.map((usage) => usage.residentBytes / 1e6)).toFixed(0),
    result.refused,
  ];
  return `| ${cells.join(' | ')} |`;
}

/** Processor time of the main threads by part, 10 kB and 16 at once. */
async function profile(): Promise<void> {
  const { sender, receiver } = world;
  await Promise.all([sender.startProfile(), receiver.startProfile()]);
  const { count } = await runLoad(world, { sizeBytes: 10_000, atOnce: 16, count: Number(values.count) });
  const [own, peer] = await Promise.all([sender.stopProfile(), receiver.stopProfile()]);
  console.log('\n| part | sender ms | receiver ms |\n| --- | --- | --- |');
  const names = [...new Set([...Object.keys(own), ...Object.keys(peer)])].toSorted(
    (a, b) => (own[b] ?? 0) + (peer[b] ?? 0) - (own[a] ?? 0) - (peer[a] ?? 0),
  );
  for (const name of names)
    console.log(
      `| ${name} | ${((own[name] ?? 0) / count).toFixed(2)} | ${((peer[name] ?? 0) / count).toFixed(2)} |`,
    );
}

async function sustain(seconds: number): Promise<void> {
  const perSecond = Number(values.rate ?? '100');
  console.log(`\n${perSecond} per second for ${seconds} s:`);
  await measure({ sizeBytes: 10_000, atOnce: 64, count: perSecond * seconds, perSecond });
}
