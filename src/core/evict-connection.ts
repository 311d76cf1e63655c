/** A connection that may have to make room for another one. */
export interface Evictable {
  /**
   * When its last answer was given, or it began; undefined while an answer is owed. By `performance.now()`.
   */
  idleSinceMs(): number | undefined;
  /** True if it was of use: it has sent a whole request, or has signed in. */
  hasAsked(): boolean;
}

export interface Newcomer<Connection> {
  /** Connections that its peer would have with it. */
  readonly share: number;
  /** Connections of the peer of this one. */
  shareOf(connection: Connection): number;
  /** A connection that is idle for less makes room only for a peer with fewer connections. */
  readonly evictIdleMs: number;
}

/**
 * The connection that makes room when all are in use, if any may: of those that have asked nothing yet before
 * the others, of the peer with the most connections, and of these the one that has been idle longest. One
 * that has asked makes no room for a peer with more connections than its own: whoever opens many, from many
 * addresses too, keeps out no peer with few.
 */
export function findEvictable<Connection extends Evictable>(
  connections: Iterable<Connection>,
  { share: newShare, shareOf, evictIdleMs }: Newcomer<Connection>,
): Connection | undefined {
  const idleBeforeMs = performance.now() - evictIdleMs;
  let found: { connection: Connection; hasAsked: boolean; share: number; idleSinceMs: number } | undefined;
  for (const connection of connections) {
    const idleSinceMs = connection.idleSinceMs();
    if (idleSinceMs === undefined) continue;
    const share = shareOf(connection);
    const hasAsked = connection.hasAsked();
    const isIdleLong = idleSinceMs <= idleBeforeMs && (!hasAsked || share >= newShare);
    if (share <= newShare && !isIdleLong) continue;
    if (found !== undefined) {
      if (hasAsked !== found.hasAsked) {
        if (hasAsked) continue;
      } else if (share !== found.share) {
        if (share < found.share) continue;
      } else if (idleSinceMs >= found.idleSinceMs) continue;
    }
    found = { connection, hasAsked, share, idleSinceMs };
  }
  return found?.connection;
}
