import type { FairItem, FairLimits } from './fair-items.ts';
import { countFreeSlots, type LaneCounts } from './lane-counts.ts';
import type { PartyStandings } from './party-standing.ts';
import { isBackingOff, isSlow, type Party } from './party.ts';

/** Names in one claim: each is a parameter of its statement. */
const maxNamed = 1_000;
/** Parties that one claim leaves out: so many cost some 15 ms. */
const maxExcluded = 10_000;

/** What the next claim may bring. */
export interface Claimable {
  readonly limit: number;
  /** Parties of which nothing more may be claimed. */
  readonly excluded: readonly string[];
  /** Set if others have no room in memory: parties that answer. */
  readonly only?: readonly string[];
}

/** How many items may wait in memory, of whom. */
export interface ClaimRoom<Item> {
  claimable(now: number): Claimable;
  /** A claim cannot limit the items of one party; what is too much goes back to the table. */
  hasEnough(party: Party<Item>): boolean;
  /** True if an item that is stored now may be held; of a party that is not known if it is undefined. */
  hasRoom(name: string, party: Party<Item> | undefined, now: number): boolean;
  /** Removes the items of slow parties that exceed their share of memory, so that other parties have room. */
  takeExcess(): readonly Item[];
}

export interface ClaimRoomDependencies<Item> {
  readonly limits: FairLimits;
  readonly parties: ReadonlyMap<string, Party<Item>>;
  readonly counts: LaneCounts<Item>;
  readonly standings: PartyStandings<Item>;
}

export function createClaimRoom<Item extends FairItem>({
  limits,
  parties,
  counts,
  standings,
}: ClaimRoomDependencies<Item>): ClaimRoom<Item> {
  const { isSlowUntilAnswered = false } = limits;
  // However many parties do not answer, those that do have half of the memory at least.
  const slowQuota = Math.max(1, Math.floor(limits.waiting / 2));
  // Half of that is for items that are offered: one that is stored now does not wait for a backlog of parties
  // that never answer.
  const slowBacklogQuota = Math.ceil(slowQuota / 2);

  const quotaOf = (party: Party<Item>): number => standings.shareOf(party) * 4;
  const isFull = (party: Party<Item>, now: number): boolean =>
    isBackingOff(party, now) || party.waiting.length >= quotaOf(party);
  const waitingItems = (): number => counts.waiting.working + counts.waiting.slow;

  /** Number of items that fit into memory, of those that may soon be started. */
  function roomLeft(): number {
    const free = countFreeSlots(counts);
    // Of a backlog not one item per free slot, but as many as one party works on at once.
    return free === 0
      ? 0
      : Math.max(0, Math.min(Math.max(free, limits.share), limits.waiting - waitingItems()));
  }

  /** Those that have answered last, except those with enough in memory. */
  function listAnswering(now: number): string[] {
    const names: string[] = [];
    for (const name of standings.answered()) {
      const party = parties.get(name);
      if (party === undefined || !isFull(party, now)) names.push(name);
      if (names.length === maxNamed) break;
    }
    return names;
  }

  return {
    claimable(now) {
      const room = roomLeft();
      if (room === 0) return { limit: 0, excluded: [] };
      const isBacklogFull = counts.waiting.slow >= slowBacklogQuota;
      const excluded = [...parties.values()]
        .filter((party) => isFull(party, now) || (isBacklogFull && isSlow(party)))
        .map(({ name }) => name);
      // What else is due is of parties that are not known: no more of them fits.
      if (isSlowUntilAnswered && (isBacklogFull || excluded.length > maxExcluded))
        return { limit: room, excluded: [], only: listAnswering(now) };
      const limit = isSlowUntilAnswered ? Math.min(room, slowBacklogQuota - counts.waiting.slow) : room;
      return { limit, excluded };
    },
    hasEnough: (party) => isSlow(party) && isSlowUntilAnswered && party.waiting.length >= quotaOf(party),
    hasRoom(name, party, now) {
      if (waitingItems() >= limits.waiting) return false;
      // Slow parties, however many, may use half of the memory for waiting items.
      const lane = party?.lane ?? standings.firstLaneOf(name);
      if (lane === 'slow' && counts.waiting.slow >= slowQuota) return false;
      return party === undefined || !isFull(party, now);
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
        counts.countWaiting(party, -taken.length);
        excess.push(...taken);
      }
      return excess;
    },
  };
}
