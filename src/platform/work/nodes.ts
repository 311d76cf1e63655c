import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import type { Closable, Log } from '../../core/index.ts';
import { PlatformError } from '../errors.ts';
import type { Held, Storage } from '../storage/storage.ts';
import { createFaultLog } from './fault-log.ts';

/** A node is shown as running for this time after its last heartbeat, even without its lock. */
const seenForMs = 30_000;
const defaultHeartbeatMs = 10_000;
/** Longer than the database needs to notice that a machine has gone, whose node id is then free again. */
const defaultWaitMs = 45_000;
const forgottenAfterMs = 86_400_000;
const topic = 'node';

/** One process that serves. Times are milliseconds by `Storage.clock`. */
export interface NodeRow {
  id: string;
  started_at: number;
  seen_at: number;
  version: string;
  host: string;
  /** Comma-separated names of what it serves, such as `api,mail,console`. */
  serves: string;
}

interface NodeTables {
  node: NodeRow;
}

/** This node among the others. */
export interface Nodes extends Closable {
  readonly id: string;
  /** The last heartbeat of a process of this id that did not end in order, if the others still know of it. */
  readonly lostAt: Date | undefined;
  /** Nodes that run, this one included; at least 1. */
  readonly liveCount: number;
}

export interface NodesOptions {
  readonly storage: Storage;
  readonly log: Log;
  readonly id: string;
  /** Of the program. */
  readonly version: string;
  /** What it serves, for lists. */
  readonly serves?: readonly string[];
  readonly heartbeatMs?: number;
  /** Time to wait at the start until a previous process with this id has ended. */
  readonly waitMs?: number;
}

/** All nodes of the last day that did not end in order, the running ones included, by id. */
export async function listNodes(
  storage: Storage,
): Promise<readonly (NodeRow & { readonly isRunning: boolean })[]> {
  const rows = await storage.tables<NodeTables>().selectFrom('node').selectAll().orderBy('id').execute();
  const since = storage.clock.now().getTime() - seenForMs;
  const silent = rows.filter((row) => row.seen_at < since);
  const held = silent.length === 0 ? new Set<string>() : await storage.listHeld(silent.map(lockOf));
  return rows.map((row) => ({ ...row, isRunning: row.seen_at >= since || held.has(lockOf(row)) }));
}

/** The running nodes: they hold the lock of their id, or have written a heartbeat within 30 s. */
export async function listLiveNodes(storage: Storage): Promise<readonly NodeRow[]> {
  return (await listNodes(storage)).filter(({ isRunning }) => isRunning);
}

/**
 * Enters this node among those over the database. Throws PLATFORM_NODE_ID_TAKEN if another process with the
 * same id runs: the id owns data that must have one owner.
 */
export async function joinNodes(options: NodesOptions): Promise<Nodes> {
  const { storage, log, id } = options;
  const db = storage.tables<NodeTables>();
  const faults = createFaultLog('node', log);
  let lock: Held | undefined = await holdId(options);
  let liveCount = 1;
  let isClosed = false;
  let running: Promise<void> = Promise.resolve();

  async function count(): Promise<void> {
    const live = await listLiveNodes(storage);
    liveCount = Math.max(1, live.length);
  }

  async function writeHeartbeat(): Promise<void> {
    const nowMs = storage.clock.now().getTime();
    if (lock?.isHeld === false) lock = undefined;
    lock ??= await storage.hold(lockOf(options));
    if (lock === undefined) log.error({ node: id }, 'another process works with the id of this node');
    const { numUpdatedRows } = await db
      .updateTable('node')
      .set({ seen_at: nowMs })
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    // The others forgot this node while it was away for a day, or the database lost its last commits.
    if (numUpdatedRows === 0n) await enter(options);
    await db
      .deleteFrom('node')
      .where('seen_at', '<', nowMs - forgottenAfterMs)
      .execute();
    await count();
  }

  // One after another; a database that is away for a moment is not a reason to stop.
  function next(work: () => Promise<void>): Promise<void> {
    running = running
      .then(() => (isClosed ? undefined : work()))
      .then(() => faults.worked('write its heartbeat'))
      .catch((error: unknown) => faults.failed('write its heartbeat', error));
    return running;
  }

  await takeOverTime(options);
  const lostAt = await enter(options);
  const stopHearing = storage.onAnnounced(topic, () => void next(count));
  await count();
  const timer = setInterval(() => void next(writeHeartbeat), options.heartbeatMs ?? defaultHeartbeatMs);
  timer.unref();

  return {
    id,
    lostAt,
    get liveCount() {
      return liveCount;
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      clearInterval(timer);
      stopHearing();
      await running;
      await storage.transaction(async (tx: Kysely<NodeTables>) => {
        await tx.deleteFrom('node').where('id', '=', id).execute();
        storage.announce(tx, topic);
      });
      await lock?.release();
    },
  };
}

/**
 * If the running nodes have another time than the database (its clock was set, or it is another machine since
 * a failover), this node begins at theirs. Their rows show it to the moment at which they write the next
 * heartbeat.
 */
async function takeOverTime({
  storage,
  log,
  id,
  heartbeatMs = defaultHeartbeatMs,
}: NodesOptions): Promise<void> {
  const readOthers = async (): Promise<readonly NodeRow[]> =>
    (await listLiveNodes(storage)).filter((row) => row.id !== id);
  const known = await readOthers();
  const nowMs = storage.clock.now().getTime();
  if (known.length === 0 || known.some((row) => Math.abs(row.seen_at - nowMs) <= seenForMs)) return;
  const endMs = performance.now() + 2.5 * heartbeatMs;
  while (performance.now() < endMs) {
    await sleep(heartbeatMs / 20);
    const found = (await readOthers()).find((row) =>
      known.some((before) => before.id === row.id && before.seen_at !== row.seen_at),
    );
    if (found === undefined) continue;
    const aheadMs = Math.round(storage.clock.now().getTime() - found.seen_at);
    // It was away, or stood still.
    if (Math.abs(aheadMs) <= seenForMs) return;
    log.warn({ aheadMs }, 'the clock of the database was set; this node begins at the time of the others');
    storage.setClock(found.seen_at);
    return;
  }
}

/** Returns the last heartbeat of the row that was there. */
async function enter({ storage, id, version, serves = [] }: NodesOptions): Promise<Date | undefined> {
  const nowMs = storage.clock.now().getTime();
  const row = { started_at: nowMs, seen_at: nowMs, version, host: hostname(), serves: serves.join(',') };
  return storage.transaction(async (tx: Kysely<NodeTables>) => {
    const before = await tx.selectFrom('node').select('seen_at').where('id', '=', id).executeTakeFirst();
    await tx
      .insertInto('node')
      .values({ id, ...row })
      .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
      .execute();
    storage.announce(tx, topic);
    return before && new Date(Number(before.seen_at));
  });
}

async function holdId(options: NodesOptions): Promise<Held> {
  const { storage, id, waitMs = defaultWaitMs } = options;
  const endMs = performance.now() + waitMs;
  for (;;) {
    const held = await storage.hold(lockOf(options));
    if (held !== undefined) return held;
    if (performance.now() >= endMs) break;
    await sleep(250);
  }
  throw new PlatformError(
    'PLATFORM_NODE_ID_TAKEN',
    `another process works with the node id ${id} on this database; each node needs a data folder that was not copied`,
  );
}

function lockOf({ id }: { readonly id: string }): string {
  return `node ${id}`;
}
