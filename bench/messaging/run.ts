/**
 * The messaging engine between two HISPs in separate processes: rates, latency, processor time, commits, flushes and
 * statements per message, next to what the agent alone, and its S/MIME alone, need in the same run.
 *
 * Usage: `npm run bench:messaging -- [--engine sqlite,postgres] [--sizes 1,10,100,1000] [--at-once 1,16,64] [--count N]
 * [--warm-up N] [--profile] [--steady SECONDS] [--sustain MINUTES] [--rate PER_SECOND]`. Sizes in kB. `--steady` sends 10 kB at 70 %
 * of the highest rate of the table, `--sustain` each size at `--rate`. PostgreSQL is started for the run and flushes every commit.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { startAgentAlone, type AgentAlone, type AgentTimes } from './agent-alone.ts';
import { runLoad, type LoadOptions, type LoadResult } from './load.ts';
import { readThreadTimes, readTreeMs, type ThreadTimes } from './threads.ts';
import type { Usage } from '../../test/processes/protocol.ts';
import { startProcessWorld, type ProcessWorld, type Who } from '../../test/processes/world.ts';
import { startPostgres, type RunningPostgres } from '../../test/support/postgres.ts';

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'sqlite' },
    sizes: { type: 'string', default: '1,10,100,1000' },
    'at-once': { type: 'string', default: '1,16,64' },
    count: { type: 'string', default: '600' },
    // As long as the agent alone is warmed up (`agent-process.ts`): V8 optimizes code after thousands of calls.
    'warm-up': { type: 'string', default: '8000' },
    steady: { type: 'string' },
    sustain: { type: 'string' },
    rate: { type: 'string' },
    profile: { type: 'boolean', default: false },
  },
});
const numbers = (text: string): number[] => text.split(',').map(Number);

interface Bench {
  readonly world: ProcessWorld;
  readonly agent: AgentAlone;
  readonly postgres: RunningPostgres | undefined;
}

for (const engine of values.engine.split(',')) await runEngine(engine);

async function runEngine(engine: string): Promise<void> {
  // A folder on a disk: a temporary one may lie in memory, where a flush costs nothing.
  const folder = await mkdtemp(path.join(process.env['BENCH_DIR'] ?? process.cwd(), '.bench-'));
  const postgres = engine === 'postgres' ? await startPostgres({ isDurable: true }) : undefined;
  if (postgres !== undefined) await createDatabases(postgres);
  const settings = (who: Who): Record<string, string> =>
    postgres === undefined ? {} : { 'storage.url': postgres.urlOf(who) };
  const world = await startProcessWorld({ folder, settings });
  const agent = startAgentAlone(world);
  try {
    await measureAll({ world, agent, postgres }, engine);
  } finally {
    await agent.close();
    await world.close();
    await postgres?.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function createDatabases(postgres: RunningPostgres): Promise<void> {
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  for (const who of ['sender', 'receiver']) await client.query(`create database ${who} template template0`);
  await client.end();
}

async function measureAll(bench: Bench, engine: string): Promise<void> {
  await runLoad(bench.world, { sizeBytes: 10_000, atOnce: 16, count: Number(values['warm-up']) });
  console.log(`\n${engine}\n`);
  printHead();
  let highest = 0;
  for (const kilobytes of numbers(values.sizes)) {
    for (const atOnce of numbers(values['at-once'])) {
      const count = Math.ceil(Number(values.count) / (kilobytes >= 1000 ? 5 : 1) / (atOnce === 1 ? 3 : 1));
      const { processedPerSecond } = await measure(bench, { sizeBytes: kilobytes * 1000, atOnce, count });
      if (kilobytes === 10) highest = Math.max(highest, processedPerSecond);
    }
  }
  if (values.profile) await profile(bench);
  if (values.steady !== undefined) await sendAt(bench, highest * 0.7, Number(values.steady), 10);
  if (values.sustain !== undefined)
    for (const kilobytes of numbers(values.sizes))
      await sendAt(bench, Number(values.rate ?? '100'), Number(values.sustain) * 60, kilobytes);
}

function printHead(): void {
  console.log(
    '| kB | at once | accepted/s | processed/s | p50 ms | p99 ms | CPU ms | agent alone ms | ratio | S/MIME alone ms | ratio | sign ms | commits | flushes | statements | loop ms | RSS MB | refused | PostgreSQL CPU ms |',
  );
  console.log(`|${' --- |'.repeat(19)}`);
}

async function measure({ world, agent, postgres }: Bench, options: LoadOptions): Promise<LoadResult> {
  const aloneBefore = await agent.measure(options.sizeBytes);
  const before = await usageOfBoth(world);
  const serverBefore = postgres === undefined ? 0 : readTreeMs(postgres.pid);
  const result = await runLoad(world, options);
  const serverMs = postgres === undefined ? 0 : readTreeMs(postgres.pid) - serverBefore;
  const after = await usageOfBoth(world);
  // A shared machine's speed changes within minutes, so the agent is measured on both sides of the load.
  const alone = meanOf(aloneBefore, await agent.measure(options.sizeBytes));
  console.log(formatRow({ options, result, alone, before, after, serverMs }));
  return result;
}

function meanOf(one: AgentTimes, other: AgentTimes): AgentTimes {
  const mean = (read: (times: AgentTimes) => number): number => (read(one) + read(other)) / 2;
  return {
    cpuMs: mean((times) => times.cpuMs),
    smimeMs: mean((times) => times.smimeMs),
    signMs: mean((times) => times.signMs),
  };
}

async function usageOfBoth({ sender, receiver }: ProcessWorld): Promise<readonly [Usage, Usage]> {
  return Promise.all([sender.usage(), receiver.usage()]);
}

interface Measured {
  readonly options: LoadOptions;
  readonly result: LoadResult;
  readonly alone: AgentTimes;
  readonly before: readonly Usage[];
  readonly after: readonly Usage[];
  /** Processor time of the database server. */
  readonly serverMs: number;
}

