import type { Clock } from '../../core/index.ts';
import { readFreeBytes, type Config, type Metrics, type Storage } from '../../platform/index.ts';
import { readSources, type SourceStatus } from '../../service/directory/index.ts';
import { measureQueue } from '../../service/delivery/index.ts';
import {
  countDeadLetters,
  measureInboundMail,
  measureUnacknowledged,
} from '../../service/messaging/index.ts';
import { needsOperator, type Trust } from '../../service/trust/index.ts';
import { readVerificationStatus } from '../../service/verification/index.ts';
import { findFailingHooks, measureNotifications } from '../../service/webhook/index.ts';
import { readBackupState } from './backup-state.ts';

export interface GaugeSources {
  readonly config: Config;
  readonly storage: Storage;
  readonly trust: Pick<Trust, 'listBundles'>;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

/** Queues are counted at most this often, however many scrape. */
const queueCacheMs = 15_000;

/**
 * Registers the gauges for alerts. Each is read when the metrics are; one that cannot be read is NaN and does
 * not affect the others.
 */
export function registerGauges({ config, storage, trust, clock, metrics }: GaugeSources): void {
  const ageSeconds = (at: Date): number => (clock.now().getTime() - at.getTime()) / 1000;

  function measure(name: string, help: string, read: () => Promise<number>): void {
    metrics.measured({ name, help }, () => read().catch(() => Number.NaN));
  }

  measure('openhisp_disk_free_bytes', 'Room left on the disk of the data folder.', () =>
    readFreeBytes(config.dataDir),
  );
  measure(
    'openhisp_directory_age_seconds',
    'Time since the last load of the directory source that was loaded longest ago; NaN if none ever was.',
    async () => {
      const loads = (await readSources(storage)).flatMap(({ active }) => active?.finishedAt ?? []);
      return loads.length === 0 ? Number.NaN : Math.max(...loads.map((at) => ageSeconds(new Date(at))));
    },
  );
  registerSources({ storage, clock, metrics });
  measure(
    'openhisp_bundle_age_seconds',
    'Time since the last refresh of the trust bundle that waits longest; 0 without bundles.',
    async () =>
      Math.max(
        0,
        ...(await trust.listBundles()).flatMap(({ refreshedAt }) =>
          refreshedAt === undefined ? [] : [ageSeconds(refreshedAt)],
        ),
      ),
  );
  measure(
    'openhisp_bundles_failing',
    'Trust bundles that cannot be refreshed, or whose refresh is two days late.',
    async () => (await trust.listBundles()).filter(({ health }) => needsOperator(health)).length,
  );
  measure(
    'openhisp_webhooks_failing',
    'Webhooks that fail or were switched off by the service.',
    async () =>
      (await findFailingHooks(storage)).filter(
        ({ failingSince, disabledReason }) => failingSince !== undefined || disabledReason !== '',
      ).length,
  );
  measure(
    'openhisp_mail_dead_letters',
    'Inbound messages that failed on every attempt and wait for the operator.',
    () => countDeadLetters(storage),
  );
  measure(
    'openhisp_backup_age_seconds',
    'Time since the last "openhisp backup", or since the installation if there is none; NaN if backups are made by other means.',
    async () => {
      const state = await readBackupState({ config, storage, clock });
      return state === undefined ? Number.NaN : state.ageMs / 1000;
    },
  );
  registerQueues({ storage, clock, metrics });
  registerVerification({ storage, clock, metrics });
  registerInbox({ storage, clock, metrics });
}

type QueueSources = Pick<GaugeSources, 'storage' | 'clock' | 'metrics'>;

/** Gauges of each directory source, so that one that shrinks, ages or fails is seen. */
function registerSources({ storage, clock, metrics }: QueueSources): void {
  const read = shareReads(clock, () => readSources(storage));
  const gauges: readonly [string, string, (source: SourceStatus) => number | undefined][] = [
    ['records', 'Records of a directory source.', ({ active }) => active?.recordCount],
    [
      'age_seconds',
      'Time since the last load of a directory source.',
      ({ active }) =>
        active?.finishedAt === undefined
          ? undefined
          : (clock.now().getTime() - Date.parse(active.finishedAt)) / 1000,
    ],
    [
      'failing',
      '1 if the last scheduled load of a directory source failed or was refused, else 0.',
      ({ schedule }) => (schedule === undefined ? undefined : schedule.failure === undefined ? 0 : 1),
    ],
  ];
  for (const [name, help, valueOf] of gauges)
    metrics.measuredBy({ name: `openhisp_directory_source_${name}`, help, labels: ['source'] }, async () =>
      (await read()).flatMap((source) => {
        const value = valueOf(source);
        return value === undefined ? [] : [{ labels: { source: source.name }, value }];
      }),
    );
}

/** Gauges of waiting items by kind and reason: the outgoing queue, incoming mail, notifications. */
function registerQueues({ storage, clock, metrics }: QueueSources): void {
  const readQueues = shareReads(clock, async () => {
    const [outgoing, inbound] = await Promise.all([
      measureQueue(storage, clock),
      measureInboundMail(storage, clock),
    ]);
    return [...outgoing, ...inbound.map((one) => ({ ...one, kind: 'inbound' }))].map(
      ({ kind, reason, ...one }) => ({ labels: { kind, reason: reason === '' ? 'none' : reason }, ...one }),
    );
  });
  const readNotifications = shareReads(clock, async () =>
    (await measureNotifications(storage, clock)).map(({ state, ...one }) => ({ labels: { state }, ...one })),
  );
  const gauges = [
    [
      'openhisp_queue',
      'waiting messages, MDNs and DSNs (one per destination, the 20,000 oldest) and incoming mail, by the reason of the last attempt',
      ['kind', 'reason'],
      readQueues,
    ],
    [
      'openhisp_notifications',
      'notifications of webhooks that are not delivered (of each kind that waits, and of the others, up to 20,000)',
      ['state'],
      readNotifications,
    ],
  ] as const;
  for (const [name, what, labels, read] of gauges) {
    metrics.measuredBy({ name: `${name}_depth`, help: `Number of ${what}.`, labels }, async () =>
      (await read()).map((one) => ({ labels: one.labels, value: one.count })),
    );
    metrics.measuredBy(
      { name: `${name}_oldest_seconds`, help: `Age of the oldest of ${what}.`, labels },
      async () => (await read()).map((one) => ({ labels: one.labels, value: one.oldestSeconds })),
    );
  }
}

/** Counting a million rows takes about one second, so that it is done rarely. */
const verificationCacheMs = 300_000;

function registerVerification({ storage, clock, metrics }: QueueSources): void {
  const read = shareReads(clock, async () => [await readVerificationStatus(storage)], verificationCacheMs);
  metrics.measuredBy(
    {
      name: 'openhisp_verification_addresses',
      help: 'Addresses of the directory by their last verification state.',
      labels: ['state'],
    },
    async () =>
      (await read()).flatMap(({ counts }) =>
        Object.entries(counts).map(([state, value]) => ({ labels: { state }, value })),
      ),
  );
  const first = async (field: 'domains' | 'checkedDomains' | 'dueDomains'): Promise<number> =>
    (await read())[0]?.[field] ?? Number.NaN;
  metrics.measured({ name: 'openhisp_verification_domains', help: 'Domains of the directory.' }, () =>
    first('domains'),
  );
  metrics.measured(
    {
      name: 'openhisp_verification_domains_checked',
      help: 'Domains whose addresses have all been checked at least once.',
    },
    () => first('checkedDomains'),
  );
  metrics.measured(
    { name: 'openhisp_verification_domains_due', help: 'Domains that are due to be checked.' },
    () => first('dueDomains'),
  );
}

function registerInbox({ storage, clock, metrics }: QueueSources): void {
  const read = shareReads(clock, async () => [await measureUnacknowledged(storage, clock)]);
  const first = async (field: 'count' | 'oldestSeconds'): Promise<number> =>
    (await read())[0]?.[field] ?? Number.NaN;
  metrics.measured(
    { name: 'openhisp_inbox_unacknowledged', help: 'Messages in the inbox that no client has acknowledged.' },
    () => first('count'),
  );
  metrics.measured(
    {
      name: 'openhisp_inbox_unacknowledged_oldest_seconds',
      help: 'Age of the oldest of these; 0 if there is none.',
    },
    () => first('oldestSeconds'),
  );
}

/**
 * Reads for several gauges and scrapes at once; empty if it cannot be read, so that the other metrics are not
 * lost.
 */
function shareReads<Value>(
  clock: Clock,
  read: () => Promise<readonly Value[]>,
  forMs = queueCacheMs,
): () => Promise<readonly Value[]> {
  let last: Promise<readonly Value[]> | undefined;
  let readAt = 0;
  return () => {
    const now = clock.now().getTime();
    if (last !== undefined && Math.abs(now - readAt) < forMs) return last;
    readAt = now;
    last = read().catch(() => []);
    return last;
  };
}
