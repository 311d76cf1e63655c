/** The part of a session that counting needs. */
export interface PeerSession {
  readonly id: string;
  readonly remoteAddress: string;
}

export interface PeerCounter {
  /** False, and not counted, when the peer has its share of connections already. */
  enter(session: PeerSession): boolean;
  leave(session: PeerSession): void;
}

/** Counts the connections of each address, so that one peer cannot take them all. */
export function createPeerCounter(maxPerPeer: number): PeerCounter {
  const counts = new Map<string, number>();
  const entered = new Set<string>();
  return {
    enter({ id, remoteAddress }) {
      const count = counts.get(remoteAddress) ?? 0;
      if (count >= maxPerPeer) return false;
      counts.set(remoteAddress, count + 1);
      entered.add(id);
      return true;
    },
    leave({ id, remoteAddress }) {
      if (!entered.delete(id)) return;
      const left = (counts.get(remoteAddress) ?? 1) - 1;
      if (left > 0) counts.set(remoteAddress, left);
      else counts.delete(remoteAddress);
    },
  };
}
