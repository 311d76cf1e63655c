import { createClaimRoom, type Claimable } from './claim-room.ts';
import type { AttemptVerdict, FairItem, FairLimits } from './fair-items.ts';
import { createTurns } from './group-turns.ts';
import { createLaneCounts } from './lane-counts.ts';
import { createStandings, endBackOff } from './party-standing.ts';
import { createParty, isBackingOff, isSlow, perLane, type Group, type Party } from './party.ts';

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
  /** Ends a party's back-off. */
  resume(party: string): void;
  /** Ends a party's back-off for one attempt, which decides whether it backs off again. */
  reopen(party: string): void;
  backingOff(now: number): readonly { party: string; forMs: number }[];
  takeWaiting(party: Party<Item>): readonly Item[];
  takeAllWaiting(): readonly Item[];
  /** True if it was waiting. */
  dropWaiting(item: Item): boolean;
}

export function createParties<Item extends FairItem>(limits: FairLimits): Parties<Item> {
  const { groupShare = Infinity, slowGroupShare = Infinity } = limits;
  const parties = new Map<string, Party<Item>>();
  const groups = new Map<string, Group<Item>>();
  const counts = createLaneCounts<Item>(limits);
  const standings = createStandings(limits, counts);
  const turns = createTurns<Item>();
  const room = createClaimRoom({ limits, parties, counts, standings });

  function get({ party: name, group: groupName }: Item): Party<Item> {
    const known = parties.get(name);
    if (known !== undefined) return known;
    const party = createParty(name, getGroup(groupName), standings.firstLaneOf(name));
    parties.set(name, party);
    party.group.parties.add(party);
    return party;
  }

  function getGroup(name: string | undefined): Group<Item> {
    const known = name === undefined ? undefined : groups.get(name);
    if (known !== undefined) return known;
    const group: Group<Item> = { name, parties: new Set(), running: perLane(() => 0), waiting: 0 };
    if (name !== undefined) groups.set(name, group);
    return group;
  }

  function add(party: Party<Item>, item: Item): void {
    party.waiting.push(item);
    counts.countWaiting(party, 1);
    turns.addParty(party);
  }

  function mayStart(party: Party<Item>, now: number): boolean {
    if (party.waiting.length === 0 || isBackingOff(party, now)) return false;
    // After a back-off one attempt decides about all others.
    if (party.backOffs > 0 && party.running.size > 0) return false;
    const { lane, group } = party;
    if (party.running.size >= standings.shareOf(party)) return false;
    if (group.name !== undefined && group.running[lane] >= (isSlow(party) ? slowGroupShare : groupShare))
      return false;
    return counts.findFitting(party, now) >= 0;
  }

  function freeBytes(party: Party<Item>, id: string): boolean {
    if (!counts.freeBytes(party, id)) return false;
    // Whoever waits for it is of any group.
    for (const { group } of parties.values()) turns.makeReady(group);
    return true;
  }

  function dropIfIdle(party: Party<Item>, now: number): void {
    if (!standings.mayBeDropped(party, now)) return;
    const { group } = party;
    parties.delete(party.name);
    group.parties.delete(party);
    if (group.parties.size > 0) return;
    turns.drop(group);
    if (group.name !== undefined) groups.delete(group.name);
  }

  function takeWaiting(party: Party<Item>): readonly Item[] {
    counts.countWaiting(party, -party.waiting.length);
    return party.waiting.splice(0);
  }

  return {
    add: (item) => add(get(item), item),
    addClaimed(item) {
      const party = get(item);
      if (room.hasEnough(party)) return false;
      add(party, item);
      return true;
    },
    next(now) {
      const party = turns.findNext(
        (lane) => counts.freeSlots(lane) > 0,
        (one) => mayStart(one, now),
      );
      if (party === undefined) return undefined;
      const [item] = party.waiting.splice(counts.findFitting(party, now), 1) as [Item];
      counts.countWaiting(party, -1);
      turns.putLast(party);
      return { party, item };
    },
    begin: counts.begin,
    freeBytes,
    end(party, id, verdict, now) {
      const startedAt = party.running.get(id) ?? now;
      freeBytes(party, id);
      counts.end(party, id);
      standings.noteResult(party, verdict, now - startedAt, now);
      turns.makeReady(party.group);
      dropIfIdle(party, now);
    },
    watch(now) {
      let isFreed = false;
      for (const party of parties.values()) {
        let tookMs = 0;
        for (const at of party.running.values()) tookMs = Math.max(tookMs, now - at);
        if (tookMs > limits.slowAfterMs) {
          isFreed ||= !isSlow(party);
          standings.noteSlow(party, now);
        }
        // Its back-off may have ended, or it has another lane.
        if (party.waiting.length > 0) turns.addParty(party);
        dropIfIdle(party, now);
      }
      return isFreed;
    },
    takeExcess: room.takeExcess,
    claimable: room.claimable,
    excludedGroups: () =>
      [...groups].filter(([, { waiting }]) => waiting >= groupShare * 4).map(([name]) => name),
    hasRoom(name, now, group) {
      if (group !== undefined && (groups.get(group)?.waiting ?? 0) >= groupShare * 4) return false;
      return room.hasRoom(name, parties.get(name), now);
    },
    resume(name) {
      const party = parties.get(name);
      if (party === undefined) return;
      endBackOff(party);
      turns.makeReady(party.group);
    },
    reopen(name) {
      const party = parties.get(name);
      if (party === undefined) return;
      party.backOffUntil = 0;
      turns.makeReady(party.group);
    },
    backingOff: (now) =>
      [...parties.values()]
        .filter((party) => isBackingOff(party, now))
        .map(({ name, backOffUntil }) => ({ party: name, forMs: backOffUntil - now })),
    takeWaiting,
    takeAllWaiting: () => [...parties.values()].flatMap((party) => takeWaiting(party)),
    dropWaiting(item) {
      const party = parties.get(item.party);
      const at = party?.waiting.findIndex(({ id }) => id === item.id) ?? -1;
      if (party === undefined || at < 0) return false;
      party.waiting.splice(at, 1);
      counts.countWaiting(party, -1);
      return true;
    },
  };
}
