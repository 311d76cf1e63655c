import type { FairItem, FairLimits } from './fair-items.ts';
import { lanes, perLane, type Lane, type Party } from './party.ts';

/** What runs, waits and takes memory in each lane, of all parties together. */
export interface LaneCounts<Item> {
  readonly waiting: Readonly<Record<Lane, number>>;
  /** Moves a party with all that it has in progress. */
  setLane(party: Party<Item>, lane: Lane): void;
  countWaiting(party: Party<Item>, change: number): void;
  begin(party: Party<Item>, item: Item, now: number): void;
  end(party: Party<Item>, id: string): void;
  /** The attempt needs its memory no longer. True if it had some. */
  freeBytes(party: Party<Item>, id: string): boolean;
  /**
   * The place of the oldest waiting item for which there is memory, or -1: small ones do not wait for large
   * ones of their party. Once one has been passed by for some time, no other that takes memory begins.
   */
  findFitting(party: Party<Item>, now: number): number;
  freeSlots(lane: Lane): number;
}

/** An item for which there was no memory, and since when. */
interface Passed<Item> {
  readonly party: Party<Item>;
  readonly item: Item;
  readonly since: number;
}

/** Otherwise smaller ones that keep coming would keep a large one out without end. */
const passedForMs = 10_000;

export function createLaneCounts<Item extends FairItem>(limits: FairLimits): LaneCounts<Item> {
  const slots: Record<Lane, number> = { working: limits.slots, slow: limits.slowSlots };
  const maxBytes: Record<Lane, number> = {
    working: limits.maxBytes ?? Infinity,
    slow: limits.slowMaxBytes ?? Infinity,
  };
  const running = perLane(() => 0);
  const bytesIn = perLane(() => 0);
  const waiting = perLane(() => 0);

  /**
   * By whose memory it waits for: of the working lane, or of its party. The slow lane waits for nobody:
   * attempts there may hold their memory for minutes, and parties that were never asked use it too.
   */
  let passedInLane: Passed<Item> | undefined;
  const passedOf = new WeakMap<Party<Item>, Passed<Item>>();

  const bytesOf = ({ bytes }: Party<Item>): number => [...bytes.values()].reduce((sum, one) => sum + one, 0);

  function countRunning({ lane, group }: Party<Item>, change: number): void {
    running[lane] += change;
    group.running[lane] += change;
  }

  /** One that needs more than there is at all runs alone; a party with others leaves half of the memory. */
  function fits(party: Party<Item>, item: Item, now: number): boolean {
    const { bytes = 0 } = item;
    if (bytes === 0) return true;
    const { lane } = party;
    const [inLane, inParty] = [findPassed(passedInLane, lane), findPassed(passedOf.get(party), lane)];
    // One of them alone, or two could wait for each other.
    const next = [inLane, inParty].find((one) => one !== undefined && now - one.since > passedForMs);
    if (next !== undefined && next.item !== item) return false;
    if (bytesIn[lane] > 0 && bytesIn[lane] + bytes > maxBytes[lane]) {
      if (inLane === undefined && lane === 'working') passedInLane = { party, item, since: now };
      return false;
    }
    const own = bytesOf(party);
    if (own === 0 || own + bytes <= maxBytes[lane] / 2) return true;
    if (inParty === undefined) passedOf.set(party, { party, item, since: now });
    return false;
  }

  /** Undefined if it has begun, was taken away, or waits in another lane. */
  function findPassed(one: Passed<Item> | undefined, lane: Lane): Passed<Item> | undefined {
    return one?.party.lane === lane && one.party.waiting.includes(one.item) ? one : undefined;
  }

  return {
    waiting,
    setLane(party, lane) {
      if (party.lane === lane) return;
      const bytes = bytesOf(party);
      countRunning(party, -party.running.size);
      bytesIn[party.lane] -= bytes;
      waiting[party.lane] -= party.waiting.length;
      party.lane = lane;
      waiting[lane] += party.waiting.length;
      bytesIn[lane] += bytes;
      countRunning(party, party.running.size);
    },
    countWaiting({ lane, group }, change) {
      waiting[lane] += change;
      group.waiting += change;
    },
    begin(party, { id, bytes = 0 }, now) {
      party.running.set(id, now);
      countRunning(party, 1);
      if (bytes === 0) return;
      party.bytes.set(id, bytes);
      bytesIn[party.lane] += bytes;
    },
    end(party, id) {
      party.running.delete(id);
      countRunning(party, -1);
    },
    freeBytes(party, id) {
      const bytes = party.bytes.get(id);
      if (bytes === undefined) return false;
      party.bytes.delete(id);
      bytesIn[party.lane] -= bytes;
      return true;
    },
    findFitting: (party, now) => party.waiting.findIndex((item) => fits(party, item, now)),
    freeSlots: (lane) => Math.max(0, slots[lane] - running[lane]),
  };
}

/** Free slots of both lanes. */
export function countFreeSlots(counts: Pick<LaneCounts<never>, 'freeSlots'>): number {
  return lanes.reduce((sum, lane) => sum + counts.freeSlots(lane), 0);
}
