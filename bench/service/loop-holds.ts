/**
 * Measures how long one message blocks the event loop of a whole HISP: `node bench/service/loop-holds.ts [MB] [rounds]`.
 * Two HISPs run in this process, the client in a thread; every hold is printed with the functions that it went to.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { silentLog } from '../../src/core/index.ts';
import { demoAddress, partners, startSandbox, type EdgeCredentials } from '../../src/app/dev/index.ts';
import type { EdgeTask } from './edge-thread.ts';
import { watchLoop, type Hold } from './watch-loop.ts';

const [megabytes = '25', rounds = '3', least = '15'] = process.argv.slice(2);
// A folder on a disk: a temporary one may lie in memory, where a commit costs nothing.
const folder = await mkdtemp(path.join(process.env['BENCH_DIR'] ?? process.cwd(), '.bench-'));
const warn: typeof silentLog.warn = (fields, text) => console.error(text, fields);
const sandbox = await startSandbox({ folder, httpPort: 0, log: { ...silentLog, warn, error: warn } });
const partnerFile = path.join(folder, 'partner-client.json');
const task: EdgeTask = {
  own: sandbox.credentials,
  partner: {
    ...(JSON.parse(await readFile(partnerFile, 'utf8')) as EdgeCredentials),
    baseUrl: sandbox.world.partner.baseUrl,
  },
  from: demoAddress,
  to: partners.processed,
  sizeBytes: Number(megabytes) * 1_000_000,
};
try {
  for (let round = 1; round <= Number(rounds); round++) printHolds(round, await runRound());
} finally {
  await sandbox.close();
  await rm(folder, { recursive: true, force: true });
}

async function runRound(): Promise<readonly Hold[]> {
  const watch = await watchLoop();
  const startedAt = performance.now();
  const thread = new Worker(new URL('./edge-thread.ts', import.meta.url), { workerData: task });
  thread.on('message', (phase: string) => {
    console.log(`  ${(performance.now() - startedAt).toFixed(0)} ms: ${phase}`);
    watch.enter(phase);
  });
  await new Promise<void>((resolve, reject) => {
    thread.once('error', reject);
    thread.once('exit', () => resolve());
  });
  return watch.stop(Number(least));
}

/** The five holds with most processor time: another program's load on the machine does not show in it. */
function printHolds(round: number, holds: readonly Hold[]): void {
  const longest = (of: (hold: Hold) => number): string => Math.max(0, ...holds.map(of)).toFixed(0);
  const memory = (process.memoryUsage.rss() / 1e6).toFixed(0);
  console.log(
    `round ${round}: longest ${longest((hold) => hold.lengthMs)} ms, in processor time ${longest((hold) => hold.cpuMs)} ms; RSS ${memory} MB`,
  );
  for (const { phase, lengthMs, cpuMs, causes } of holds.toSorted((a, b) => b.cpuMs - a.cpuMs).slice(0, 5)) {
    console.log(`  ${cpuMs.toFixed(0).padStart(4)} of ${lengthMs.toFixed(0).padStart(4)} ms  ${phase}`);
    for (const [name, ms] of causes.filter(([, ms]) => ms >= 2))
      console.log(`        ${ms.toFixed(1).padStart(6)}  ${name}`);
  }
}
