/**
 * Ends two HISPs by SIGKILL at random moments while clients send and receive over all edges, and accounts for every message and outcome
 * (test/processes/edge-kills.ts). With `--engine postgres` both keep their state there, and about every fifth end is that of the database
 * server.
 *
 * Usage: `npm run prove:edges -- [--kills 200] [--engine sqlite|postgres] [--seed N]`. Exits 1 if anything was lost, doubled, untold or given
 * again under another id. 200 kills take about ten minutes.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { runEdgeKills } from '../../test/processes/edge-kills.ts';
import { createRandom } from '../../test/support/fast-check.ts';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '200' },
    engine: { type: 'string', default: 'sqlite' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});
const folder = await mkdtemp(path.join(process.env['BENCH_DIR'] ?? process.cwd(), '.bench-'));
process.env['NODE_COMPILE_CACHE'] ??= path.join(folder, 'compiled');
try {
  const report = await runEdgeKills({
    folder,
    isOnPostgres: values.engine === 'postgres',
    kills: Number(values.kills),
    maxLifeMs: 3_000,
    random: createRandom('edge-kills', Number(values.seed)),
    drainMs: 300_000,
    onKill: (kill, what) => kill % 10 === 0 && console.error(`${new Date().toISOString()} ${kill} ${what}`),
  });
  console.log(JSON.stringify({ engine: values.engine, seed: Number(values.seed), ...report }, null, 2));
  const { lost, untold, doubled, renamed, wrong } = report;
  if ([lost, untold, doubled, renamed, wrong].some((list) => list.length > 0)) process.exitCode = 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}
