/**
 * Two nodes over one database that do conflicting things at the same moment, round after round. `npm run prove:races` runs thousands.
 */
import { randomBytes } from 'node:crypto';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { silentLog, systemClock } from '../../src/core/index.ts';
import { openVault, parseMasterKey, type Storage, type StoredVault } from '../../src/platform/index.ts';
import { createAudit, type Audit } from '../../src/service/audit/index.ts';
import { rounds } from '../support/rounds.ts';
import { createRandom } from '../support/fast-check.ts';
import { createMigratedDatabase } from '../support/storage.ts';

export interface RaceNode {
  readonly storage: Storage;
  readonly vault: StoredVault;
  readonly audit: Audit;
}

export type RaceNodes = readonly [RaceNode, RaceNode];

/** The rounds of a case: `usual` in the full tier, or `OPENHISP_RACE_ROUNDS`. */
export function roundsOf(usual: number): number {
  const given = Number(process.env['OPENHISP_RACE_ROUNDS'] ?? '');
  return given > 0 ? given : rounds(usual);
}

/** Chance with the run's seed. */
export const random = createRandom('races');

async function openRaceNodes(): Promise<RaceNodes> {
  const database = await createMigratedDatabase();
  const masterKey = parseMasterKey(randomBytes(32).toString('base64'));
  const nodes: RaceNode[] = [];
  for (let index = 0; index < 2; index++) {
    // On SQLite a write of the other connection is waited for.
    const storage = await database.open({ busyTimeoutMs: 60_000 });
    await storage.migrate();
    const vault = await openVault({ storage, masterKey, clock: systemClock });
    const audit = createAudit({ storage, vault, clock: systemClock, log: silentLog, flushMs: 50 });
    nodes.push({ storage, vault, audit });
  }
  return nodes as unknown as RaceNodes;
}

export interface Race {
  /** The condition that must hold. */
  readonly title: string;
  readonly skip?: string | false;
  /** Rounds in the full tier. */
  readonly usual?: number;
  /** Returns one round: the conflict, and the assertion. */
  prepare(nodes: RaceNodes): Promise<(round: number) => Promise<void>>;
}

const usualRounds = 25;

/** All cases of a file share two nodes. */
let opened: Promise<RaceNodes> | undefined;
after(async () => {
  for (const { audit, storage } of (await opened) ?? []) {
    await audit.close();
    await storage.close();
  }
});

export function raceTest({ title, skip = false, usual = usualRounds, prepare }: Race): void {
  const count = roundsOf(usual);
  test(title, { skip, timeout: 3_600_000 }, async (t) => {
    const round = await prepare(await (opened ??= openRaceNodes()));
    for (let index = 0; index < count; index++) await round(index);
    t.diagnostic(`${count} rounds`);
  });
}

/** Both at once; which one is first is up to chance. */
export async function collide<A, B>(
  one: () => Promise<A>,
  two: () => Promise<B>,
): Promise<readonly [PromiseSettledResult<A>, PromiseSettledResult<B>]> {
  const [first, second] = random() < 0.5 ? [0, jitter()] : [jitter(), 0];
  return Promise.allSettled([later(first, one), later(second, two)]);
}

/** Half of the collisions begin in the same turn. */
const jitter = (): number => (random() < 0.5 ? 0 : random() * 8);

async function later<R>(ms: number, work: () => Promise<R>): Promise<R> {
  if (ms > 0) await sleep(ms);
  return work();
}

/** The codes of those that were refused. */
export function refusals(results: readonly PromiseSettledResult<unknown>[]): string[] {
  return results.flatMap((result) =>
    result.status === 'rejected' ? [String(result.reason?.code ?? result.reason)] : [],
  );
}

export const succeeded = <R>(results: readonly PromiseSettledResult<R>[]): R[] =>
  results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
