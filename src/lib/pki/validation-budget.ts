import { setImmediate as nextTurn } from 'node:timers/promises';
import { PkiError } from './errors.ts';
import {
  issuersPerTurn,
  maxFetches,
  maxFetchMs,
  maxIssuerFetchesPerBudget,
  maxIssuersTriedPerBudget,
  maxNameComparisons,
} from './trust-policy.ts';

/** The purpose of a fetch. */
export type FetchPurpose = 'issuer' | 'revocation';

/**
 * Limits per message or recipient, independent of the number of its certificates: time and number of fetches,
 * issuers tried, and names compared with name constraints. One budget is shared by all paths that are tried
 * (TRUST-05, SEC-11).
 */
export interface ValidationBudget {
  /**
   * False if no issuer may be fetched for a sender whose certificates do not chain to an anchor without it.
   */
  readonly allowsIssuerFetches: boolean;
  /**
   * Runs one fetch and waits for it no longer than the time left. Errors: `PKI_FETCH_LIMIT`, those of `work`.
   */
  fetch<T>(purpose: FetchPurpose, work: () => Promise<T>): Promise<T>;
  /**
   * Counts one issuer tried, and now and then lets the event loop have its turn before. Resolves with false
   * if there were too many.
   */
  takeIssuer(): Promise<boolean>;
  /** Counts comparisons of names with name constraints. Returns false if there were too many. */
  takeComparisons(count: number): boolean;
  /** The same budget, but only with issuers that were fetched before. */
  withoutIssuerFetches(): ValidationBudget;
}

export interface ValidationBudgetOptions {
  /** Issuers and CRLs together. Default 16. */
  readonly maxFetches?: number;
  /** From the first fetch. Default 15 s. */
  readonly timeMs?: number;
}

export function createValidationBudget(options: ValidationBudgetOptions = {}): ValidationBudget {
  const issuerFetches = maxIssuerFetchesPerBudget;
  const fetches = options.maxFetches ?? maxFetches;
  const timeMs = options.timeMs ?? maxFetchMs;
  let issuerFetchesLeft = issuerFetches;
  let fetchesLeft = fetches;
  let issuersLeft = maxIssuersTriedPerBudget;
  let comparisonsLeft = maxNameComparisons;
  let deadlineMs: number | undefined;

  function takeFetch(purpose: FetchPurpose): number {
    const nowMs = performance.now();
    deadlineMs ??= nowMs + timeMs;
    const isCounted = fetchesLeft > 0 && (purpose !== 'issuer' || issuerFetchesLeft > 0);
    if (!isCounted) {
      const most = fetchesLeft > 0 ? `${issuerFetches} fetches of issuers` : `${fetches} fetches`;
      throw new PkiError('PKI_FETCH_LIMIT', `more than ${most} for one message`);
    }
    // A timer may fire up to a millisecond early.
    if (deadlineMs - nowMs < 1) throw timeUsedUp(timeMs);
    fetchesLeft--;
    if (purpose === 'issuer') issuerFetchesLeft--;
    return deadlineMs - nowMs;
  }

  const budget: ValidationBudget = {
    allowsIssuerFetches: true,
    async fetch(purpose, work) {
      const { promise, reject } = Promise.withResolvers<never>();
      const timer = setTimeout(() => reject(timeUsedUp(timeMs)), takeFetch(purpose));
      try {
        // A fetch that loses the race ends at its own time limit; others may be waiting for the same answer.
        return await Promise.race([work(), promise]);
      } finally {
        clearTimeout(timer);
      }
    },
    async takeIssuer() {
      const left = --issuersLeft;
      if (left % issuersPerTurn === 0) await nextTurn();
      return left >= 0;
    },
    takeComparisons: (count) => (comparisonsLeft -= count) >= 0,
    withoutIssuerFetches: () => ({ ...budget, allowsIssuerFetches: false }),
  };
  return budget;
}

function timeUsedUp(timeMs: number): PkiError {
  return new PkiError('PKI_FETCH_LIMIT', `the fetches of one message took more than ${timeMs / 1000} s`);
}
