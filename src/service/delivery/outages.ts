import { createGrowingCache, errorCode, type Closable, type Log } from '../../core/index.ts';
import { SmtpError } from '../../lib/smtp/index.ts';
import { createFaultLog } from '../../platform/index.ts';
import { findHosts, type AttemptDependencies } from './attempt.ts';
import type { DeliveryQueue } from './queue.ts';

export interface OutageDependencies extends Pick<
  AttemptDependencies,
  'dns' | 'smtp' | 'servers' | 'peerPort' | 'relayHost' | 'allowsPrivateHosts'
> {
  readonly queue: Pick<DeliveryQueue, 'findOutages' | 'makeDue' | 'makeOneDue' | 'hasOutage'>;
  readonly log: Log;
  /** Waits between probes of one destination, in order; the last one repeats. */
  readonly probeWaitsMs: readonly number[];
  /** One waiting message of the destination is due now: let one attempt decide. */
  readonly reopen: (domain: string) => void;
}

/**
 * Destinations that could not be reached. Each is probed by opening an SMTP session without a message; when its server answers, one
 * waiting message is tried, and when that was answered too, everything that waits for the destination becomes due (Decision 0023).
 */
export interface Outages extends Closable {
  /** An attempt could not reach the destination. */
  note(domain: string): void;
  /** The destination's server has answered an attempt. */
  end(domain: string): void;
}

interface Outage {
  step: number;
  probeAt: number;
  isProbing: boolean;
}

const probesAtOnce = 32;
const rowsPerStatement = 500;
const maxServers = 1_000;

export function watchOutages(deps: OutageDependencies): Outages {
  const { queue, log, probeWaitsMs } = deps;
  const faults = createFaultLog('outages', log);
  const outages = new Map<string, Outage>();
  const probing = new Set<Promise<void>>();
  const servers = createGrowingCache<{ readonly answers: Promise<boolean>; endedAt: number }>(maxServers);
  const closing = Promise.withResolvers<false>();
  let isClosed = false;
  const waitOf = (step: number): number => probeWaitsMs[Math.min(step, probeWaitsMs.length - 1)] ?? 0;
  // A server's answer counts for all destinations that it serves: one large peer serves thousands.
  const answerCountsMs = waitOf(0);

  function note(domain: string): void {
    const known = outages.get(domain);
    if (known === undefined) {
      outages.set(domain, { step: 0, probeAt: performance.now() + waitOf(0), isProbing: false });
      return;
    }
    if (known.probeAt > performance.now()) return;
    known.step++;
    known.probeAt = performance.now() + waitOf(known.step);
  }

  async function probe(domain: string, outage: Outage): Promise<void> {
    outage.step++;
    outage.probeAt = performance.now() + waitOf(outage.step);
    if (!(await queue.hasOutage(domain))) return void outages.delete(domain);
    // The end of the service does not wait for a server that says nothing.
    if (!(await Promise.race([answers(domain), closing.promise])) || isClosed) return;
    if ((await queue.makeOneDue(domain)) > 0) deps.reopen(domain);
  }

  async function answers(domain: string): Promise<boolean> {
    try {
      const { hosts } = await findHosts(domain, deps);
      for (const { address } of hosts) if (await isAnswering(address)) return true;
    } catch (error) {
      log.debug({ destination: domain, code: errorCode(error) }, 'a destination is still not found');
    }
    return false;
  }

  function isAnswering(address: string): Promise<boolean> {
    const known = servers.get(address);
    if (known !== undefined && performance.now() - known.endedAt < answerCountsMs) return known.answers;
    const asked = { answers: ask(address), endedAt: Infinity };
    servers.set(address, asked);
    const end = (): void => void (asked.endedAt = performance.now());
    asked.answers.then(end, end);
    return asked.answers;
  }

  async function ask(address: string): Promise<boolean> {
    try {
      await deps.smtp.check({ host: address, port: deps.peerPort });
      deps.servers.noteSession(address);
      return true;
    } catch (error) {
      if (error instanceof SmtpError) return false;
      throw error;
    }
  }

  async function makeAllDue(domain: string): Promise<void> {
    for (let after: string | undefined = ''; after !== undefined && !isClosed;)
      after = await queue.makeDue(domain, rowsPerStatement, after);
  }

  function run(work: () => Promise<void>): void {
    const running = work()
      .then(() => faults.worked('look after destinations that failed'))
      .catch((error: unknown) => faults.failed('look after destinations that failed', error));
    probing.add(running);
    void running.then(() => {
      probing.delete(running);
      tick();
    });
  }

  function tick(): void {
    if (isClosed) return;
    const now = performance.now();
    for (const [domain, outage] of outages) {
      if (probing.size >= probesAtOnce) return;
      if (outage.isProbing || outage.probeAt > now) continue;
      outage.isProbing = true;
      // Behind all others, so that many silent servers cannot keep one from being probed.
      outages.delete(domain);
      outages.set(domain, outage);
      run(() => probe(domain, outage).finally(() => (outage.isProbing = false)));
    }
  }

  run(async () => {
    for (const domain of await queue.findOutages()) note(domain);
  });
  const timer = setInterval(tick, Math.min(1_000, waitOf(0)));
  timer.unref();
  return {
    note,
    end(domain) {
      if (outages.delete(domain)) run(() => makeAllDue(domain));
    },
    async close() {
      isClosed = true;
      closing.resolve(false);
      clearInterval(timer);
      await Promise.all(probing);
    },
  };
}
