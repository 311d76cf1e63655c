import type { Leased } from './leases.ts';

/** One work item in progress and its party. */
export interface FairItem extends Leased {
  /** Replaced when this node claims an item again that it still works on, after the lease expired. */
  token: string;
  /** Among whom the slots are shared: a destination, a peer, a webhook. */
  readonly party: string;
  /** Several parties that share their own limit: the webhooks of one client. Always the same for one party. */
  readonly group?: string;
}

/** Result of an item's attempt, as it affects its party's share. `failing` is for an unreachable party; `untried` says nothing about it. */
export type AttemptVerdict = 'ok' | 'failing' | 'untried';

/** The time of an attempt, by which its party counts as slow. */
export interface AttemptTime {
  /** Waits for something that is not the party's: until then the attempt takes no slot, and its time does not count. */
  afterWait<T>(work: Promise<T>): Promise<T>;
}

export interface FairLimits {
  /** Items worked on at once, for parties that answer quickly. */
  readonly slots: number;
  /** Slots of one party. */
  readonly share: number;
  /** Slots, on top, for all parties together that were slow or failing recently. */
  readonly slowSlots: number;
  /** Slots of one such party. */
  readonly slowShare: number;
  /** Slots, on top, for parties that have not answered yet, one each; without it they use the ordinary ones. */
  readonly newSlots?: number;
  /**
   * An attempt that takes longer than `afterMs` leaves the slow slots for one of these, because it holds little more than a socket. That of
   * a party which has never answered leaves its new slot for one after `slowAfterMs`: the slow slots are for parties that are slow, but
   * work. A party here has one attempt at a time until it answers. Up to half of these slots are for parties whose last attempt took too
   * long and failed.
   */
  readonly silent?: { readonly afterMs: number; readonly slots: number };
  /** Slots of one group, and of its slow parties among the slow slots; unlimited if omitted. */
  readonly groupShare?: number;
  readonly slowGroupShare?: number;
  /** An attempt that takes longer makes its party slow, already while it is running. */
  readonly slowAfterMs: number;
  /** Items held in memory beyond those that are worked on. */
  readonly waiting: number;
  /** Attempts in a row that fail before a party is left alone for a while. */
  readonly failuresBeforeRest: number;
  /** The first back-off; doubled each time, up to `maxRestMs`. */
  readonly restMs: number;
  readonly maxRestMs: number;
}
