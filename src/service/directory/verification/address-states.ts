import type { AddressSlots } from '../../../lib/provider-index/index.ts';

/**
 * The states of Decision 0027 in the order of sorting, and `unverified` for an address that has not been
 * checked yet.
 */
export const shownStates = [
  'trusted',
  'discoverable',
  'expired',
  'no-certificate',
  'unreachable',
  'unverified',
] as const;

export type ShownState = (typeof shownStates)[number];

/** Verification state of an address, as shown. */
export interface AddressState {
  readonly state: ShownState;
  /** A code; empty if there is nothing to say. */
  readonly reason: string;
  readonly checkedAt: Date | undefined;
  /** For example `2026-06`: when a message from this service was last processed. */
  readonly processedMonth: string | undefined;
}

/**
 * Asked of the service that verifies addresses. Addresses have slots, so that a number per row of an index is
 * kept.
 */
export interface AddressStates extends Pick<AddressSlots, 'slotOf' | 'putSlots' | 'reserve'> {
  /** In the order of sorting, `unverified` last. */
  readonly names: readonly ShownState[];
  /** Reads the changes since the last call. */
  refresh(): Promise<void>;
  /** True if no address has been checked; known after the first `refresh`. */
  readonly isEmpty: boolean;
  /** Another one after each change that `refresh` has read. */
  readonly version: number;
  /** When a message from this service was last processed, such as 202606; 0 if never. */
  monthOf(slot: number): number;
  /** The place of its state among `names`. */
  rankOf(slot: number): number;
  read(slot: number): AddressState;
}

/** Verification state of an address, on the wire. */
export function formatState({ state, reason, checkedAt, processedMonth }: AddressState) {
  return {
    state,
    reason,
    checkedTime: checkedAt?.toISOString() ?? null,
    lastProcessedMonth: processedMonth ?? null,
  };
}
