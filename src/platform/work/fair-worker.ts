/**
 * Work as rows with a time and a lease: workers, fair shares, nodes, one process for a data folder.
 * Used by `platform`; others by its `index.ts`.
 * Begin with `startFairWorker` here, where parties share slots (Decision 0023); `start-rounds.ts` for plain
 * work at intervals.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { errorCode, type Closable, type Log } from '../../core/index.ts';
import { createFaultLog } from './fault-log.ts';
import { isLeaseLost, type Leases } from './leases.ts';
import { createNap } from './nap.ts';
import {
  createParties,
  isBackingOff,
  type AttemptVerdict,
  type FairItem,
  type FairLimits,
  type Party,
} from './parties.ts';

// The loop must not inherit the asynchronous context (a transaction's mark) of its caller.
const withoutContext = AsyncLocalStorage.snapshot();

export interface FairWorkerOptions<Item extends FairItem> {
  /** For the log. */
  readonly name: string;
  readonly limits: FairLimits;
  readonly leases: Omit<Leases, 'claim'>;
  /** Renewals happen three times in this time. */
  readonly leaseMs: number;
  /**
   * Takes up to `limit` due items by lease in one statement, oldest first, none of the parties in `excluded`
   * and of the groups in `excludedGroups`, which have enough in progress, and of no other parties than those
   * in `only`, if that is given (with `isSlowUntilAnswered` alone). An empty list means that nothing else is
   * due.
   */
  readonly claim: (
    limit: number,
    excluded: readonly string[],
    excludedGroups: readonly string[],
    only?: readonly string[],
  ) => Promise<readonly Item[]>;
  /**
   * Works on one item and stores the result under its lease. Errors are logged; the lease then expires.
   * `freeBytes` tells that its memory is free already.
   */
  readonly handle: (item: Item, freeBytes: () => void) => Promise<AttemptVerdict>;
  /** Time of the next attempt for a party that is backing off, by `Storage.clock`. */
  readonly dueAfter: (ms: number) => number;
  /** Longest sleep when nothing is due. */
  readonly idleMs: number;
  readonly log: Log;
}

/**
 * Shares slots fairly among parties: the next item is of the party that was served longest ago among those
 * with fewer than their share in progress; of one party the oldest first. Parties that were slow or failing
 * recently share a few separate slots, and one that only fails is not tried for a while (Decision 0023).
 * Leases are renewed as long as an item is held, and a node never claims an item again that it holds.
 */
export interface FairWorker<Item extends FairItem> extends Closable {
  /** True if an item of this party, stored now with a lease, would be started from memory. */
  hasRoom(party: string, group?: string): boolean;
  /**
   * Takes an item that was stored with a lease of this node. Call it once the item's transaction has
   * committed.
   */
  offer(item: Item): void;
  /** Looks for due items at once. Cheap. */
  wake(): void;
  /** Ends the back-off of a party, for an operator who knows that it is reachable again. */
  resume(party: string): void;
  /** Ends the back-off of a party that seems reachable again, for one attempt that decides. */
  reopen(party: string): void;
  /** Parties that are left alone at present, and for how long. */
  backingOff(): readonly { readonly party: string; readonly forMs: number }[];
  readonly held: number;
}

/** While a party has items in memory, other due items are claimed at this interval. */
const claimEveryMs = 20;
/**
 * The same while others than parties that answer have no room in memory: the statement names up to a thousand
 * parties.
 */
const claimNamedEveryMs = 100;

