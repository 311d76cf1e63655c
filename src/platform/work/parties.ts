import { createGrowingCache } from '../../core/index.ts';
import type { AttemptVerdict, FairItem, FairLimits } from './fair-items.ts';

/**
 * Where the attempts of a party count. `new`: it has not answered yet. `slow`: it was slow or failing recently. `silent`: its last
 * attempt took so long that it holds little more than a socket.
 */
type Lane = 'ordinary' | 'new' | 'slow' | 'silent';

/** Parties that share a limit, and take turns with other groups. A party without a group takes its turns alone. */
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
  /** Item ids of attempts that wait for something else. */
  readonly paused: Set<string>;
  lane: Lane;
  /** A claim has brought more of it than fits into memory, and since then no attempt has ended and no item was dropped. */
  hasMore: boolean;
  /** Since it left the ordinary lane. */
  hasAnswered: boolean;
  /** Time of its last slow or failing result. */
  slowAt: number;
  failures: number;
  rests: number;
  restUntil: number;
}

/** A party is slow for this long after its last slow or failed attempt. */
const slowForMs = 60_000;
/** A party without work is forgotten when its last failure is older: than the usual waits between attempts, an hour at most. */
const rememberedForMs = 2 * 3_600_000;
/** Names of parties that have answered; of one that is forgotten, the next attempt is made alone. */
const maxAnswered = 10_000;
/** Names in one claim: each is a parameter of its statement. */
const maxNamed = 1_000;
/** Parties that one claim leaves out: so many cost some 15 ms. */
const maxExcluded = 10_000;

const lanes = ['ordinary', 'new', 'slow', 'silent'] as const;

