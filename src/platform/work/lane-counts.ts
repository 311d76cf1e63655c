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
   * ones of their party.
   */
  findFitting(party: Party<Item>): number;
  freeSlots(lane: Lane): number;
}

export function createLaneCounts<Item extends FairItem>(limits: FairLimits): LaneCounts<Item> {
  const slots: Record<Lane, number> = { working: limits.slots, slow: limits.slowSlots };
  const maxBytes: Record<Lane, number> = {
    working: limits.maxBytes ?? Infinity,
    slow: limits.slowMaxBytes ?? Infinity,
  };
  const running = perLane(() => 0);
  const bytesIn = perLane(() => 0);
  const waiting = perLane(() => 0);

  const bytesOf = ({ bytes }: Party<Item>): number => [...bytes.values()].reduce((sum, one) => sum + one, 0);

  function countRunning({ lane, group }: Party<Item>, change: number): void {
    running[lane] += change;
    group.running[lane] += change;
  }

  /** One that needs more than there is at all runs alone; a party with others leaves half of the memory. */
  function fits(party: Party<Item>, bytes: number): boolean {
    const { lane } = party;
    const own = bytesOf(party);
    const isWithin = bytesIn[lane] === 0 || bytesIn[lane] + bytes <= maxBytes[lane];
    return isWithin && (own === 0 || own + bytes <= maxBytes[lane] / 2);
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
    findFitting: (party) => party.waiting.findIndex(({ bytes = 0 }) => bytes === 0 || fits(party, bytes)),
    freeSlots: (lane) => Math.max(0, slots[lane] - running[lane]),
  };
}

/** Free slots of both lanes. */
export function countFreeSlots(counts: Pick<LaneCounts<never>, 'freeSlots'>): number {
  return lanes.reduce((sum, lane) => sum + counts.freeSlots(lane), 0);
}
