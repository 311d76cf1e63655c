import { randomUUID } from 'node:crypto';
import { PlatformError } from '../errors.ts';
import type { Storage } from '../storage/storage.ts';

/** The columns of a table whose rows are leased by one node at a time. */
export interface LeaseColumns {
  id: string;
  /** Token of the lease: new for each claim, because a node can race itself. Null without a lease. */
  lease_token: string | null;
  /** By `Storage.clock`, in milliseconds; 0 without a lease. */
  lease_until: number;
}

/** A row in progress. */
export interface Leased {
  readonly id: string;
  readonly token: string;
}

/**
 * Settings of the leases of one table. Every change of a leased row names the token, so that a node that lost
 * the lease changes nothing.
 */
export interface Leases {
  /** For rows that this node stores and starts at once: their first lease is part of the insert. */
  begin(): Pick<LeaseColumns, 'lease_token' | 'lease_until'> & { readonly lease_token: string };
  /**
   * Runs a claim, which sets a new lease. If it fails, rows may have the lease although nobody works on them,
   * because the answer of the database was lost: the next claim releases them first.
   */
  claim<R>(work: (lease: ReturnType<Leases['begin']>) => Promise<R>): Promise<R>;
  /** The row is not leased. */
  readonly free: { readonly lease_token: null; readonly lease_until: 0 };
  /** Renews the held leases. Returns the lost ids: claimed by another node, or deleted. */
  renew(held: readonly Leased[]): Promise<readonly string[]>;
  /** Releases rows without having processed them. */
  release(held: readonly Leased[], nextAttemptAt?: number): Promise<void>;
  /**
   * Releases leases of previous runs of this node, so that no row waits for the lease of a process that has
   * ended; and what was changed in the database so that it would wait for ever: a lease of more than a week,
   * work that is due in more than two years. No setting allows a lease of more than a day or a wait of more
   * than a year, so that a node with other settings loses nothing.
   */
  releaseFormer(): Promise<void>;
}

export interface LeaseOptions {
  readonly storage: Storage;
  /** A table with the columns of {@link LeaseColumns} and `next_attempt_at`. */
  readonly table: string;
  /** Lease time of a row without a renewal by its node. */
  readonly leaseMs: number;
  /**
   * Each claim counts in the column `attempts`, before the work begins; a row that is released unprocessed
   * gets that back.
   */
  readonly countsClaims?: boolean;
}

interface AnyLeaseTable {
  work: LeaseColumns & { next_attempt_at: number; attempts: number };
}

const dayMs = 86_400_000;
const mostLeaseMs = 7 * dayMs;
const mostWaitMs = 2 * 366 * dayMs;

/** Rows per renewal statement; SQLite and PostgreSQL both limit the number of parameters. */
const maxPerStatement = 500;

export function createLeases({ storage, table, leaseMs, countsClaims = false }: LeaseOptions): Leases {
  const name = table as 'work';
  const until = (): number => storage.clock.now().getTime() + leaseMs;
  const ofNode = `${storage.run.nodeId}/`;
  const ofRun = `${ofNode}${storage.run.runId}/`;
  const lostTokens = new Set<string>();
  const begin = () => ({ lease_token: `${ofRun}${randomUUID()}`, lease_until: until() });

  /** Rows that are released unprocessed. */
  const freeing = () =>
    storage
      .tables<AnyLeaseTable>()
      .updateTable(name)
      .set({ lease_token: null, lease_until: 0 })
      .$if(countsClaims, (query) => query.set((eb) => ({ attempts: eb('attempts', '-', 1) })));

  async function releaseLost(): Promise<void> {
    const tokens = [...lostTokens];
    if (tokens.length === 0) return;
    await freeing().where('lease_token', 'in', tokens).execute();
    for (const token of tokens) lostTokens.delete(token);
  }

  return {
    free: { lease_token: null, lease_until: 0 },
    begin,
    async claim(work) {
      await releaseLost();
      const lease = begin();
      try {
        return await work(lease);
      } catch (error) {
        lostTokens.add(lease.lease_token);
        throw error;
      }
    },
    async renew(held) {
      const lost: string[] = [];
      for (const some of inChunks(held)) {
        const kept = await storage
          .tables<AnyLeaseTable>()
          .updateTable(name)
          .set({ lease_until: until() })
          .where(
            'id',
            'in',
            some.map(({ id }) => id),
          )
          .where('lease_token', 'in', [...new Set(some.map(({ token }) => token))])
          .returning('id')
          .execute();
        const ids = new Set(kept.map(({ id }) => id));
        lost.push(...some.filter(({ id }) => !ids.has(id)).map(({ id }) => id));
      }
      return lost;
    },
    async releaseFormer() {
      await storage
        .tables<AnyLeaseTable>()
        .updateTable(name)
        .set({ lease_token: null, lease_until: 0 })
        .where('lease_token', '>=', ofNode)
        .where('lease_token', '<', `${ofNode}\u{7f}`)
        .where('lease_token', 'not like', `${ofRun}%`)
        .execute();
      const nowMs = storage.clock.now().getTime();
      await storage
        .tables<AnyLeaseTable>()
        .updateTable(name)
        .set({ lease_token: null, lease_until: 0 })
        .where('lease_until', '>', nowMs + mostLeaseMs)
        .execute();
      await storage
        .tables<AnyLeaseTable>()
        .updateTable(name)
        .set({ next_attempt_at: nowMs })
        .where('next_attempt_at', '>', nowMs + mostWaitMs)
        .execute();
    },
    async release(held, nextAttemptAt) {
      for (const some of inChunks(held))
        await freeing()
          .$if(nextAttemptAt !== undefined, (query) => query.set({ next_attempt_at: nextAttemptAt }))
          .where(
            'id',
            'in',
            some.map(({ id }) => id),
          )
          .where('lease_token', 'in', [...new Set(some.map(({ token }) => token))])
          .execute();
    },
  };
}

function* inChunks<T>(items: readonly T[]): Iterable<readonly T[]> {
  for (let start = 0; start < items.length; start += maxPerStatement)
    yield items.slice(start, start + maxPerStatement);
}

/**
 * Requires that a statement which named the lease's token changed its row. Throws PLATFORM_LEASE_LOST, which
 * rolls back everything else that the transaction wanted to write.
 */
export function requireLease(changedRows: number | bigint, id: string): void {
  if (Number(changedRows) > 0) return;
  throw new PlatformError('PLATFORM_LEASE_LOST', `the lease on ${id} was lost; nothing was written`);
}

export function isLeaseLost(error: unknown): boolean {
  return error instanceof PlatformError && error.code === 'PLATFORM_LEASE_LOST';
}
