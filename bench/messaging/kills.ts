/**
 * Ends two HISPs by SIGKILL at random moments under load and accounts for every message.
 *
 * Usage: `npm run prove:kills -- [--kills 200] [--at-once 8] [--seed N]`. Exits 1 if anything was lost, doubled or untold.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { runKills } from '../../test/processes/kills.ts';
import { startProcessWorld } from '../../test/processes/world.ts';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '200' },
    'at-once': { type: 'string', default: '8' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});

let state = Number(values.seed);
/** Repeatable: the moments still depend on the machine. */
function random(): number {
  state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
  return state / 2_147_483_648;
}

const folder = await mkdtemp(path.join(process.env['BENCH_DIR'] ?? process.cwd(), '.bench-'));
const settings = () => ({ 'delivery.retryMinutes': '0.01,0.02,0.05' });
const world = await startProcessWorld({ folder, settings });
try {
  const report = await runKills(world, {
    kills: Number(values.kills),
    atOnce: Number(values['at-once']),
    maxLifeMs: 1500,
    random,
  });
  console.log(JSON.stringify({ seed: Number(values.seed), ...report }, null, 2));
  const { others, lost, doubled, untold, contradicted } = report;
  if ([others, lost, doubled, untold, contradicted].some((list) => list.length > 0)) process.exitCode = 1;
} finally {
  await world.close();
  await rm(folder, { recursive: true, force: true });
}