export function startFairWorker<Item extends FairItem>(options: FairWorkerOptions<Item>): FairWorker<Item> {
  const { limits, leases, log, name } = options;
  const faults = createFaultLog(name, log);
  const parties = createParties<Item>(limits);
  const held = new Map<string, Item>();
  const claimedAgain = new Set<string>();
  const running = new Set<Promise<void>>();
  let isClosing = false;
  const nap = createNap(options.idleMs);
  // The rest after the last claim: all due items, or only more of parties that had enough in progress.
  let isMoreDue = true;
  let skipped: ReadonlySet<string> = new Set();
  let skippedGroups: ReadonlySet<string> = new Set();
  let isOnlyNamed = false;
  let claimedAt = -Infinity;
  let waking: NodeJS.Timeout | undefined;

  function start(party: Party<Item>, item: Item): void {
    const work = attempt(party, item).then(async () => {
      // In one turn, so that a claim either finds the item held or takes it as a new one.
      held.delete(item.id);
      if (claimedAgain.delete(item.id)) await safely('release', () => leases.release([item]));
      running.delete(work);
      useFreeSlot(party);
    });
    running.add(work);
  }

  /** The party has freed a slot. */
  function useFreeSlot(party: Party<Item>): void {
    run();
    // The waiting items did not fit into memory. A claim that finds nothing would cost a statement per item.
    if (isMoreDue || isOnlyNamed || skipped.has(party.name) || skippedGroups.has(party.group.name ?? ''))
      wakeSoon(party);
  }

  async function attempt(party: Party<Item>, item: Item): Promise<void> {
    const startedAt = performance.now();
    parties.begin(party, item, startedAt);
    let verdict: AttemptVerdict = 'untried';
    try {
      verdict = await options.handle(item, () => {
        if (parties.freeBytes(party, item.id)) run();
      });
    } catch (error) {
      if (isLeaseLost(error)) log.warn({ worker: name, id: item.id }, 'a lease was lost; nothing was stored');
      else log.error({ worker: name, code: errorCode(error), error }, 'an item could not be handled');
    } finally {
      parties.end(party, item.id, verdict, performance.now());
    }
    if (isBackingOff(party, performance.now())) await releaseParty(party);
  }

  /** Items in memory of a party that is backing off return to the table. */
  async function releaseParty(party: Party<Item>): Promise<void> {
    const dueAt = options.dueAfter(Math.ceil(Math.max(0, party.backOffUntil - performance.now())));
    await releaseItems(parties.takeWaiting(party), dueAt);
  }

  async function releaseItems(items: readonly Item[], nextAttemptAt: number | undefined): Promise<void> {
    if (items.length === 0) return;
    for (const { id } of items) held.delete(id);
    await safely('release', () => leases.release(items, nextAttemptAt));
  }

  /** Starts all that may be started. */
  function run(): void {
    if (isClosing) return;
    const now = performance.now();
    for (let next = parties.next(now); next !== undefined; next = parties.next(now))
      start(next.party, next.item);
  }

  async function loop(): Promise<void> {
    await Promise.resolve();
    await safely('release leases of a former run', () => leases.releaseFormer());
    while (!isClosing) {
      nap.begin();
      const isMore = await claimSome();
      run();
      if (!isMore && !isClosing) await nap.sleep();
    }
  }

  /** True if more may be due. */
  async function claimSome(): Promise<boolean> {
    const { limit, excluded, only } = parties.claimable(performance.now());
    if (limit <= 0) {
      isMoreDue = true;
      return false;
    }
    const groups = parties.excludedGroups();
    claimedAt = performance.now();
    const items = await safely('claim', () => options.claim(limit, excluded, groups, only));
    isOnlyNamed = only !== undefined;
    skipped = new Set(excluded);
    skippedGroups = new Set(groups);
    const excess: Item[] = [];
    for (const item of items ?? []) {
      const known = held.get(item.id);
      // Either the process stood still for longer than its lease, and the attempt continues under the new
      // one, not twice; or the attempt has just stored its result, and the row is released when it ends.
      if (known !== undefined) {
        known.token = item.token;
        claimedAgain.add(item.id);
        continue;
      }
      held.set(item.id, item);
      if (!parties.addClaimed(item)) excess.push(item);
    }
    if (excess.length > 0) {
      run();
      await releaseItems(excess, undefined);
    }
    isMoreDue = items === undefined || items.length >= limit || excess.length > 0;
    return items !== undefined && isMoreDue;
  }

  async function safely<R>(what: string, work: () => Promise<R>): Promise<R | undefined> {
    try {
      const result = await work();
      faults.worked(what);
      return result;
    } catch (error) {
      faults.failed(what, error);
      return undefined;
    }
  }

  async function renew(): Promise<void> {
    const lost = await safely('renew leases', () => leases.renew([...held.values()]));
    for (const id of lost ?? []) {
      const item = held.get(id);
      if (item === undefined) continue;
      // One that is being worked on finds out when it stores its result.
      if (parties.dropWaiting(item)) held.delete(id);
    }
  }

  function wake(): void {
    clearTimeout(waking);
    waking = undefined;
    nap.wake();
  }

  /**
   * A claim for each slot that becomes free would cost every item of a backlog a statement, so one fills
   * several.
   */
  function wakeSoon(party: Party<Item>): void {
    const leftMs = claimedAt + (isOnlyNamed ? claimNamedEveryMs : claimEveryMs) - performance.now();
    if ((party.waiting.length === 0 && !isOnlyNamed) || leftMs <= 0) wake();
    else waking ??= setTimeout(wake, leftMs);
  }

  return withoutContext(() => {
    const renewing = setInterval(() => void (held.size > 0 && renew()), options.leaseMs / 3);
    // A party that turns slow while an attempt is running gives its ordinary slots back.
    const watching = setInterval(
      () => {
        if (!parties.watch(performance.now())) return;
        releaseItems(parties.takeExcess(), undefined).then(wake, wake);
        run();
      },
      Math.max(20, limits.slowAfterMs / 4),
    );
    renewing.unref();
    watching.unref();
    const done = loop();
    return {
      hasRoom(party, group) {
        const isRoom = !isClosing && parties.hasRoom(party, performance.now(), group);
        // An item stored without a lease is claimed when an item in progress ends.
        if (!isRoom) isMoreDue = true;
        return isRoom;
      },
      offer(item) {
        withoutContext(() => {
          if (isClosing) return void safely('release', () => leases.release([item]));
          held.set(item.id, item);
          parties.add(item);
          run();
        });
      },
      wake,
      resume(party) {
        parties.resume(party);
        wake();
      },
      reopen(party) {
        parties.reopen(party);
        wake();
      },
      backingOff: () => parties.backingOff(performance.now()),
      get held() {
        return held.size;
      },
      async close() {
        isClosing = true;
        wake();
        clearInterval(watching);
        await done;
        const waiting = parties.takeAllWaiting();
        for (const { id } of waiting) held.delete(id);
        await safely('release', () => leases.release(waiting));
        await Promise.all(running);
        clearInterval(renewing);
      },
    };
  });
}
