import { lanes, perLane, type Group, type Lane, type Party } from './party.ts';

/** Whose turn it is. */
export interface GroupTurns<Item> {
  /** The group gets a turn in each lane in which something of it waits. */
  makeReady(group: Group<Item>): void;
  /** The same for the lane of one party, of which something waits. */
  addParty(party: Party<Item>): void;
  /** Party and group have had their turn. */
  putLast(party: Party<Item>): void;
  drop(group: Group<Item>): void;
  /** The party served longest ago, of the group served longest ago, in the first lane with a free slot. */
  findNext(
    hasSlot: (lane: Lane) => boolean,
    mayStart: (party: Party<Item>) => boolean,
  ): Party<Item> | undefined;
}

export function createTurns<Item>(): GroupTurns<Item> {
  /**
   * By lane, the groups that may have something to start, the one served longest ago first (a Set keeps its
   * order of insertion). One that has nothing is removed when its turn comes, and is back when something of
   * it changes.
   */
  const ready = perLane(() => new Set<Group<Item>>());
  return {
    makeReady(group) {
      if (group.waiting === 0) return;
      for (const { waiting, lane } of group.parties) if (waiting.length > 0) ready[lane].add(group);
    },
    addParty: ({ lane, group }) => void ready[lane].add(group),
    putLast(party) {
      const { group, lane } = party;
      group.parties.delete(party);
      group.parties.add(party);
      ready[lane].delete(group);
      ready[lane].add(group);
    },
    drop(group) {
      for (const lane of lanes) ready[lane].delete(group);
    },
    findNext(hasSlot, mayStart) {
      for (const lane of lanes) {
        if (!hasSlot(lane)) continue;
        for (const group of ready[lane]) {
          for (const party of group.parties) if (party.lane === lane && mayStart(party)) return party;
          ready[lane].delete(group);
        }
      }
      return undefined;
    },
  };
}
