import { createGrowingCache } from '../../core/index.ts';
import type { Leased } from './leases.ts';

/** One work item in progress and its party. */
export interface FairItem extends Leased {
  /** Replaced when this node claims an item again that it still works on, after the lease expired. */
  token: string;
  /** Among whom the slots are shared: a destination, a peer, a webhook. */
  readonly party: string;
  /**
   * Several parties that share their own limit: the webhooks of one client. Always the same for one party.
   */
  readonly group?: string;
  /** Memory that its attempt takes; 0 by default. */
  readonly bytes?: number;
}

/**
 * Result of an item's attempt, as it affects its party's share. `failing` is for an unreachable party;
 * `untried` says nothing about it.
 */
export type AttemptVerdict = 'ok' | 'failing' | 'untried';

export interface FairLimits {
  /** Items worked on at once, for parties that answer in time. */
  readonly slots: number;
  /** Slots of one party. */
  readonly share: number;
  /** Slots, on top, for all parties together that do not answer in time, or did not recently. */
  readonly slowSlots: number;
  /** Slots of one such party that has answered since it became slow; of any other one. */
  readonly slowShare: number;
  /** A party uses the slow slots until it has answered for the first time. */
  readonly isSlowUntilAnswered?: boolean;
  /**
   * Memory of all attempts with `bytes` in the slots, and in the slow ones. One that needs more runs alone.
   * Unlimited if omitted.
   */
  readonly maxBytes?: number;
  readonly slowMaxBytes?: number;
  /** Slots of one group, and of its slow parties among the slow slots; unlimited if omitted. */
  readonly groupShare?: number;
  readonly slowGroupShare?: number;
  /** An attempt that takes longer makes its party slow, already while it is running. */
  readonly slowAfterMs: number;
  /** Items held in memory beyond those that are worked on. */
  readonly waiting: number;
  /** Attempts in a row that fail before a party is left alone for a while. */
  readonly failuresBeforeBackOff: number;
  /** The first back-off; doubled each time, up to `maxBackOffMs`. */
  readonly backOffMs: number;
  readonly maxBackOffMs: number;
}

const smallBytes = 256 * 1024;
const copiesOfContent = 2.5;

/**
 * Memory of an attempt at a message of this size, which is there twice: plain, and sealed (base64), stored or
 * as JSON. Small ones are bounded by the slots.
 */
export function memoryOfContent(sizeBytes: number): number {
  return sizeBytes > smallBytes ? sizeBytes * copiesOfContent : 0;
}

/** `working`: it answers in time. `slow`: it does not, or did not recently, or was never asked. */
type Lane = 'working' | 'slow';

const perLane = <Value>(make: () => Value): Record<Lane, Value> => ({ working: make(), slow: make() });

/** Items, and bytes of memory that attempts hold. */
interface Counts {
  running: number;
  waiting: number;
  bytes: number;
}

const noCounts = (): Counts => ({ running: 0, waiting: 0, bytes: 0 });

/**
 * Parties that share a limit, and take turns with other groups. A party without a group takes its turns
 * alone.
 */
interface Group<Item> {
  readonly name: string | undefined;
  /** The one served longest ago first. */
  readonly parties: Set<Party<Item>>;
  readonly counts: Record<Lane, Counts>;
}

/** An item for which there was no memory, and since when. */
interface Passed<Item> {
  readonly party: Party<Item>;
  readonly item: Item;
  readonly since: number;
}

/** One destination, peer or webhook, and its items in progress on this node. */
export interface Party<Item> {
  readonly name: string;
  readonly group: Group<Item>;
  /** Oldest first. */
  readonly waiting: Item[];
  /** Attempts by item id: when they began, and the memory that they still hold. */
  readonly running: Map<string, { readonly startedAt: number; bytes: number }>;
  /** Kept out by the memory of the party itself. */
  passed?: Passed<Item> | undefined;
  lane: Lane;
  /** Since it left the working lane. */
  hasAnswered: boolean;
  /** Time of its last slow or failing result. */
  slowAt: number;
  failures: number;
  /** How often it backed off since its last success. */
  backOffs: number;
  backOffUntil: number;
}

