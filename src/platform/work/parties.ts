import { createGrowingCache } from '../../core/index.ts';
import type { AttemptVerdict, FairItem, FairLimits } from './fair-items.ts';

/**
 * Where the attempts of a party count. `working`: it answers in time. `slow`: it does not, or did not
 * recently, or was never asked.
 */
type Lane = 'working' | 'slow';

/**
 * Parties that share a limit, and take turns with other groups. A party without a group takes its turns
 * alone.
 */
interface Group<Item> {
  readonly name: string | undefined;
  /** The one served longest ago first. */
  readonly parties: Set<Party<Item>>;
  /** Running attempts by lane. */
  readonly running: Record<Lane, number>;
  waiting: number;
}

/** One destination, peer or webhook, and its items in progress on this node. */
export interface Party<Item> {
  readonly name: string;
  readonly group: Group<Item>;
  /** Oldest first. */
  readonly waiting: Item[];
  /** Start times of running attempts, by item id. */
  readonly running: Map<string, number>;
  /** Memory of running attempts that still hold it, by item id. */
  readonly bytes: Map<string, number>;
  lane: Lane;
  /** Since it left the working lane. */
  hasAnswered: boolean;
  /** Time of its last slow or failing result. */
  slowAt: number;
  failures: number;
  rests: number;
  restUntil: number;
}

/** A party is slow for this long after its last slow or failed attempt. */
const slowForMs = 60_000;
/**
 * A party without work is forgotten when its last failure is older: than the usual waits between attempts, an
 * hour at most.
 */
const rememberedForMs = 2 * 3_600_000;
/** Names of parties that have answered; of one that is forgotten, the next attempt is made alone. */
const maxAnswered = 10_000;
/** Names in one claim: each is a parameter of its statement. */
const maxNamed = 1_000;
/** Parties that one claim leaves out: so many cost some 15 ms. */
const maxExcluded = 10_000;

const lanes = ['working', 'slow'] as const;

const perLane = <Value>(make: () => Value): Record<Lane, Value> => ({ working: make(), slow: make() });

/** What the next claim may bring. */
export interface Claimable {
  readonly limit: number;
  /** Parties of which nothing more may be claimed. */
  readonly excluded: readonly string[];
  /** Set if others have no room in memory: parties that answer. */
  readonly only?: readonly string[];
}

/** The order in which parties are served. Times are monotonic milliseconds. */
export interface Parties<Item extends FairItem> {
  add(item: Item): void;
  /**
   * Adds a claimed item. False if it must go back to the table: a claim cannot limit the items of one party.
   */
  addClaimed(item: Item): boolean;
  /** Removes and returns the item to start next; undefined if no slot is free for any party that waits. */
  next(now: number): { readonly party: Party<Item>; readonly item: Item } | undefined;
  begin(party: Party<Item>, item: Item, now: number): void;
  /** The attempt needs its memory no longer. True if it had some. */
  freeBytes(party: Party<Item>, id: string): boolean;
  end(party: Party<Item>, id: string, verdict: AttemptVerdict, now: number): void;
  /** Marks parties whose running attempts take too long. True if slots became free by it. */
  watch(now: number): boolean;
  /** Removes the items of slow parties that exceed their share of memory, so that other parties have room. */
  takeExcess(): readonly Item[];
  /** The items that may be claimed: how many, and of which parties. */
  claimable(now: number): Claimable;
  /** Groups of which nothing more may be claimed. */
  excludedGroups(): readonly string[];
  hasRoom(party: string, now: number, group?: string): boolean;
  isResting(party: Party<Item>, now: number): boolean;
  restLeftMs(party: Party<Item>, now: number): number;
  /** Ends a party's back-off. */
  resume(party: string): void;
  /** Ends a party's back-off for one attempt, which decides whether it backs off again. */
  reopen(party: string): void;
  resting(now: number): readonly { party: string; failures: number; forMs: number }[];
  takeWaiting(party: Party<Item>): readonly Item[];
  takeAllWaiting(): readonly Item[];
  /** True if it was waiting. */
  dropWaiting(item: Item): boolean;
}

