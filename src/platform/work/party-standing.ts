import { createGrowingCache } from '../../core/index.ts';
import type { AttemptVerdict, FairItem, FairLimits } from './fair-items.ts';
import type { LaneCounts } from './lane-counts.ts';
import { isBackingOff, isSlow, type Lane, type Party } from './party.ts';

/** A party is slow for this long after its last slow or failed attempt. */
const slowForMs = 60_000;
/**
 * A party without work is forgotten when its last failure is older: than the usual waits between attempts, an
 * hour at most.
 */
const rememberedForMs = 2 * 3_600_000;
/** Names of parties that have answered; of one that is forgotten, the next attempt is made alone. */
const maxAnswered = 10_000;

/** What the results of attempts say about their party: its lane, its slots and its back-off. */
export interface PartyStandings<Item> {
  firstLaneOf(name: string): Lane;
  /** Slots of a party. */
  shareOf(party: Party<Item>): number;
  /** Names of parties that have answered. */
  answered(): Iterable<string>;
  /** After an attempt that took too long so far, or was to no avail. */
  noteSlow(party: Party<Item>, now: number): void;
  noteResult(party: Party<Item>, verdict: AttemptVerdict, tookMs: number, now: number): void;
  /** A party without work is kept only while its past matters. */
  mayBeDropped(party: Party<Item>, now: number): boolean;
}

export function createStandings<Item extends FairItem>(
  limits: FairLimits,
  { setLane }: Pick<LaneCounts<Item>, 'setLane'>,
): PartyStandings<Item> {
  const { isSlowUntilAnswered = false } = limits;
  const answered = createGrowingCache<true>(maxAnswered);

  function noteSlow(party: Party<Item>, now: number): void {
    party.slowAt = now;
    answered.delete(party.name);
    if (!isSlow(party)) party.hasAnswered = false;
    setLane(party, 'slow');
  }

  function noteFailure(party: Party<Item>, now: number): void {
    party.failures++;
    noteSlow(party, now);
    party.hasAnswered = false;
    // Items that were in progress when the back-off began do not extend it.
    if (party.failures < limits.failuresBeforeBackOff || isBackingOff(party, now)) return;
    party.backOffUntil = now + Math.min(limits.backOffMs * 2 ** party.backOffs, limits.maxBackOffMs);
    party.backOffs++;
    // One attempt decides whether the next back-off begins.
    party.failures = limits.failuresBeforeBackOff - 1;
  }

  function noteSuccess(party: Party<Item>, tookMs: number, now: number): void {
    endBackOff(party);
    // An answer in time is the best sign that there is no need for the slow slots.
    const isQuick = party.slowAt === 0 || tookMs < limits.slowAfterMs / 4;
    if (tookMs > limits.slowAfterMs) noteSlow(party, now);
    else if (isSlow(party) && (isQuick || now - party.slowAt > slowForMs)) {
      answered.set(party.name, true);
      setLane(party, 'working');
    }
    party.hasAnswered = true;
  }

  return {
    firstLaneOf: (name) => (isSlowUntilAnswered && answered.get(name) !== true ? 'slow' : 'working'),
    shareOf(party) {
      if (!isSlow(party)) return limits.share;
      // One that may be a party that never answers has one attempt.
      return isSlowUntilAnswered && !party.hasAnswered ? 1 : limits.slowShare;
    },
    answered: () => answered.keys(),
    noteSlow,
    noteResult(party, verdict, tookMs, now) {
      if (verdict === 'failing') noteFailure(party, now);
      else if (verdict === 'ok') noteSuccess(party, tookMs, now);
    },
    mayBeDropped(party, now) {
      if (party.waiting.length > 0 || party.running.size > 0) return false;
      // One that has not answered since it failed takes no slots of those that answer.
      const isForgiven = party.failures === 0 || !isSlowUntilAnswered;
      if (isSlow(party) && isForgiven && party.slowAt > 0 && now - party.slowAt > slowForMs)
        setLane(party, 'working');
      // Otherwise each destination that ever failed would stay here, and be looked at for each claim.
      const isForgotten = now - party.slowAt > rememberedForMs;
      const hasPast = party.slowAt > 0 || party.failures > 0;
      const isRemembered = hasPast && (isSlow(party) || party.failures > 0) && !isForgotten;
      return !isRemembered && !isBackingOff(party, now);
    },
  };
}

export function endBackOff(party: Party<unknown>): void {
  party.backOffUntil = 0;
  party.backOffs = 0;
  party.failures = 0;
}