function formatRow({ options, result, alone, before, after, serverMs }: Measured): string {
  const perMessage = (read: (usage: Usage) => number): number =>
    after.reduce((sum, usage, index) => sum + read(usage) - read(before[index] as Usage), 0) / result.count;
  const cpuMs = perMessage((usage) => usage.cpuMs);
  const cells = [
    options.sizeBytes / 1000,
    options.atOnce,
    result.acceptedPerSecond.toFixed(0),
    result.processedPerSecond.toFixed(0),
    result.p50Ms.toFixed(0),
    result.p99Ms.toFixed(0),
    cpuMs.toFixed(1),
    alone.cpuMs.toFixed(2),
    (cpuMs / alone.cpuMs).toFixed(2),
    alone.smimeMs.toFixed(2),
    (cpuMs / alone.smimeMs).toFixed(2),
    alone.signMs.toFixed(2),
    perMessage(({ storage }) => storage.commits).toFixed(1),
    perMessage(({ storage }) => storage.flushes).toFixed(1),
    perMessage(({ storage }) => storage.statements).toFixed(1),
    Math.max(...after.map((usage) => usage.longestDelayMs)).toFixed(0),
    Math.max(...after.map((usage) => usage.residentBytes / 1e6)).toFixed(0),
    result.refused,
    (serverMs / result.count).toFixed(1),
  ];
  return `| ${cells.join(' | ')} |`;
}

/** Processor time at 10 kB and 16 at once: by kind of thread, and of the main threads by part. */
async function profile({ world }: Bench): Promise<void> {
  const { sender, receiver } = world;
  const pids = [sender.process.pid ?? 0, receiver.process.pid ?? 0];
  const load = { sizeBytes: 10_000, atOnce: 16, count: Number(values.count) };
  const before = pids.map(readThreadTimes);
  const { count } = await runLoad(world, load);
  const after = pids.map(readThreadTimes);
  printParts(
    'thread',
    after.map((times, index) => subtract(times, before[index] ?? {})),
    count,
  );
  await Promise.all([sender.startProfile(), receiver.startProfile()]);
  await runLoad(world, load);
  printParts(
    'part of the main thread',
    await Promise.all([sender.stopProfile(), receiver.stopProfile()]),
    count,
  );
}

/** A thread that has ended takes its time with it. */
function subtract(times: ThreadTimes, before: ThreadTimes): ThreadTimes {
  return Object.fromEntries(
    Object.entries(times).map(([name, ms]) => [name, Math.max(0, ms - (before[name] ?? 0))]),
  );
}

/** Milliseconds per message of sender and receiver. */
function printParts(title: string, [own = {}, peer = {}]: readonly ThreadTimes[], count: number): void {
  console.log(`\n| ${title} | sender ms | receiver ms |\n| --- | --- | --- |`);
  const sum = (name: string): number => (own[name] ?? 0) + (peer[name] ?? 0);
  const names = [...new Set([...Object.keys(own), ...Object.keys(peer)])];
  for (const name of names.toSorted((a, b) => sum(b) - sum(a)))
    console.log(
      `| ${name} | ${((own[name] ?? 0) / count).toFixed(2)} | ${((peer[name] ?? 0) / count).toFixed(2)} |`,
    );
}

async function sendAt(bench: Bench, perSecond: number, seconds: number, kilobytes: number): Promise<void> {
  console.log(`\n${perSecond.toFixed(0)} per second for ${seconds} s:\n`);
  printHead();
  const count = Math.ceil(perSecond * seconds);
  await measure(bench, { sizeBytes: kilobytes * 1000, atOnce: 64, count, perSecond });
}