export function createParties<Item extends FairItem>(limits: FairLimits): Parties<Item> {
  const parties = new Map<string, Party<Item>>();
  const groups = new Map<string, Group<Item>>();
  /**
   * By lane, the groups that may have something to start, the one served longest ago first (a Set keeps its
   * order of insertion). One that has nothing is removed when its turn comes, and is back when something of
   * it changes.
   */
  const ready = perLane(() => new Set<Group<Item>>());
  const { groupShare = Infinity, slowGroupShare = Infinity, isSlowUntilAnswered = false } = limits;
  const slots: Record<Lane, number> = { working: limits.slots, slow: limits.slowSlots };
  const maxBytes: Record<Lane, number> = {
    working: limits.maxBytes ?? Infinity,
    slow: limits.slowMaxBytes ?? Infinity,
  };
  const answered = createGrowingCache<true>(maxAnswered);
  const running = perLane(() => 0);
  const bytesIn = perLane(() => 0);
  const waitingIn = perLane(() => 0);
  // However many parties do not answer, those that do have half of the memory at least.
  const slowQuota = Math.max(1, Math.floor(limits.waiting / 2));
  // Half of that is for items that are offered: one that is stored now does not wait for a backlog of parties
  // that never answer.
  const slowBacklogQuota = Math.ceil(slowQuota / 2);

  function get({ party: name, group: groupName }: Item): Party<Item> {
    const known = parties.get(name);
    if (known !== undefined) return known;
    const group = getGroup(groupName);
    const party: Party<Item> = {
      name,
      group,
      waiting: [],
      running: new Map(),
      bytes: new Map(),
      lane: firstLaneOf(name),
      hasAnswered: false,
      slowAt: 0,
      failures: 0,
      rests: 0,
      restUntil: 0,
    };
    parties.set(name, party);
    group.parties.add(party);
    return party;
  }

  function getGroup(name: string | undefined): Group<Item> {
    const known = name === undefined ? undefined : groups.get(name);
    if (known !== undefined) return known;
    const group: Group<Item> = { name, parties: new Set(), running: perLane(() => 0), waiting: 0 };
    if (name !== undefined) groups.set(name, group);
    return group;
  }

  const firstLaneOf = (name: string): Lane =>
    isSlowUntilAnswered && answered.get(name) !== true ? 'slow' : 'working';

  function setLane(party: Party<Item>, lane: Lane): void {
    if (party.lane === lane) return;
    const bytes = bytesOf(party);
    countRunning(party, -party.running.size);
    bytesIn[party.lane] -= bytes;
    waitingIn[party.lane] -= party.waiting.length;
    party.lane = lane;
    waitingIn[lane] += party.waiting.length;
    bytesIn[lane] += bytes;
    countRunning(party, party.running.size);
  }

  const bytesOf = ({ bytes }: Party<Item>): number => [...bytes.values()].reduce((sum, one) => sum + one, 0);

  function countRunning({ lane, group }: Party<Item>, change: number): void {
    running[lane] += change;
    group.running[lane] += change;
  }

  function countWaiting({ lane, group }: Party<Item>, change: number): void {
    waitingIn[lane] += change;
    group.waiting += change;
  }

  /** The group gets a turn in each lane in which something of it waits. */
  function makeReady(group: Group<Item>): void {
    if (group.waiting === 0) return;
    for (const { waiting, lane } of group.parties) if (waiting.length > 0) ready[lane].add(group);
  }

  const isSlow = ({ lane }: Party<Item>): boolean => lane === 'slow';

  /** After an attempt that took too long so far, or was to no avail. */
  function noteSlow(party: Party<Item>, now: number): void {
    party.slowAt = now;
    answered.delete(party.name);
    if (!isSlow(party)) party.hasAnswered = false;
    setLane(party, 'slow');
  }

  function noteAnswer(party: Party<Item>): void {
    answered.set(party.name, true);
    setLane(party, 'working');
  }

  const isResting = (party: Party<Item>, now: number): boolean => party.restUntil > now;

  /** One that may be a party that never answers has one attempt. */
  function shareOf(party: Party<Item>): number {
    if (!isSlow(party)) return limits.share;
    return isSlowUntilAnswered && !party.hasAnswered ? 1 : limits.slowShare;
  }

  function mayStart(party: Party<Item>, now: number): boolean {
    if (party.waiting.length === 0 || isResting(party, now)) return false;
    // After a back-off one attempt decides about all others.
    if (party.rests > 0 && party.running.size > 0) return false;
    const { lane, group } = party;
    if (party.running.size >= shareOf(party)) return false;
    if (group.name !== undefined && group.running[lane] >= (isSlow(party) ? slowGroupShare : groupShare))
      return false;
    return findFitting(party) >= 0;
  }

  /**
   * The place of the oldest waiting item for which there is memory: small ones do not wait for large ones of
   * their party.
   */
  const findFitting = (party: Party<Item>): number =>
    party.waiting.findIndex(({ bytes = 0 }) => bytes === 0 || fits(party, bytes));

  /** One that needs more than there is at all runs alone; a party with others leaves half of the memory. */
  function fits(party: Party<Item>, bytes: number): boolean {
    const { lane } = party;
    const own = bytesOf(party);
    const isWithin = bytesIn[lane] === 0 || bytesIn[lane] + bytes <= maxBytes[lane];
    return isWithin && (own === 0 || own + bytes <= maxBytes[lane] / 2);
  }

  /** The party served longest ago, of the group served longest ago, in a lane with a free slot. */
  function findNext(now: number): Party<Item> | undefined {
    for (const lane of lanes) {
      if (running[lane] >= slots[lane]) continue;
      for (const group of ready[lane]) {
        for (const party of group.parties) if (party.lane === lane && mayStart(party, now)) return party;
        ready[lane].delete(group);
      }
    }
    return undefined;
  }

  function putLast(party: Party<Item>): void {
    const { group, lane } = party;
    group.parties.delete(party);
    group.parties.add(party);
    ready[lane].delete(group);
    ready[lane].add(group);
  }

  /** A party without work is kept only while its past matters. */
  function dropIfIdle(party: Party<Item>, now: number): void {
    if (party.waiting.length > 0 || party.running.size > 0) return;
    // One that has not answered since it failed takes no slots of those that answer.
    const isForgiven = party.failures === 0 || !isSlowUntilAnswered;
    if (isSlow(party) && isForgiven && party.slowAt > 0 && now - party.slowAt > slowForMs)
      setLane(party, 'working');
    // Otherwise each destination that ever failed would stay here, and be looked at for each claim.
    const isForgotten = now - party.slowAt > rememberedForMs;
    const hasPast = party.slowAt > 0 || party.failures > 0;
    if ((hasPast && (isSlow(party) || party.failures > 0) && !isForgotten) || isResting(party, now)) return;
    const { group } = party;
    parties.delete(party.name);
    group.parties.delete(party);
    if (group.parties.size > 0) return;
    for (const lane of lanes) ready[lane].delete(group);
    if (group.name !== undefined) groups.delete(group.name);
  }

  const quotaOf = (party: Party<Item>): number => shareOf(party) * 4;

  const isFull = (party: Party<Item>, now: number): boolean =>
    isResting(party, now) || party.waiting.length >= quotaOf(party);

  const waitingItems = (): number => waitingIn.working + waitingIn.slow;

  /** Slow parties, however many, may use half of the memory for waiting items. */
  const isSlowFull = (): boolean => waitingIn.slow >= slowQuota;

  /** Number of items that fit into memory, of those that may soon be started. */
  function roomLeft(): number {
    let free = 0;
    for (const lane of lanes) free += Math.max(0, slots[lane] - running[lane]);
    // Of a backlog not one item per free slot, but as many as one party works on at once.
    return free === 0
      ? 0
      : Math.max(0, Math.min(Math.max(free, limits.share), limits.waiting - waitingItems()));
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

  function freeBytes(party: Party<Item>, id: string): boolean {
    const bytes = party.bytes.get(id);
    if (bytes === undefined) return false;
    party.bytes.delete(id);
    bytesIn[party.lane] -= bytes;
    // Whoever waits for it is of any group.
    for (const { group } of parties.values()) makeReady(group);
    return true;
  }

  function add(party: Party<Item>, item: Item): void {
    party.waiting.push(item);
    countWaiting(party, 1);
    ready[party.lane].add(party.group);
  }

  return {
    add: (item) => add(get(item), item),
    addClaimed(item) {
      const party = get(item);
      const hasEnough = isSlow(party) && isSlowUntilAnswered && party.waiting.length >= quotaOf(party);
      if (!hasEnough) add(party, item);
      return !hasEnough;
    },
    next(now) {
      const party = findNext(now);
      if (party === undefined) return undefined;
      const [item] = party.waiting.splice(findFitting(party), 1) as [Item];
      countWaiting(party, -1);
      putLast(party);
      return { party, item };
    },
    begin(party, { id, bytes = 0 }, now) {
      party.running.set(id, now);
      countRunning(party, 1);
      if (bytes === 0) return;
      party.bytes.set(id, bytes);
      bytesIn[party.lane] += bytes;
    },
    freeBytes,
    end(party, id, verdict, now) {
      const startedAt = party.running.get(id) ?? now;
      freeBytes(party, id);
      party.running.delete(id);
      countRunning(party, -1);
      const tookMs = now - startedAt;
      if (verdict === 'failing') {
        party.failures++;
        noteSlow(party, now);
        party.hasAnswered = false;
        // Items that were in progress when the back-off began do not extend it.
        if (party.failures >= limits.failuresBeforeRest && !isResting(party, now)) {
          party.restUntil = now + Math.min(limits.restMs * 2 ** party.rests, limits.maxRestMs);
          party.rests++;
          // One attempt decides whether the next back-off begins.
          party.failures = limits.failuresBeforeRest - 1;
        }
      } else if (verdict === 'ok') {
        party.failures = 0;
        party.rests = 0;
        party.restUntil = 0;
        // An answer in time is the best sign that there is no need for the slow slots.
        const isQuick = party.slowAt === 0 || tookMs < limits.slowAfterMs / 4;
        if (tookMs > limits.slowAfterMs) noteSlow(party, now);
        else if (isSlow(party) && (isQuick || now - party.slowAt > slowForMs)) noteAnswer(party);
        party.hasAnswered = true;
      }
      makeReady(party.group);
      dropIfIdle(party, now);
    },
    watch(now) {
      let isFreed = false;
      for (const party of parties.values()) {
        let tookMs = 0;
        for (const at of party.running.values()) tookMs = Math.max(tookMs, now - at);
        if (tookMs > limits.slowAfterMs) {
          isFreed ||= !isSlow(party);
          noteSlow(party, now);
        }
        // Its rest may have ended, or it has another lane.
        if (party.waiting.length > 0) ready[party.lane].add(party.group);
        dropIfIdle(party, now);
      }
      return isFreed;
    },
    takeExcess() {
      // Most slow parties that are remembered have nothing to do.
      const slowParties = [...parties.values()].filter((party) => isSlow(party) && party.waiting.length > 0);
      const quota = Math.max(1, Math.floor(slowQuota / slowParties.length));
      let room = slowQuota;
      const excess: Item[] = [];
      for (const party of slowParties) {
        const taken = party.waiting.splice(Math.min(quotaOf(party), quota, room));
        room -= party.waiting.length;
        countWaiting(party, -taken.length);
        excess.push(...taken);
      }
      return excess;
    },
    claimable(now) {
      const room = roomLeft();
      if (room === 0) return { limit: 0, excluded: [] };
      const isBacklogFull = waitingIn.slow >= slowBacklogQuota;
      const excluded = [...parties.values()]
        .filter((party) => isFull(party, now) || (isBacklogFull && isSlow(party)))
        .map(({ name }) => name);
      // What else is due is of parties that are not known: no more of them fits.
      if (isSlowUntilAnswered && (isBacklogFull || excluded.length > maxExcluded))
        return { limit: room, excluded: [], only: listAnswering(now) };
      const limit = isSlowUntilAnswered ? Math.min(room, slowBacklogQuota - waitingIn.slow) : room;
      return { limit, excluded };
    },
    excludedGroups: () =>
      [...groups].filter(([, { waiting }]) => waiting >= groupShare * 4).map(([name]) => name),
    hasRoom(name, now, group) {
      if (waitingItems() >= limits.waiting) return false;
      if (group !== undefined && (groups.get(group)?.waiting ?? 0) >= groupShare * 4) return false;
      const party = parties.get(name);
      if ((party?.lane ?? firstLaneOf(name)) === 'slow' && isSlowFull()) return false;
      return party === undefined || !isFull(party, now);
    },
    isResting,
    restLeftMs: (party, now) => Math.max(0, party.restUntil - now),
    resume(name) {
      const party = parties.get(name);
      if (party === undefined) return;
      party.restUntil = 0;
      party.rests = 0;
      party.failures = 0;
      makeReady(party.group);
    },
    reopen(name) {
      const party = parties.get(name);
      if (party === undefined) return;
      party.restUntil = 0;
      makeReady(party.group);
    },
    resting: (now) =>
      [...parties.values()]
        .filter((party) => isResting(party, now))
        .map(({ name, failures, restUntil }) => ({ party: name, failures, forMs: restUntil - now })),
    takeWaiting(party) {
      countWaiting(party, -party.waiting.length);
      return party.waiting.splice(0);
    },
    takeAllWaiting() {
      return [...parties.values()].flatMap((party) => {
        countWaiting(party, -party.waiting.length);
        return party.waiting.splice(0);
      });
    },
    dropWaiting(item) {
      const party = parties.get(item.party);
      const at = party?.waiting.findIndex(({ id }) => id === item.id) ?? -1;
      if (party === undefined || at < 0) return false;
      party.waiting.splice(at, 1);
      countWaiting(party, -1);
      return true;
    },
  };
}
