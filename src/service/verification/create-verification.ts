import type { Clock, Closable, Log } from '../../core/index.ts';
import type { GuardedFetch } from '../../lib/fetch/index.ts';
import {
  startFairWorker,
  startRounds,
  type FairLimits,
  type FairWorker,
  type Nodes,
  type Storage,
} from '../../platform/index.ts';
import type { RecipientJudge } from '../agent/index.ts';
import type { ListedAddresses } from '../directory/index.ts';
import { createAddressSource } from './address-source.ts';
import { hostOf, type NetworkSources } from './ask-domain.ts';
import { createDomainWork, leaseMs, type DomainItem } from './domain-work.ts';
import { createPace, pause, type PaceRates } from './pace.ts';
import { isRunning } from './running.ts';
import type { VerificationTables } from './tables.ts';
import { verifyDomain, type VerifyTiming } from './verify-domain.ts';

export interface VerificationOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly log: Log;
  /** The addresses of the served directory; undefined before it is loaded. */
  readonly listAddresses: () => ListedAddresses | undefined;
  /** Judges with a fetch that keeps the pace. */
  readonly judgeWith: (fetch: GuardedFetch) => RecipientJudge;
  readonly sources: NetworkSources;
  readonly rates: PaceRates;
  readonly timing: VerifyTiming & {
    /** New domains become due within this time. */
    readonly spreadMs: number;
  };
  /** Domains worked on at once. */
  readonly slots: number;
  /** True while mail waits to be worked on. */
  readonly isMailWaiting: () => Promise<boolean>;
  /** Called for each question put to the network. */
  readonly onQuestion?: (() => void) | undefined;
  readonly nodes?: Pick<Nodes, 'liveCount'>;
  /** Polling interval for the running state, waiting mail and due work. Tests lower it. */
  readonly lookMs?: number;
  readonly limits?: Partial<FairLimits>;
}

/** The background job. It works only while `setRunning` says so. */
export interface Verification extends Closable {
  /** Looks at once whether the directory has other domains. */
  refresh(): Promise<void>;
}

const defaultLookMs = 2000;

export function startVerification(options: VerificationOptions): Verification {
  const { storage, clock, log, rates, sources, timing, lookMs = defaultLookMs } = options;
  const addresses = createAddressSource(options.listAddresses);
  const work = createDomainWork(storage);
  const pace = createPace(rates, () => options.nodes?.liveCount ?? 1, options.onQuestion);
  const closing = new AbortController();
  let running = false;
  // Until it is known that none waits, some does.
  let mailWaits = true;

  const fetch: GuardedFetch = async (url, init) => {
    const host = `http:${hostOf(url)}`;
    await pace.wait(host, host);
    return sources.fetch(url, init);
  };

  async function gate(): Promise<void> {
    while (mailWaits && running) await pause(lookMs, closing.signal);
  }

  const deps = {
    storage,
    clock,
    addresses,
    work,
    judge: options.judgeWith(fetch),
    sources,
    pace,
    gate,
    timing,
    isStopping: () => !running || closing.signal.aborted,
  };

  const worker: FairWorker<DomainItem> = startFairWorker<DomainItem>({
    name: 'verification',
    log,
    leases: work.leases,
    leaseMs,
    limits: limitsOf(options),
    idleMs: lookMs,
    dueAfter: (ms) => storage.clock.now().getTime() + ms,
    claim: async (limit, excluded) =>
      running && !mailWaits && addresses.revision !== undefined ? work.claim(limit, excluded) : [],
    handle: (item) => verifyDomain(deps, item),
  });

  async function refresh(): Promise<void> {
    running = await isRunning(storage);
    if (!running) return;
    // Reads all that failed lately: not every two seconds for nothing.
    mailWaits = await options.isMailWaiting();
    await storage.tryRunExclusive('verification-domains', list);
  }

  /** Updates the list of domains to the newest revision that a node serves. */
  async function list(): Promise<void> {
    const { revision } = addresses;
    if (revision === undefined) return;
    const { listed } = await storage
      .tables<VerificationTables>()
      .selectFrom('verification_state')
      .select('listed')
      .executeTakeFirstOrThrow();
    if (listed !== '' && Number(listed) >= revision) return;
    await work.list(await addresses.domains(), String(revision), timing.spreadMs);
    worker.wake();
  }

  const following = startRounds({
    name: 'verification-look',
    everyMs: lookMs,
    log,
    work: () =>
      refresh().catch((error: unknown) => {
        // If it cannot be read, mail counts as waiting.
        mailWaits = true;
        throw error;
      }),
  });

  return {
    refresh,
    async close() {
      closing.abort();
      pace.close();
      await following.close();
      await worker.close();
    },
  };
}

function limitsOf({ slots, limits }: VerificationOptions): FairLimits {
  return {
    slots,
    share: Math.max(1, Math.floor(slots / 4)),
    slowSlots: Math.max(1, Math.floor(slots / 2)),
    slowShare: 1,
    slowAfterMs: 10_000,
    waiting: slots * 2,
    failuresBeforeBackOff: 3,
    backOffMs: 60_000,
    maxBackOffMs: 3_600_000,
    ...limits,
  };
}
