/**
 * Ends HISPs by SIGKILL at random moments under load and accounts for every message (test/processes/kills.ts). With `--engine postgres`
 * both HISPs keep their state there, the sender is two nodes over one database, and the database server is restarted as well. With
 * `--stop-seconds` a HISP is sometimes stopped for up to that time instead, which is longer than a lease with more than 3.
 *
 * Usage: `npm run prove:kills -- [--kills 200] [--engine sqlite|postgres] [--at-once 4] [--stop-seconds 0] [--seed N]`. Exits 1 if
 * anything was lost, doubled or unreported. 200 kills take about ten minutes.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { runKills } from '../../test/processes/kills.ts';
import { startKillWorld } from '../../test/processes/kill-world.ts';
import { faultsOf } from '../../test/processes/traffic.ts';
import { createRandom } from '../../test/support/fast-check.ts';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '200' },
    engine: { type: 'string', default: 'sqlite' },
    'at-once': { type: 'string', default: '4' },
    'stop-seconds': { type: 'string', default: '0' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});

const folder = await mkdtemp(path.join(process.env['BENCH_DIR'] ?? process.cwd(), '.bench-'));
// Two hundred starts: compiled once.
process.env['NODE_COMPILE_CACHE'] ??= path.join(folder, 'compiled');
const { world, options, close } = await startKillWorld(folder, values.engine === 'postgres');
try {
  const report = await runKills(world, {
    ...options,
    kills: Number(values.kills),
    atOnce: Number(values['at-once']),
    maxLifeMs: 2000,
    maxStopMs: 1000 * Number(values['stop-seconds']),
    drainMs: 600_000,
    random: createRandom('kills', Number(values.seed)),
    onKill: (kill, what) => kill % 10 === 0 && console.error(`${new Date().toISOString()} ${kill} ${what}`),
  });
  console.log(JSON.stringify({ engine: values.engine, seed: Number(values.seed), ...report }, null, 2));
  const faults = [report.directory, ...Object.values(faultsOf(report))];
  if (faults.some((list) => list.length > 0)) process.exitCode = 1;
} finally {
  await close();
  await rm(folder, { recursive: true, force: true });
}
