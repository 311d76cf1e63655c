import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Closable } from '../../../core/index.ts';
import { PlatformError } from '../../errors.ts';
import { advisoryKey, type AdvisoryKind } from './advisory-keys.ts';
import { keepAlive } from './connections.ts';
import { isConnectionLost, translated } from './errors.ts';

/** All announcements go through one channel; the topic is the payload. */
const channel = 'openhisp';
/**
 * Shortest time between two announcements of one topic to other nodes: one wake-up stands for all between.
 */
const announceEveryMs = 20;
/** Time for a goodbye. */
const endMs = 1_000;
const longestPauseMs = 5000;

/** A session-level advisory lock. It ends with the connection, however that ends. */
export interface SessionLock {
  /** Becomes false when the connection is lost, and then the lock with it. */
  readonly isHeld: boolean;
  release(): Promise<void>;
}

/** The connection of a node for locks and announcements. It is opened on first use. */
export interface Session extends Closable {
  /** Undefined if another session holds the lock. */
  tryLock(kind: AdvisoryKind, name: string): Promise<SessionLock | undefined>;
  announce(topic: string): void;
  onAnnounced(topic: string, listener: () => void): () => void;
}

export interface SessionDependencies {
  /** Its queries fail when they are not answered in time. */
  connect(): Promise<pg.Client>;
  /** Interval of asking whether the connection is alive. */
  readonly heartbeatMs: number;
  /** The server ends the connection of a node that asks nothing for this long (PostgreSQL 14 or later). */
  readonly silentMs: number;
  /** Called when the connection was lost, for the log. */
  onProblem(text: string): void;
}

interface HeldLock {
  isHeld: boolean;
}

/** Makes the session. A lost connection is made again, without the locks that it held. */
export function createSession({ connect, heartbeatMs, silentMs, onProblem }: SessionDependencies): Session {
  const listeners = new Map<string, Set<() => void>>();
  const waitingTopics = new Set<string>();
  const locks = new Set<HeldLock>();
  let client: pg.Client | undefined;
  let connecting: Promise<pg.Client> | undefined;
  let heartbeat: NodeJS.Timeout | undefined;
  let announcing: Promise<void> | undefined;
  let restoring: Promise<void> | undefined;
  const stopping = new AbortController();
  let lastQuery: Promise<unknown> = Promise.resolve();

  // The driver takes one query at a time.
  function query<Row extends pg.QueryResultRow>(
    on: pg.Client,
    text: string,
    values: readonly unknown[] = [],
  ): Promise<pg.QueryResult<Row>> {
    const result = lastQuery.then(() => on.query<Row>(text, [...values]));
    lastQuery = result.catch(() => {});
    return result;
  }

  function connected(): Promise<pg.Client> {
    if (stopping.signal.aborted) throw new PlatformError('PLATFORM_STORAGE_CLOSED', 'the storage is closed');
    if (client !== undefined) return Promise.resolve(client);
    return (connecting ??= open().finally(() => (connecting = undefined)));
  }

  async function open(): Promise<pg.Client> {
    const opened = await connect();
    // The driver reports a loss as an error and as an end, and the error twice; the first one counts.
    opened.once('end', () => lose(opened));
    opened.on('error', () => lose(opened));
    opened.on('notification', ({ payload, processId }) => {
      // This node's listeners were already notified.
      if (payload !== undefined && processId !== pidOf(opened)) notify(payload);
    });
    try {
      await translated(() => prepare(opened));
    } catch (error) {
      // A standby refuses LISTEN. Each further try would leave a connection with the server.
      opened.connection.stream.destroy();
      throw error;
    }
    client = opened;
    heartbeat = setInterval(() => void query(opened, 'select 1').catch(() => lose(opened)), heartbeatMs);
    heartbeat.unref();
    return opened;
  }

  async function prepare(on: pg.Client): Promise<void> {
    await query(on, `select ${keepAlive}`);
    // The system of a stopped process still acknowledges keepalives.
    await query(
      on,
      `select set_config(name, $1, false) from pg_settings where name = 'idle_session_timeout'`,
      [`${silentMs}ms`],
    );
    await query(on, `listen ${channel}`);
  }

  function lose(lost: pg.Client): void {
    if (client !== lost) return;
    client = undefined;
    clearInterval(heartbeat);
    // Its locks must not stay with the server in any state.
    lost.connection.stream.destroy();
    for (const lock of locks) lock.isHeld = false;
    locks.clear();
    if (stopping.signal.aborted) return;
    onProblem('the connection for locks and notifications was lost');
    if (listeners.size > 0) restoring ??= restore(true).finally(() => (restoring = undefined));
  }

  async function restore(wasLost: boolean): Promise<void> {
    for (let pauseMs = 100; !stopping.signal.aborted; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      try {
        await connected();
        // Announcements may have been missed.
        if (wasLost) for (const topic of listeners.keys()) notify(topic);
        return;
      } catch {
        await sleep(pauseMs, undefined, { signal: stopping.signal, ref: false }).catch(() => {});
      }
    }
  }

  function notify(topic: string): void {
    for (const listener of listeners.get(topic) ?? []) listener();
  }

  async function sendAnnouncements(): Promise<void> {
    for (;;) {
      if (waitingTopics.size === 0) {
        announcing = undefined;
        return;
      }
      const topics = [...waitingTopics];
      waitingTopics.clear();
      try {
        const sender = await connected();
        await query(sender, 'select pg_notify($1, topic) from unnest($2::text[]) as topic', [
          channel,
          topics,
        ]);
      } catch {
        // A hint only: other nodes look by themselves, and after a lost connection all are woken.
      }
      await sleep(announceEveryMs, undefined, { signal: stopping.signal }).catch(() => {});
    }
  }

  return {
    async tryLock(kind, name) {
      const on = await connected();
      const key = advisoryKey(kind, name);
      const { rows } = await translated(() =>
        query<{ locked: number }>(on, 'select pg_try_advisory_lock($1) as locked', [key]),
      ).catch((error: unknown) => {
        // The answer may still come: nobody would release that lock.
        if (isConnectionLost(error)) lose(on);
        throw error;
      });
      if (rows[0]?.locked !== 1) return undefined;
      const lock: HeldLock = { isHeld: client === on };
      if (lock.isHeld) locks.add(lock);
      return {
        get isHeld() {
          return lock.isHeld;
        },
        release: async () => {
          if (!locks.delete(lock)) return;
          lock.isHeld = false;
          // If this fails, the connection is lost, and the lock with it.
          await query(on, 'select pg_advisory_unlock($1)', [key]).catch(() => lose(on));
        },
      };
    },
    announce(topic) {
      notify(topic);
      waitingTopics.add(topic);
      announcing ??= sendAnnouncements();
    },
    onAnnounced(topic, listener) {
      const known = listeners.get(topic) ?? new Set();
      listeners.set(topic, known.add(listener));
      if (client === undefined) restoring ??= restore(false).finally(() => (restoring = undefined));
      return () => void known.delete(listener);
    },
    async close() {
      // The last announcement is still sent.
      await announcing;
      stopping.abort();
      await restoring;
      await connecting?.catch(() => {});
      const closing = client;
      client = undefined;
      clearInterval(heartbeat);
      if (closing === undefined) return;
      const { stream } = closing.connection;
      // A server that says nothing would keep it open.
      const timer = setTimeout(() => stream.destroy(), endMs);
      await closing.end().catch(() => {});
      clearTimeout(timer);
    },
  };
}

function pidOf(client: pg.Client): number | undefined {
  return (client as pg.Client & { readonly processID?: number }).processID;
}
