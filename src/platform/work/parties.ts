import type { AttemptVerdict, FairItem, FairLimits } from './fair-worker.ts';

/** One destination, peer or webhook, and what this node has of it in hand. */
export interface Party<Item> {
  readonly name: string;
  /** Oldest first. */
  readonly waiting: Item[];
  /** When each running attempt began, by item id. */
  readonly running: Map<string, number>;
  isSlow: boolean;
  /** When it was slow or failing last. */
  slowAt: number;
  failures: number;
  rests: number;
  restUntil: number;
}

/** A party is slow for this long after its last slow or failed attempt. */
const slowForMs = 60_000;

/** The order in which parties are served. Times are monotonic milliseconds. */
export interface Parties<Item extends FairItem> {
  add(item: Item): void;
  /** The item to start next, taken out of the waiting ones; undefined if no slot is free for any party that waits. */
  next(now: number): { readonly party: Party<Item>; readonly item: Item } | undefined;
  begin(party: Party<Item>, id: string, now: number): void;
  end(party: Party<Item>, id: string, verdict: AttemptVerdict, now: number): void;
  /** Marks parties whose running attempts take too long. True if slots became free by it. */
  watch(now: number): boolean;
  /** How many items may be claimed. */
  room(now: number): number;
  /** Parties of which nothing more may be claimed. */
  excluded(now: number): readonly string[];
  hasRoom(party: string, now: number): boolean;
  isResting(party: Party<Item>, now: number): boolean;
  restLeftMs(party: Party<Item>): number;
  /** Ends a party's rest. */
  resume(party: string): void;
  resting(now: number): readonly { party: string; failures: number; forMs: number }[];
  takeWaiting(party: Party<Item>): readonly Item[];
  takeAllWaiting(): readonly Item[];
  /** True if it was waiting. */
  dropWaiting(item: Item): boolean;
}

export function createParties<Item extends FairItem>(limits: FairLimits): Parties<Item> {
  // A Map keeps its order of insertion: a party that was served is put behind all others.
  const parties = new Map<string, Party<Item>>();
  let waitingItems = 0;
  let fast = 0;
  let slow = 0;

  function get(name: string): Party<Item> {
    const known = parties.get(name);
    if (known !== undefined) return known;
    const party: Party<Item> = {
      name,
      waiting: [],
      running: new Map(),
      isSlow: false,
      slowAt: 0,
      failures: 0,
      rests: 0,
      restUntil: 0,
    };
    parties.set(name, party);
    return party;
  }

  function setSlow(party: Party<Item>, isSlow: boolean): void {
    if (party.isSlow === isSlow) return;
    party.isSlow = isSlow;
    const moved = party.running.size;
    fast += isSlow ? -moved : moved;
    slow += isSlow ? moved : -moved;
  }

  function noteSlow(party: Party<Item>, now: number): void {
    party.slowAt = now;
    setSlow(party, true);
  }

  const isResting = (party: Party<Item>, now: number): boolean => party.restUntil > now;

  function mayStart(party: Party<Item>, now: number): boolean {
    if (party.waiting.length === 0 || isResting(party, now)) return false;
    return party.isSlow
      ? slow < limits.slowSlots && party.running.size < limits.slowShare
      : fast < limits.slots && party.running.size < limits.share;
  }

  /** A party without work is kept only while its past matters. */
  function dropIfIdle(party: Party<Item>, now: number): void {
    if (party.waiting.length > 0 || party.running.size > 0) return;
    if (party.isSlow && now - party.slowAt > slowForMs) setSlow(party, false);
    if (!party.isSlow && party.failures === 0 && !isResting(party, now)) parties.delete(party.name);
  }

  const isFull = (party: Party<Item>, now: number): boolean =>
    isResting(party, now) || party.waiting.length >= (party.isSlow ? limits.slowShare : limits.share) * 4;

  return {
    add(item) {
      get(item.party).waiting.push(item);
      waitingItems++;
    },
    next(now) {
      for (const party of parties.values()) {
        if (!mayStart(party, now)) continue;
        const item = party.waiting.shift() as Item;
        waitingItems--;
        parties.delete(party.name);
        parties.set(party.name, party);
        return { party, item };
      }
      return undefined;
    },
    begin(party, id, now) {
      party.running.set(id, now);
      if (party.isSlow) slow++;
      else fast++;
    },
    end(party, id, verdict, now) {
      const startedAt = party.running.get(id) ?? now;
      party.running.delete(id);
      if (party.isSlow) slow--;
      else fast--;
      if (verdict === 'failing') {
        party.failures++;
        noteSlow(party, now);
        if (party.failures >= limits.failuresBeforeRest) {
          party.restUntil = now + Math.min(limits.restMs * 2 ** party.rests, limits.maxRestMs);
          party.rests++;
          // One attempt decides whether the next rest begins.
          party.failures = limits.failuresBeforeRest - 1;
        }
      } else {
        party.failures = 0;
        party.rests = 0;
        party.restUntil = 0;
        if (now - startedAt > limits.slowAfterMs) noteSlow(party, now);
        else if (party.isSlow && now - party.slowAt > slowForMs) setSlow(party, false);
        // An answer in time is the best sign that there is no need for the slow lane.
        else if (party.isSlow && now - startedAt < limits.slowAfterMs / 4) setSlow(party, false);
      }
      dropIfIdle(party, now);
    },
    watch(now) {
      let isFreed = false;
      for (const party of parties.values()) {
        if (!party.isSlow && [...party.running.values()].some((at) => now - at > limits.slowAfterMs)) {
          noteSlow(party, now);
          isFreed = true;
        }
        dropIfIdle(party, now);
      }
      return isFreed;
    },
    room(now) {
      void now;
      const free = Math.max(0, limits.slots - fast) + Math.max(0, limits.slowSlots - slow);
      return free === 0 ? 0 : Math.max(0, Math.min(free, limits.waiting - waitingItems));
    },
    excluded: (now) => [...parties.values()].filter((party) => isFull(party, now)).map(({ name }) => name),
    hasRoom(name, now) {
      if (waitingItems >= limits.waiting) return false;
      const party = parties.get(name);
      return party === undefined || !(isFull(party, now) || (party.isSlow && party.waiting.length > 0));
    },
    isResting,
    restLeftMs: (party) => Math.max(0, party.restUntil - performance.now()),
    resume(name) {
      const party = parties.get(name);
      if (party === undefined) return;
      party.restUntil = 0;
      party.rests = 0;
      party.failures = 0;
    },
    resting: (now) =>
      [...parties.values()]
        .filter((party) => isResting(party, now))
        .map(({ name, failures, restUntil }) => ({ party: name, failures, forMs: restUntil - now })),
    takeWaiting(party) {
      waitingItems -= party.waiting.length;
      return party.waiting.splice(0);
    },
    takeAllWaiting() {
      waitingItems = 0;
      return [...parties.values()].flatMap((party) => party.waiting.splice(0));
    },
    dropWaiting(item) {
      const { waiting } = get(item.party);
      const at = waiting.findIndex(({ id }) => id === item.id);
      if (at < 0) return false;
      waiting.splice(at, 1);
      waitingItems--;
      return true;
    },
  };
}
