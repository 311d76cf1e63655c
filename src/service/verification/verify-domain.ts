import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../core/index.ts';
import type { AttemptVerdict, Storage } from '../../platform/index.ts';
import type { RecipientJudge } from '../agent/index.ts';
import type { DirectAddress } from '../../lib/values/index.ts';
import type { AddressSource } from './address-source.ts';
import { askDomain, findNameServer, type DomainDiscovery, type NetworkSources } from './ask-domain.ts';
import type { DomainItem, DomainWork, WorkResult } from './domain-work.ts';
import type { Pace } from './pace.ts';
import { stateOf, type Verified } from './state-of.ts';

export interface VerifyDependencies {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly addresses: AddressSource;
  readonly work: DomainWork;
  readonly judge: RecipientJudge;
  readonly sources: NetworkSources;
  readonly pace: Pace;
  /** Ends when no mail waits. */
  readonly gate: () => Promise<void>;
  /** True if work is to end soon: paused, or closing. */
  readonly isStopping: () => boolean;
  readonly timing: VerifyTiming;
}

export interface VerifyTiming {
  /** From one cycle of a domain to the next. */
  readonly intervalMs: number;
  /** After a cycle in which nothing answered; twice as long each time, up to the interval. */
  readonly retryMs: number;
  /** Addresses of a domain that are asked for their own certificate although the domain has one. */
  readonly samples: number;
}

/** Addresses, and time, of one piece of work; then the domain takes its turn again. */
const pieceAddresses = 200;
const pieceMs = 30_000;
/** Without the network: of a domain that does not answer, and of one whose certificate holds for all. */
const addressesPerTurn = 10;

/** Works on one piece of a domain and stores the result. */
export async function verifyDomain(deps: VerifyDependencies, item: DomainItem): Promise<AttemptVerdict> {
  if (item.nameServer === '') return identify(deps, item);
  const { storage, clock, addresses } = deps;
  const all = await addresses.addressesOf(item.id);
  const from = item.doneUpTo === '' ? 0 : firstAfter(all, item.doneUpTo);
  const asked = askDomain({
    domain: item.id,
    nameServer: item.nameServer,
    sources: deps.sources,
    pace: deps.pace,
    gate: deps.gate,
    isSampled: sampler(item, all.length, deps.timing.samples),
  });
  const startedAt = item.cycleStartedAt === 0 ? storage.clock.now().getTime() : item.cycleStartedAt;
  const found = await judgeSome(deps, asked, all, from);
  const result = {
    found,
    cycleStartedAt: startedAt,
    queries: item.queries + asked.queries,
    ...nextStep({ deps, item, asked, found, count: all.length, from }),
  };
  await deps.work.store(item, result, clock.now().getTime());
  return asked.isUnreachable ? 'failing' : 'ok';
}

async function identify(
  { sources, pace, gate, work }: VerifyDependencies,
  item: DomainItem,
): Promise<AttemptVerdict> {
  let queries = 0;
  const nameServer = await findNameServer(item.id, sources.dns, async () => {
    await gate();
    await pace.wait(item.id, item.id);
    queries++;
  });
  await work.setNameServer(item, nameServer, queries);
  return 'ok';
}

async function judgeSome(
  { judge, isStopping, gate, pace }: VerifyDependencies,
  asked: DomainDiscovery,
  all: readonly DirectAddress[],
  from: number,
): Promise<[string, Verified][]> {
  const found: [string, Verified][] = [];
  const untilMs = performance.now() + pieceMs;
  await asked.prepare();
  const piece = all.slice(from, from + pieceAddresses);
  for (const address of piece) {
    if (isStopping() || performance.now() > untilMs) break;
    if (found.length % addressesPerTurn === 0) {
      await gate();
      await pace.waitToJudge(Math.min(addressesPerTurn, piece.length - found.length));
      await nextTurn();
    }
    asked.begin(address);
    found.push([address, stateOf(await judge.judge(address, asked.discovery))]);
  }
  return found;
}

interface Step {
  readonly deps: VerifyDependencies;
  readonly item: DomainItem;
  readonly asked: DomainDiscovery;
  readonly found: readonly (readonly [string, Verified])[];
  readonly count: number;
  readonly from: number;
}

function nextStep({
  deps,
  item,
  asked,
  found,
  count,
  from,
}: Step): Omit<WorkResult, 'found' | 'queries' | 'cycleStartedAt'> {
  const { storage, clock, timing } = deps;
  const now = storage.clock.now().getTime();
  const isEnd = from + found.length >= count;
  const asksAll = item.asksAll || asked.exceptions > 0;
  const same = { asksAll, failures: item.failures, cycle: item.cycle, checkedAt: null };
  // An address has a certificate although its domain has one: from now on each address is queried.
  if (asksAll && !item.asksAll && !(isEnd && from === 0 && count <= timing.samples))
    return { ...same, doneUpTo: '', nextAttemptAt: now };
  if (!isEnd) {
    const doneUpTo = found.at(-1)?.[0] ?? item.doneUpTo;
    // A domain that does not answer is not asked once for each piece in a row.
    const waitMs = asked.isUnreachable ? unreachableWaitMs : 0;
    return { ...same, doneUpTo, nextAttemptAt: now + waitMs };
  }
  const silent = found.filter(([, { state }]) => state === 'unreachable').length;
  const failures = silent * 2 > found.length ? item.failures + 1 : 0;
  const waitMs =
    failures === 0
      ? timing.intervalMs * (0.9 + 0.2 * Math.random())
      : Math.min(timing.intervalMs, timing.retryMs * 2 ** Math.min(failures - 1, 20));
  return {
    asksAll,
    failures,
    cycle: item.cycle + 1,
    doneUpTo: '',
    nextAttemptAt: now + Math.floor(waitMs),
    checkedAt: clock.now().getTime(),
  };
}

const unreachableWaitMs = 60_000;

/** Each cycle samples other addresses, so that in time all are asked. */
function sampler(
  { asksAll, cycle }: DomainItem,
  count: number,
  samples: number,
): (address: DirectAddress) => boolean {
  const groups = asksAll ? 1 : Math.ceil(count / samples);
  if (groups <= 1) return () => true;
  return (address) => {
    const hash = createHash('sha256').update(address).digest().readUInt32BE(0);
    return (hash + cycle) % groups === 0;
  };
}

function firstAfter(sorted: readonly string[], key: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] as string) <= key) low = middle + 1;
    else high = middle;
  }
  return low;
}