export const isBackingOff = ({ backOffUntil }: Pick<Party<unknown>, 'backOffUntil'>, now: number): boolean =>
  backOffUntil > now;

/** What the next claim may bring. */
export interface Claimable {
  readonly limit: number;
  /** Parties of which nothing more may be claimed. */
  readonly excluded: readonly string[];
  /** Set if others have no room in memory: parties that answer. */
  readonly only?: readonly string[];
}

/** Names in one claim: each is a parameter of its statement. */
const maxNamed = 1_000;
/** Parties that one claim leaves out: so many cost some 15 ms. */
const maxExcluded = 10_000;
/** A party is slow for this long after its last slow or failed attempt. */
const slowForMs = 60_000;
/**
 * A party without work is forgotten when its last failure is older: than the usual waits between attempts, an
 * hour at most.
 */
const rememberedForMs = 2 * 3_600_000;
/** Names of parties that have answered; of one that is forgotten, the next attempt is made alone. */
const maxAnswered = 10_000;
/** Otherwise smaller items that keep coming would keep a large one out without end. */
const passedForMs = 10_000;

/**
 * The order in which parties are served, the lane of each and what may be claimed (Decision 0023). Times are
 * monotonic milliseconds.
 */
export function createParties<Item extends FairItem>(limits: FairLimits) {
  const { isSlowUntilAnswered = false } = limits;
  const slots = { working: limits.slots, slow: limits.slowSlots };
  const maxBytes = { working: limits.maxBytes ?? Infinity, slow: limits.slowMaxBytes ?? Infinity };
  const groupShares = { working: limits.groupShare ?? Infinity, slow: limits.slowGroupShare ?? Infinity };
  // However many parties do not answer, those that do have half of the memory at least.
  const slowQuota = Math.max(1, Math.floor(limits.waiting / 2));
  // Half of that is for items that are offered: one that is stored now does not wait for a backlog of parties
  // that never answer.
  const slowBacklogQuota = Math.ceil(slowQuota / 2);

  const parties = new Map<string, Party<Item>>();
  const groups = new Map<string, Group<Item>>();
  /** Groups of which something waits, the one served longest ago first: a Set keeps the order of adding. */
  const queue = new Set<Group<Item>>();
  const all = perLane(noCounts);
  const answered = createGrowingCache<true>(maxAnswered);
  /**
   * Of the working lane, kept out by the memory of others. In the slow lane attempts may hold theirs for
   * minutes: no party waits for another there.
   */
  let passed: Passed<Item> | undefined;

  const firstLaneOf = (name: string): Lane =>
    isSlowUntilAnswered && answered.get(name) !== true ? 'slow' : 'working';
  const waitingOf = ({ working, slow }: Record<Lane, Counts>): number => working.waiting + slow.waiting;
  const freeSlots = (lane: Lane): number => Math.max(0, slots[lane] - all[lane].running);
  const isGroupFull = ({ counts }: Group<Item>): boolean => waitingOf(counts) >= groupShares.working * 4;
  const quotaOf = (party: Party<Item>): number => shareOf(party) * 4;
  const isFull = (party: Party<Item>, now: number): boolean =>
    isBackingOff(party, now) || party.waiting.length >= quotaOf(party);
  const bytesOf = ({ running }: Party<Item>): number =>
    [...running.values()].reduce((sum, { bytes }) => sum + bytes, 0);

  function get({ party: name, group: groupName }: Item): Party<Item> {
    const known = parties.get(name);
    if (known !== undefined) return known;
    const party: Party<Item> = {
      name,
      group: getGroup(groupName),
      waiting: [],
      running: new Map(),
      lane: firstLaneOf(name),
      hasAnswered: false,
      slowAt: 0,
      failures: 0,
      backOffs: 0,
      backOffUntil: 0,
    };
    parties.set(name, party);
    party.group.parties.add(party);
    return party;
  }

  function getGroup(name: string | undefined): Group<Item> {
    const known = name === undefined ? undefined : groups.get(name);
    if (known !== undefined) return known;
    const group: Group<Item> = { name, parties: new Set(), counts: perLane(noCounts) };
    if (name !== undefined) groups.set(name, group);
    return group;
  }

  function dropIfIdle(party: Party<Item>, now: number): void {
    if (!mayBeDropped(party, now)) return;
    const { group } = party;
    parties.delete(party.name);
    group.parties.delete(party);
    if (group.parties.size === 0 && group.name !== undefined) groups.delete(group.name);
  }

  /** Kept is one without work only while its past matters. */
  function mayBeDropped(party: Party<Item>, now: number): boolean {
    if (party.waiting.length > 0 || party.running.size > 0) return false;
    // One that has not answered since it failed takes no slots of those that answer.
    const isForgiven = party.failures === 0 || !isSlowUntilAnswered;
    if (party.lane === 'slow' && isForgiven && party.slowAt > 0 && now - party.slowAt > slowForMs)
      setLane(party, 'working');
    // Otherwise each destination that ever failed would stay here, and be looked at for each claim.
    const isForgotten = now - party.slowAt > rememberedForMs;
    const hasPast = party.slowAt > 0 || party.failures > 0;
    const isRemembered = hasPast && (party.lane === 'slow' || party.failures > 0) && !isForgotten;
    return !isRemembered && !isBackingOff(party, now);
  }

  function count({ lane, group }: Party<Item>, what: keyof Counts, change: number): void {
    all[lane][what] += change;
    group.counts[lane][what] += change;
  }

  /** Moves a party with all that it has in progress. */
  function setLane(party: Party<Item>, lane: Lane): void {
    if (party.lane === lane) return;
    const own = { running: party.running.size, waiting: party.waiting.length, bytes: bytesOf(party) };
    const kinds = ['running', 'waiting', 'bytes'] as const;
    for (const what of kinds) count(party, what, -own[what]);
    party.lane = lane;
    for (const what of kinds) count(party, what, own[what]);
  }

  function add(party: Party<Item>, item: Item): void {
    party.waiting.push(item);
    count(party, 'waiting', 1);
    queue.add(party.group);
  }

  function takeWaiting(party: Party<Item>, from = 0): readonly Item[] {
    const taken = party.waiting.splice(from);
    count(party, 'waiting', -taken.length);
    return taken;
  }

  function shareOf(party: Party<Item>): number {
    if (party.lane === 'working') return limits.share;
    // One that may be a party that never answers has one attempt.
    return isSlowUntilAnswered && !party.hasAnswered ? 1 : limits.slowShare;
  }

  function mayStart(party: Party<Item>, now: number): boolean {
    const { lane, group, running } = party;
    if (party.waiting.length === 0 || isBackingOff(party, now) || freeSlots(lane) === 0) return false;
    // After a back-off one attempt decides about all others.
    if (party.backOffs > 0 && running.size > 0) return false;
    if (group.name !== undefined && group.counts[lane].running >= groupShares[lane]) return false;
    return running.size < shareOf(party);
  }

  /** Undefined if it has begun, was taken away, or waits in another lane. */
  const ifWaiting = (one: Passed<Item> | undefined, lane: Lane): Passed<Item> | undefined =>
    one?.party.lane === lane && one.party.waiting.includes(one.item) ? one : undefined;

  /**
   * True if there is memory for the item: small ones do not wait for large ones of their party. One that
   * needs more than there is at all runs alone; a party with others leaves half of the memory. Once one has
   * been passed by for some time, no other that takes memory begins: of its party, or of the lane.
   */
  function fits(party: Party<Item>, item: Item, now: number): boolean {
    const { bytes = 0 } = item;
    const { lane } = party;
    if (bytes === 0) return true;
    passed = ifWaiting(passed, 'working');
    party.passed = ifWaiting(party.passed, lane);
    // One of them alone, or two could wait for each other.
    const next = [lane === 'working' ? passed : undefined, party.passed].find(
      (one) => one !== undefined && now - one.since > passedForMs,
    );
    if (next !== undefined && next.item !== item) return false;
    const [own, most] = [bytesOf(party), maxBytes[lane]];
    const others = all[lane].bytes - own;
    if (others > 0 && others + bytes > most) {
      if (lane === 'working') passed ??= { party, item, since: now };
      return false;
    }
    if (own === 0 || own + bytes <= Math.min(most / 2, most - others)) return true;
    party.passed ??= { party, item, since: now };
    return false;
  }

  /** The attempt needs its memory no longer. True if it had some. */
  function freeBytes(party: Party<Item>, id: string): boolean {
    const attempt = party.running.get(id);
    if (attempt === undefined || attempt.bytes === 0) return false;
    count(party, 'bytes', -attempt.bytes);
    attempt.bytes = 0;
    return true;
  }

  /** After an attempt that took too long so far, or was to no avail. */
  function noteSlow(party: Party<Item>, now: number): void {
    party.slowAt = now;
    answered.delete(party.name);
    if (party.lane === 'working') party.hasAnswered = false;
    setLane(party, 'slow');
  }

  function noteFailure(party: Party<Item>, now: number): void {
    party.failures++;
    noteSlow(party, now);
    party.hasAnswered = false;
    // Items that were in progress when the back-off began do not extend it.
    if (party.failures < limits.failuresBeforeBackOff || isBackingOff(party, now)) return;
    party.backOffUntil = now + Math.min(limits.backOffMs * 2 ** party.backOffs, limits.maxBackOffMs);
    party.backOffs++;
    // One attempt decides whether the next back-off begins.
    party.failures = limits.failuresBeforeBackOff - 1;
  }

  function noteSuccess(party: Party<Item>, tookMs: number, now: number): void {
    endBackOff(party);
    // An answer in time is the best sign that there is no need for the slow slots.
    const isQuick = party.slowAt === 0 || tookMs < limits.slowAfterMs / 4;
    if (tookMs > limits.slowAfterMs) noteSlow(party, now);
    else if (party.lane === 'slow' && (isQuick || now - party.slowAt > slowForMs)) {
      answered.set(party.name, true);
      setLane(party, 'working');
    }
    party.hasAnswered = true;
  }

  /** Those that have answered last, except those with enough in memory. */
  function listAnswering(now: number): string[] {
    const names: string[] = [];
    for (const name of answered.keys()) {
      const party = parties.get(name);
      if (party === undefined || !isFull(party, now)) names.push(name);
      if (names.length === maxNamed) break;
    }
    return names;
  }

  return {
    add: (item: Item): void => add(get(item), item),
    /** False for an item that must go back to the table: a claim cannot limit those of one party. */
    addClaimed(item: Item): boolean {
      const party = get(item);
      if (party.lane === 'slow' && isSlowUntilAnswered && party.waiting.length >= quotaOf(party))
        return false;
      add(party, item);
      return true;
    },
    /** Removes and returns the item to start next; undefined if no slot is free for any party that waits. */
    next(now: number): { readonly party: Party<Item>; readonly item: Item } | undefined {
      if (freeSlots('working') + freeSlots('slow') === 0) return undefined;
      for (const group of queue) {
        if (waitingOf(group.counts) === 0) queue.delete(group);
        for (const party of group.parties) {
          if (!mayStart(party, now)) continue;
          const at = party.waiting.findIndex((item) => fits(party, item, now));
          if (at < 0) continue;
          const [item] = party.waiting.splice(at, 1) as [Item];
          count(party, 'waiting', -1);
          // Both have had their turn.
          queue.delete(group);
          queue.add(group);
          group.parties.delete(party);
          group.parties.add(party);
          return { party, item };
        }
      }
      return undefined;
    },
    begin(party: Party<Item>, { id, bytes = 0 }: Item, now: number): void {
      party.running.set(id, { startedAt: now, bytes });
      count(party, 'running', 1);
      count(party, 'bytes', bytes);
    },
    freeBytes,
    end(party: Party<Item>, id: string, verdict: AttemptVerdict, now: number): void {
      const startedAt = party.running.get(id)?.startedAt ?? now;
      freeBytes(party, id);
      party.running.delete(id);
      count(party, 'running', -1);
      if (verdict === 'failing') noteFailure(party, now);
      else if (verdict === 'ok') noteSuccess(party, now - startedAt, now);
      dropIfIdle(party, now);
    },
    /** Marks parties whose running attempts take too long. True if slots became free by it. */
    watch(now: number): boolean {
      let isFreed = false;
      for (const party of parties.values()) {
        if ([...party.running.values()].some(({ startedAt }) => now - startedAt > limits.slowAfterMs)) {
          isFreed ||= party.lane === 'working';
          noteSlow(party, now);
        }
        dropIfIdle(party, now);
      }
      return isFreed;
    },
    /** Removes the items of slow parties that exceed their share of memory, so that others have room. */
    takeExcess(): readonly Item[] {
      // Most slow parties that are remembered have nothing to do.
      const slow = [...parties.values()].filter((one) => one.lane === 'slow' && one.waiting.length > 0);
      const quota = Math.max(1, Math.floor(slowQuota / slow.length));
      let room = slowQuota;
      return slow.flatMap((party) => {
        const taken = takeWaiting(party, Math.min(quotaOf(party), quota, room));
        room -= party.waiting.length;
        return taken;
      });
    },
    /** The items that may be claimed: how many, and of which parties. */
    claimable(now: number): Claimable {
      const free = freeSlots('working') + freeSlots('slow');
      // Of a backlog not one item per free slot, but as many as one party works on at once.
      const room = free === 0 ? 0 : Math.min(Math.max(free, limits.share), limits.waiting - waitingOf(all));
      if (room <= 0) return { limit: 0, excluded: [] };
      const isBacklogFull = all.slow.waiting >= slowBacklogQuota;
      const excluded = [...parties.values()]
        .filter((party) => isFull(party, now) || (isBacklogFull && party.lane === 'slow'))
        .map(({ name }) => name);
      // What else is due is of parties that are not known: no more of them fits.
      if (isSlowUntilAnswered && (isBacklogFull || excluded.length > maxExcluded))
        return { limit: room, excluded: [], only: listAnswering(now) };
      const limit = isSlowUntilAnswered ? Math.min(room, slowBacklogQuota - all.slow.waiting) : room;
      return { limit, excluded };
    },
    /** Groups of which nothing more may be claimed. */
    excludedGroups: (): readonly string[] =>
      [...groups].filter(([, group]) => isGroupFull(group)).map(([name]) => name),
    /** True if an item that is stored now may be held. */
    hasRoom(name: string, now: number, groupName?: string): boolean {
      const [party, group] = [parties.get(name), groups.get(groupName ?? '')];
      if ((group !== undefined && isGroupFull(group)) || waitingOf(all) >= limits.waiting) return false;
      // Slow parties, however many, may use half of the memory for waiting items.
      if ((party?.lane ?? firstLaneOf(name)) === 'slow' && all.slow.waiting >= slowQuota) return false;
      return party === undefined || !isFull(party, now);
    },
    /** Ends a party's back-off. */
    resume(name: string): void {
      const party = parties.get(name);
      if (party !== undefined) endBackOff(party);
    },
    /** Ends a party's back-off for one attempt, which decides whether it backs off again. */
    reopen(name: string): void {
      const party = parties.get(name);
      if (party !== undefined) party.backOffUntil = 0;
    },
    backingOff: (now: number): readonly { readonly party: string; readonly forMs: number }[] =>
      [...parties.values()]
        .filter((party) => isBackingOff(party, now))
        .map(({ name, backOffUntil }) => ({ party: name, forMs: backOffUntil - now })),
    takeWaiting: (party: Party<Item>): readonly Item[] => takeWaiting(party),
    takeAllWaiting: (): readonly Item[] => [...parties.values()].flatMap((party) => takeWaiting(party)),
    /** True if it was waiting. */
    dropWaiting(item: Item): boolean {
      const party = parties.get(item.party);
      const at = party?.waiting.findIndex(({ id }) => id === item.id) ?? -1;
      if (party === undefined || at < 0) return false;
      party.waiting.splice(at, 1);
      count(party, 'waiting', -1);
      return true;
    },
  };
}

function endBackOff(party: Party<unknown>): void {
  party.backOffUntil = 0;
  party.backOffs = 0;
  party.failures = 0;
}
