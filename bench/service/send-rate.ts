/**
 * Messages per second through two HISPs in one process: `node bench/service/send-rate.ts [kB] [messages] [at once] [rounds]`.
 * `accepted` is up to the last 200, `processed` up to the last processed MDN.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { silentLog } from '../../src/core/index.ts';
import { demoAddress, partners, startSandbox } from '../../src/app/dev/index.ts';
import type { SendTask } from './send-thread.ts';

const [kilobytes = '100', count = '300', atOnce = '16', rounds = '3'] = process.argv.slice(2);
// A folder on a disk: a temporary one may lie in memory, where a commit costs nothing.
const folder = await mkdtemp(path.join(process.env['BENCH_DIR'] ?? process.cwd(), '.bench-'));
const settings = {
  'messaging.sendsPerSecond': '100000',
  'messaging.sendsBurst': '100000',
  'messaging.processedWindowMinutes': '10',
};
const sandbox = await startSandbox({ folder, httpPort: 0, log: silentLog, settings });
const task: SendTask = {
  own: sandbox.credentials,
  from: demoAddress,
  to: partners.processed,
  sizeBytes: Number(kilobytes) * 1000,
  count: Number(count),
  atOnce: Number(atOnce),
};
try {
  for (let round = 1; round <= Number(rounds); round++) await runRound(round);
} finally {
  await sandbox.close();
  await rm(folder, { recursive: true, force: true });
}

async function runRound(round: number): Promise<void> {
  const thread = new Worker(new URL('./send-thread.ts', import.meta.url), { workerData: task });
  const rates: string[] = [];
  const cpu = process.threadCpuUsage();
  thread.on('message', ({ what, ms }: { what: string; ms: number }) => {
    rates.push(`${what} ${((task.count * 1000) / ms).toFixed(0)}/s`);
  });
  await new Promise<void>((resolve, reject) => {
    thread.once('error', reject);
    thread.once('exit', () => resolve());
  });
  const { user, system } = process.threadCpuUsage(cpu);
  const perMessage = (user + system) / 1000 / task.count;
  console.log(
    `round ${round}: ${rates.join(', ')}, main thread ${perMessage.toFixed(1)} ms of CPU per message`,
  );
}
