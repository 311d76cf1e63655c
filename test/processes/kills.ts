/**
 * Ends HISPs by SIGKILL, and PostgreSQL by a restart, at random moments while messages go both ways with their MDNs and notifications and
 * the directory is loaded, and then accounts for everything: each accepted message has exactly one final state, arrived exactly
 * once, was reported, the audit chains are whole and the directory is that of one load.
 */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startTraffic, type Account, type TrafficOptions } from './traffic.ts';
import type { HispProcess, ProcessWorld, Who } from './world.ts';

export interface KillOptions extends Omit<TrafficOptions, 'secondNode'> {
  readonly secondNode?: HispProcess;
  readonly kills: number;
  /** Longest time between a start and the next kill. */
  readonly maxLifeMs: number;
  readonly random: () => number;
  /** Now and then a HISP is not killed but stopped for up to this time, of which it knows nothing. Never if omitted. */
  readonly maxStopMs?: number;
  /** Restarts the database server; counts as a kill. */
  readonly restartDatabase?: () => Promise<void>;
  /** Folder of the directory files. */
  readonly folder: string;
  /** Time for everything to become final after the last kill. */
  readonly drainMs?: number;
  /** Called when a HISP has been killed, before it is started again. */
  readonly afterKill?: (who: Who) => void;
  /** Called after each kill. */
  readonly onKill?: (kill: number, what: string) => void;
}

export interface KillReport extends Account {
  /** Number of kills of each. */
  readonly kills: Readonly<Record<string, number>>;
  /** Loads of the directory that were tried, and that reported success. */
  readonly loads: number;
  readonly loaded: number;
  /** Faults of the directory at the end. */
  readonly directory: readonly string[];
  /** From the last kill until everything was final. */
  readonly drainSeconds: number;
}

export async function runKills(world: ProcessWorld, options: KillOptions): Promise<KillReport> {
  const traffic = startTraffic(world, options);
  let isOn = true;
  const loading = keepLoading(world.sender, options.folder, () => isOn);
  const kills = await killSome(world, options);
  const lastKillAt = performance.now();
  isOn = false;
  await traffic.stop();
  const loads = await loading;
  const account = await traffic.finish(options.drainMs);
  const drainSeconds = Math.round((performance.now() - lastKillAt) / 1000);
  return { kills, drainSeconds, ...loads, ...account };
}

const killsBetweenRestarts = 10;

async function killSome(world: ProcessWorld, options: KillOptions): Promise<Record<string, number>> {
  const { random, maxLifeMs, maxStopMs = 0, restartDatabase } = options;
  const victims: [string, HispProcess][] = [
    ['sender', world.sender],
    ['receiver', world.receiver],
  ];
  if (options.secondNode !== undefined) victims.push(['second node', options.secondNode]);
  const kills: Record<string, number> = {};
  const count = (what: string): void => {
    kills[what] = (kills[what] ?? 0) + 1;
  };
  // By number and not by chance alone: every run of five kills or more restarts the database.
  let nextRestart = 3;
  for (let kill = 0; kill < options.kills; kill++) {
    await sleep(maxLifeMs * random());
    let what = 'database';
    if (restartDatabase !== undefined && (kill >= nextRestart || random() < 0.05)) {
      nextRestart = kill + killsBetweenRestarts;
      await restartDatabase();
    } else {
      const [name, victim] = victims[Math.floor(random() * victims.length)] as [string, HispProcess];
      what = name;
      if (maxStopMs > 0 && random() < 0.3) {
        await stopFor(victim, maxStopMs * random());
        count(`${name}, stopped`);
        options.onKill?.(kill + 1, `${name}, stopped`);
        continue;
      }
      await victim.kill();
      options.afterKill?.(victim === world.receiver ? 'receiver' : 'sender');
      if (random() < 0.25 && kill + 1 < options.kills) {
        kill++;
        count('while starting');
        await killWhileStarting(victim, 1500 * random());
        options.afterKill?.(victim === world.receiver ? 'receiver' : 'sender');
      }
      await victim.start();
    }
    count(what);
    options.onKill?.(kill + 1, what);
  }
  return kills;
}

async function stopFor({ process }: HispProcess, ms: number): Promise<void> {
  process.kill('SIGSTOP');
  await sleep(ms);
  process.kill('SIGCONT');
}

async function killWhileStarting(victim: HispProcess, afterMs: number): Promise<void> {
  const started = victim.start().then(
    () => {},
    () => {},
  );
  await sleep(afterMs);
  await victim.kill();
  await started;
}

const directoryRows = 4_000;

/** Loads one directory after the other, each with its number in every record, and ignores failures. */
async function keepLoading(
  hisp: HispProcess,
  folder: string,
  isOn: () => boolean,
): Promise<Pick<KillReport, 'loads' | 'loaded' | 'directory'>> {
  let loads = 0;
  let loaded = 0;
  const load = async (): Promise<string> => {
    const file = path.join(folder, `load-${++loads}.csv`);
    await writeFile(file, directoryCsv(loads));
    const answer = await hisp.load(file).catch((error: unknown) => String(error));
    if (answer === '') loaded++;
    return answer;
  };
  while (isOn()) {
    await load();
    await sleep(2_500);
  }
  // The next load needs no help: what the dead ones left behind is theirs alone.
  let last = await load();
  for (let tries = 0; last !== '' && tries < 20; tries++) {
    await sleep(1000);
    last = await load();
  }
  const holds = await hisp.inspectDirectory();
  const directory = [
    ...(last === '' ? [] : [`the last load failed: ${last}`]),
    ...(holds.organization === `Load${loads}` && holds.ofOrganization === directoryRows
      ? []
      : [`it holds ${JSON.stringify(holds)}, not ${directoryRows} of load ${loads}`]),
    ...(holds.recordCount === directoryRows ? [] : [`it holds ${holds.recordCount} records`]),
    ...(holds.isLoading ? ['a load is still in progress'] : []),
  ];
  return { loads, loaded, directory };
}

function directoryCsv(load: number): string {
  const rows = Array.from(
    { length: directoryRows },
    (_, index) => `p${index}@direct.listed.example,Load${load},Name${index},Springfield,IL,62701`,
  );
  return ['serv_direct_addr,org_name,prov_last_name,org_city,org_state,org_zip', ...rows, ''].join('\n');
}
