import type { Leased } from './leases.ts';

/** One work item in progress and its party. */
export interface FairItem extends Leased {
  /** Replaced when this node claims an item again that it still works on, after the lease expired. */
  token: string;
  /** Among whom the slots are shared: a destination, a peer, a webhook. */
  readonly party: string;
  /**
   * Several parties that share their own limit: the webhooks of one client. Always the same for one party.
   */
  readonly group?: string;
  /** Memory that its attempt takes; 0 by default. */
  readonly bytes?: number;
}

/**
 * Result of an item's attempt, as it affects its party's share. `failing` is for an unreachable party;
 * `untried` says nothing about it.
 */
export type AttemptVerdict = 'ok' | 'failing' | 'untried';

export interface FairLimits {
  /** Items worked on at once, for parties that answer in time. */
  readonly slots: number;
  /** Slots of one party. */
  readonly share: number;
  /** Slots, on top, for all parties together that do not answer in time, or did not recently. */
  readonly slowSlots: number;
  /** Slots of one such party that has answered since it became slow; of any other one. */
  readonly slowShare: number;
  /** A party uses the slow slots until it has answered for the first time. */
  readonly isSlowUntilAnswered?: boolean;
  /**
   * Memory of all attempts with `bytes` in the slots, and in the slow ones. One that needs more runs alone.
   * Unlimited if omitted.
   */
  readonly maxBytes?: number;
  readonly slowMaxBytes?: number;
  /** Slots of one group, and of its slow parties among the slow slots; unlimited if omitted. */
  readonly groupShare?: number;
  readonly slowGroupShare?: number;
  /** An attempt that takes longer makes its party slow, already while it is running. */
  readonly slowAfterMs: number;
  /** Items held in memory beyond those that are worked on. */
  readonly waiting: number;
  /** Attempts in a row that fail before a party is left alone for a while. */
  readonly failuresBeforeBackOff: number;
  /** The first back-off; doubled each time, up to `maxBackOffMs`. */
  readonly backOffMs: number;
  readonly maxBackOffMs: number;
}