const perLane = <Value>(make: () => Value): Record<Lane, Value> => ({
  ordinary: make(),
  new: make(),
  slow: make(),
  silent: make(),
});

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
  /** Adds a claimed item. False if it must go back to the table: a claim cannot limit the items of one party. */
  addClaimed(item: Item): boolean;
  /** Removes and returns the item to start next; undefined if no slot is free for any party that waits. */
  next(now: number): { readonly party: Party<Item>; readonly item: Item } | undefined;
  /** Also ends the pause of an attempt: its time begins again. */
  begin(party: Party<Item>, id: string, now: number): void;
  /** The attempt waits for something that is not its party's: until it begins again it takes no slot, and no time of its party. */
  pause(party: Party<Item>, id: string): void;
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
   * By lane, the groups that may have something to start, the one served longest ago first (a Set keeps its order of insertion). One that
   * has nothing is removed when its turn comes, and is back when something of it changes.
   */
  const ready = perLane(() => new Set<Group<Item>>());
  const { groupShare = Infinity, slowGroupShare = Infinity, newSlots, silent } = limits;
  const slots: Record<Lane, number> = {
    ordinary: limits.slots,
    new: newSlots ?? 0,
    slow: limits.slowSlots,
    silent: silent?.slots ?? 0,
  };
  const shares: Record<Lane, number> = { ordinary: limits.share, new: 1, slow: limits.slowShare, silent: 1 };
  const answered = createGrowingCache<true>(maxAnswered);
  const running = perLane(() => 0);
  const waitingIn = perLane(() => 0);
  // However many parties do not answer, those that do have a quarter of the memory at least.
  const newQuota = Math.max(1, Math.floor(limits.waiting / 4));
  // The other half is for items that are offered: one that is stored now does not wait for a backlog of parties that never answer.
  const newBacklogQuota = Math.ceil(newQuota / 2);
  const cautiousQuota = limits.waiting / 2;
  /** Attempts that may run in a lane when another one begins. */
  const startable: Record<Lane, number> = { ...slots, silent: Math.ceil(slots.silent / 2) };

  function get({ party: name, group: groupName }: Item): Party<Item> {
    const known = parties.get(name);
    if (known !== undefined) return known;
    const group = getGroup(groupName);
    const party: Party<Item> = {
      name,
      group,
      waiting: [],
      running: new Map(),
      paused: new Set(),
      lane: firstLaneOf(name),
      hasMore: false,
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
    newSlots === undefined || answered.get(name) === true ? 'ordinary' : 'new';

  function setLane(party: Party<Item>, lane: Lane): void {
    if (party.lane === lane) return;
    countRunning(party, -party.running.size);
    waitingIn[party.lane] -= party.waiting.length;
    party.lane = lane;
    waitingIn[lane] += party.waiting.length;
    countRunning(party, party.running.size);
  }

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

  const isCautious = ({ lane }: Party<Item>): boolean => lane === 'slow' || lane === 'silent';
  const hasOneAttempt = ({ lane }: Party<Item>): boolean => lane === 'new' || lane === 'silent';

  /** After an attempt that took too long so far, or was to no avail; one that took longer than `silentAfterMs` shows a silent party. */
  function noteSlow(party: Party<Item>, now: number, tookMs: number, silentAfterMs = silent?.afterMs): void {
    party.slowAt = now;
    answered.delete(party.name);
    if (!isCautious(party)) party.hasAnswered = false;
    const isSilent = silent !== undefined && silentAfterMs !== undefined && tookMs > silentAfterMs;
    const isRoom = running.silent + party.running.size <= slots.silent;
    // A further attempt that fails early shows that the party is no longer silent.
    if (isSilent && (party.lane === 'silent' || isRoom)) setLane(party, 'silent');
    // One that has never answered keeps its slot until a silent one is free: the slow ones are for those that are slow, but work.
    else if (!isSilent || party.lane !== 'new' || party.running.size === 0) setLane(party, 'slow');
  }

  function noteAnswer(party: Party<Item>): void {
    answered.set(party.name, true);
    setLane(party, 'ordinary');
  }

  const isResting = (party: Party<Item>, now: number): boolean => party.restUntil > now;

  /** A slow party that may be one that never answers has one attempt. */
  const shareOf = ({ lane, hasAnswered }: Party<Item>): number =>
    lane === 'slow' && silent !== undefined && !hasAnswered ? 1 : shares[lane];

  function mayStart(party: Party<Item>, now: number): boolean {
    if (party.waiting.length === 0 || isResting(party, now)) return false;
    // After a back-off one attempt decides about all others.
    if (party.rests > 0 && party.running.size > 0) return false;
    const { lane, group } = party;
    if (party.running.size >= shareOf(party)) return false;
    return (
      group.name === undefined || group.running[lane] < (isCautious(party) ? slowGroupShare : groupShare)
    );
  }

  /** The party served longest ago, of the group served longest ago, in a lane with a free slot. */
  function findNext(now: number): Party<Item> | undefined {
    for (const lane of lanes) {
      if (running[lane] >= startable[lane]) continue;
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
    if (party.waiting.length > 0 || party.running.size > 0 || party.paused.size > 0) return;
    // One that has not answered since it failed takes no slots of those that answer, and none of new ones.
    const isForgiven = party.failures === 0 || newSlots === undefined;
    if (isCautious(party) && isForgiven && now - party.slowAt > slowForMs) setLane(party, 'ordinary');
    // Otherwise each destination that ever failed would stay here, and be looked at for each claim.
    const isForgotten = now - party.slowAt > rememberedForMs;
    if (((isCautious(party) || party.failures > 0) && !isForgotten) || isResting(party, now)) return;
    const { group } = party;
    parties.delete(party.name);
    group.parties.delete(party);
    if (group.parties.size > 0) return;
    for (const lane of lanes) ready[lane].delete(group);
    if (group.name !== undefined) groups.delete(group.name);
  }

  /**
   * Of a party that has not answered there is one item in memory, running or not: the others wait in the table, or a few parties with
   * many items would leave no room for the first ones of others.
   */
  const quotaOf = (party: Party<Item>): number =>
    hasOneAttempt(party) ? Math.max(0, 1 - party.running.size) : shares[party.lane] * 4;

  const isFull = (party: Party<Item>, now: number): boolean =>
    isResting(party, now) || party.waiting.length >= quotaOf(party);

  const waitingItems = (): number => waitingIn.ordinary + waitingIn.new + waitingIn.slow + waitingIn.silent;

  /** Slow parties, however many, may use half of the memory for waiting items. */
  const isSlowFull = (): boolean => waitingIn.slow + waitingIn.silent >= cautiousQuota;

  /** Number of items that fit into memory, of those that may soon be started. */
  function roomLeft(): number {
    let free = 0;
    // Most of the many silent slots are free, which says nothing about what may be started.
    for (const lane of lanes) if (lane !== 'silent') free += Math.max(0, slots[lane] - running[lane]);
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

  function add(party: Party<Item>, item: Item): void {
    party.waiting.push(item);
    countWaiting(party, 1);
    ready[party.lane].add(party.group);
  }

  return {
    add: (item) => add(get(item), item),
    addClaimed(item) {
      const party = get(item);
      party.hasMore = hasOneAttempt(party) && party.waiting.length >= quotaOf(party);
      if (!party.hasMore) add(party, item);
      return !party.hasMore;
    },
    next(now) {
      const party = findNext(now);
      if (party === undefined) return undefined;
      const item = party.waiting.shift() as Item;
      countWaiting(party, -1);
      putLast(party);
      return { party, item };
    },
    begin(party, id, now) {
      party.paused.delete(id);
      party.running.set(id, now);
      countRunning(party, 1);
    },
    pause(party, id) {
      party.running.delete(id);
      party.paused.add(id);
      party.hasMore = false;
      countRunning(party, -1);
      makeReady(party.group);
    },
    end(party, id, verdict, now) {
      const startedAt = party.running.get(id) ?? now;
      party.running.delete(id);
      party.hasMore = false;
      countRunning(party, -1);
      const tookMs = now - startedAt;
      if (verdict === 'failing') {
        party.failures++;
        noteSlow(party, now, tookMs, limits.slowAfterMs);
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
        if (tookMs > limits.slowAfterMs) noteSlow(party, now, tookMs);
        else if (party.lane === 'new') noteAnswer(party);
        else if (isCautious(party) && now - party.slowAt > slowForMs) noteAnswer(party);
        // An answer in time is the best sign that there is no need for the slow lane.
        else if (isCautious(party) && tookMs < limits.slowAfterMs / 4) noteAnswer(party);
        else if (party.lane === 'silent') setLane(party, 'slow');
        party.hasAnswered = true;
      }
      makeReady(party.group);
      dropIfIdle(party, now);
    },
    watch(now) {
      let isFreed = false;
      for (const party of parties.values()) {
        const { lane } = party;
        let tookMs = 0;
        for (const at of party.running.values()) tookMs = Math.max(tookMs, now - at);
        if (tookMs > limits.slowAfterMs && lane !== 'silent') {
          noteSlow(party, now, tookMs, lane === 'new' ? limits.slowAfterMs : silent?.afterMs);
          isFreed ||= party.lane !== lane;
        }
        // Its rest may have ended, or it has another lane.
        if (party.waiting.length > 0) ready[party.lane].add(party.group);
        dropIfIdle(party, now);
      }
      return isFreed;
    },
    takeExcess() {
      // Most slow parties that are remembered have nothing to do.
      const slowParties = [...parties.values()].filter(
        (party) => isCautious(party) && party.waiting.length > 0,
      );
      const quota = Math.max(1, Math.floor(cautiousQuota / slowParties.length));
      let room = cautiousQuota;
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
      const all = [...parties.values()];
      const skipsSlow = isSlowFull();
      if (newSlots !== undefined) {
        const hasTooMany = skipsSlow && all.filter(isCautious).length > maxNamed;
        if (waitingIn.new >= newBacklogQuota || hasTooMany)
          return { limit: room, excluded: [], only: listAnswering(now) };
      }
      const excluded = all.filter((party) =>
        // Nearly all new ones have one item, which is running: nothing is to be claimed when that ends.
        party.lane === 'new' && !isResting(party, now)
          ? party.hasMore
          : isFull(party, now) || (skipsSlow && isCautious(party)),
      );
      // Rests end, and with claims of those that answer alone no further ones begin.
      if (newSlots !== undefined && excluded.length > maxExcluded)
        return { limit: room, excluded: [], only: listAnswering(now) };
      return {
        limit: newSlots === undefined ? room : Math.min(room, newBacklogQuota - waitingIn.new),
        excluded: excluded.map(({ name }) => name),
      };
    },
    excludedGroups: () =>
      [...groups].filter(([, { waiting }]) => waiting >= groupShare * 4).map(([name]) => name),
    hasRoom(name, now, group) {
      if (waitingItems() >= limits.waiting) return false;
      if (group !== undefined && (groups.get(group)?.waiting ?? 0) >= groupShare * 4) return false;
      const party = parties.get(name);
      if (waitingIn.new >= newQuota && (party?.lane ?? firstLaneOf(name)) === 'new') return false;
      if (party === undefined) return true;
      return !isFull(party, now) && !(isCautious(party) && (party.waiting.length > 0 || isSlowFull()));
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
      party.hasMore = false;
      countWaiting(party, -1);
      return true;
    },
  };
}
