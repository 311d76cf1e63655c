import type { Closable, Log } from '../../core/index.ts';
import { startRounds } from '../../platform/index.ts';
import type { DeliveryQueue } from './queue.ts';

export interface OutageDependencies {
  readonly queue: Pick<DeliveryQueue, 'findOutages' | 'hasOutage' | 'makeDue' | 'makeOneDue'>;
  readonly log: Log;
  /** Waits between trials of one destination, in order; the last one repeats. */
  readonly probeWaitsMs: readonly number[];
  /** One waiting message of the destination is due now: let one attempt decide. */
  readonly reopen: (domain: string) => void;
}

/**
 * Destinations that could not be reached. Each is tried with one of its waiting messages from time to time;
 * when a server answers, everything that waits for the destination becomes due (Decision 0023).
 */
export interface Outages extends Closable {
  /** An attempt could not reach the destination. */
  note(domain: string): void;
  /** The destination's server has answered an attempt. */
  end(domain: string): void;
}

interface Outage {
  readonly step: number;
  readonly tryAt: number;
}

/** Trials begun per second, so that thousands of unreachable destinations do not come back at once. */
const trialsAtOnce = 32;
const rowsPerStatement = 500;
const tickMs = 1_000;

export function watchOutages({ queue, log, probeWaitsMs, reopen }: OutageDependencies): Outages {
  /** In the order of their trials, but for the first ones. */
  const outages = new Map<string, Outage>();
  const ended = new Set<string>();
  let isRead = false;
  let isClosed = false;

  function schedule(domain: string, step: number): void {
    const waitMs = probeWaitsMs[Math.min(step, probeWaitsMs.length - 1)] ?? 0;
    outages.delete(domain);
    outages.set(domain, { step, tryAt: performance.now() + waitMs });
  }

  function note(domain: string): void {
    if (!outages.has(domain)) schedule(domain, 0);
  }

  async function makeAllDue(domain: string): Promise<void> {
    for (let after: string | undefined = ''; after !== undefined && !isClosed;)
      after = await queue.makeDue(domain, rowsPerStatement, after);
  }

  async function makeEndedDue(): Promise<void> {
    for (const domain of ended) {
      // Before: it may end again meanwhile.
      ended.delete(domain);
      try {
        await makeAllDue(domain);
      } catch (error) {
        ended.add(domain);
        throw error;
      }
    }
  }

  function takeDue(): string[] {
    const due: string[] = [];
    for (const [domain, { step, tryAt }] of outages) {
      if (due.length === trialsAtOnce) break;
      if (tryAt > performance.now()) continue;
      due.push(domain);
      schedule(domain, step + 1);
    }
    return due;
  }

  async function tryOnes(): Promise<void> {
    if (!isRead) for (const domain of await queue.findOutages()) note(domain);
    isRead = true;
    for (const domain of takeDue()) {
      if (await queue.hasOutage(domain)) {
        await queue.makeOneDue(domain);
        reopen(domain);
      } else outages.delete(domain);
    }
  }

  const everyMs = Math.min(tickMs, probeWaitsMs[0] ?? tickMs);
  const trials = startRounds({ name: 'trials after outages', everyMs, log, work: tryOnes });
  // Separate rounds, so that many destinations that come back at once neither hurry nor delay trials.
  const ends = startRounds({ name: 'ends of outages', everyMs, log, work: makeEndedDue });
  return {
    note,
    end(domain) {
      if (!outages.delete(domain)) return;
      ended.add(domain);
      ends.wake();
    },
    async close() {
      isClosed = true;
      await Promise.all([trials.close(), ends.close()]);
    },
  };
}
