import { systemClock, type Clock, type Closable, type Log } from '../../core/index.ts';
import { createGuardedFetch, followRetryAfter } from '../../lib/fetch/index.ts';
import { startRounds, type Config, type Migration, type Storage, type Vault } from '../../platform/index.ts';
import type { Audit } from '../../service/audit/index.ts';
import type { Directory, ReadAhead } from '../../service/directory/index.ts';
import type { Edges } from '../../service/edges/index.ts';
import type { Messaging } from '../../service/messaging/index.ts';
import type { Oauth } from '../../service/oauth/index.ts';
import { createOperators, type Operators } from '../../service/operators/index.ts';
import type { Trust } from '../../service/trust/index.ts';
import type { Webhooks } from '../../service/webhook/index.ts';
import type { RunningEdges } from '../edges/index.ts';
import type { DomainChecks, PlaygroundPort } from '../console/index.ts';
import type { DegradedComponent, ExampleAddresses, ReadinessChecks } from '../http/index.ts';
import { buildServices } from './build-services.ts';
import { fitMemory, memoryOfProcess } from './fit-memory.ts';
import { createCheckpointExport } from './export-checkpoints.ts';
import { openCoreServices, type CoreServices } from './open-core-services.ts';
import { createResources, type Resources } from './resources.ts';
import { refuseUnreachable } from './refuse-unreachable.ts';
import { registerGauges } from './register-gauges.ts';
import {
  startConsoleListener,
  startEdgeProtocols,
  startHttp,
  startPublishing,
  startSmtp,
} from './start-edges.ts';
import { openIdSettingsOf } from './open-id-settings.ts';
import type { Watch } from './daily-warnings.ts';
import { createBackupWatch } from './watch-backups.ts';
import { createCertificateWatch } from './watch-certificates.ts';
import { createHoldWatch } from './watch-holds.ts';
import { createKeyWatch } from './watch-keys.ts';
import { createMailboxWatch } from './watch-mailboxes.ts';
import { createOpenFileWatch } from './watch-open-files.ts';
import { createClockWatch } from './watch-clock.ts';
import { createUpkeepWatch } from './watch-upkeep.ts';
import { createWebhookWatch } from './watch-webhooks.ts';
import { checkWritable, createWriteProbe } from './write-probe.ts';

export interface HispOptions {
  readonly config: Config;
  readonly log: Log;
  readonly clock?: Clock;
  /** Other steps of the schema than those of this version, for tests of upgrades. */
  readonly migrations?: readonly Migration[] | undefined;
  /** Told once, in words, if the start waits for the database. */
  readonly onWaiting?: (text: string) => void;
  /** Extra readiness checks; each rejects until ready. */
  readonly checks?: ReadinessChecks;
  /** Addresses for the examples of the API document. */
  readonly exampleAddresses?: ExampleAddresses;
  /** True where nothing real is at stake: the console shows its playground. */
  readonly isSandbox?: boolean;
  /** The playground's port, once it is available. */
  readonly findPlayground?: () => PlaygroundPort | undefined;
  /** Checks of hosted domains for the console; if absent, it shows none. */
  readonly createDomainChecks?: (
    core: Pick<CoreServices, 'config' | 'storage' | 'trust' | 'oauth' | 'clock'>,
  ) => DomainChecks;
  /** The directory's snapshot, if it is being read already; closed with the rest. */
  readonly ahead?: ReadAhead;
}

/** A running HISP. Closing it stops taking requests and mail, and lets work in progress finish. */
export interface Hisp extends Closable {
  readonly baseUrl: string;
  /** Of the console; undefined if it is disabled. */
  readonly consoleUrl: string | undefined;
  readonly smtpPort: number;
  /** Of the edge protocols that run. */
  readonly edgePorts: RunningEdges['ports'];
  readonly edges: Edges;
  readonly storage: Storage;
  readonly vault: Vault;
  readonly audit: Audit;
  readonly trust: Trust;
  readonly oauth: Oauth;
  readonly operators: Operators;
  readonly directory: Directory;
  readonly messaging: Messaging;
  readonly webhooks: Webhooks;
}

const everyTenSeconds = 10_000;
const everyMinute = 60_000;
const everyTenMinutes = 600_000;
const everyHour = 3_600_000;
const lockMarginMs = 1_000;

/**
 * Builds all resources from the configuration and starts them. If one fails to start, those before it are
 * closed.
 */
export async function startHisp(options: HispOptions): Promise<Hisp> {
  const resources = createResources(options.log);
  try {
    return await build(options, resources);
  } catch (error) {
    await resources.close();
    throw error;
  }
}

async function build(
  {
    config: given,
    log,
    clock = systemClock,
    checks = {},
    exampleAddresses,
    migrations,
    onWaiting,
    isSandbox = false,
    findPlayground = () => undefined,
    createDomainChecks,
    ahead,
  }: HispOptions,
  resources: Resources,
): Promise<Hisp> {
  if (ahead !== undefined) resources.keep(ahead);
  const config = fitMemory(given, memoryOfProcess());
  const core = await openCoreServices({ config, log, clock, migrations, onWaiting }, resources);
  const checkpoints = createCheckpointExport({
    ...core,
    post: followRetryAfter(
      createGuardedFetch({ timeoutMs: 10_000, maxBytes: 100_000, allowPrivate: true }),
      clock,
    ),
  });
  // Closed after all that writes events.
  resources.keep({ close: () => checkpoints.finish() });
  resources.keep(createServiceLog(core));
  refuseUnreachable(config, await core.trust.listDomains());
  const services = await buildServices(core, resources, ahead);
  registerGauges(core);
  const watches: Readonly<Record<string, readonly [everyMs: number, watch: Watch]>> = {
    'key dates': [everyTenMinutes, createKeyWatch(core)],
    'certificate dates': [everyTenMinutes, createCertificateWatch(core)],
    mailboxes: [everyTenMinutes, createMailboxWatch(core)],
    holds: [everyMinute, createHoldWatch(core)],
    webhooks: [everyTenMinutes, createWebhookWatch(core)],
    upkeep: [everyTenMinutes, createUpkeepWatch(core)],
    backups: [everyTenMinutes, createBackupWatch(core)],
    'open files': [everyTenSeconds, createOpenFileWatch(core)],
    clock: [everyTenSeconds, createClockWatch(core)],
    'audit checkpoint': [config.audit.checkpointSeconds * 1000, checkpoints],
  };
  const degraded = (): readonly DegradedComponent[] => {
    const shortage = core.disk.shortage();
    const disk =
      shortage === undefined ? [] : [{ part: 'disk', detail: shortage.detail, isOutage: shortage.isLow }];
    return [...disk, ...Object.values(watches).flatMap(([, watch]) => watch.degraded())];
  };
  const { url, busyTimeoutMs } = config.storage;
  // SQLite has one writer: its turn may take as long as a command's transaction.
  const patience = url === undefined ? { stuckMs: busyTimeoutMs + lockMarginMs } : {};
  const writes = createWriteProbe(() => checkWritable(core.storage), core.storage.clock, patience);
  const isStuck = (): boolean => writes.isStuck();
  const baseUrl = await startHttp(core, services, resources, { checks, degraded, exampleAddresses, writes });
  const operators = createOperators({
    ...core,
    sessionLimits: {
      idleMs: config.console.idleMinutes * everyMinute,
      lifetimeMs: config.console.sessionHours * everyHour,
    },
    attemptsPerMinute: config.console.attemptsPerMinute,
    openId: openIdSettingsOf(config),
  });
  const consoleUrl = await startConsoleListener(core, services, resources, {
    operators,
    isSandbox,
    findPlayground,
    apiUrl: baseUrl,
    degraded,
    isStuck,
    domainChecks: createDomainChecks?.(core),
  });
  const smtpPort = await startSmtp(core, services, resources);
  const edgePorts = await startEdgeProtocols(core, services, resources);
  await startPublishing(core, resources);
  const { storage, vault, audit, trust, oauth } = core;
  const { directory, messaging, webhooks, fetch } = services;
  const refreshBundles = (): Promise<unknown> =>
    storage.tryRunExclusive('trust-bundles', () => trust.refreshBundles(fetch, log));
  const timers: readonly (readonly [name: string, everyMs: number, work: () => unknown])[] = [
    ...Object.entries(watches).map(([name, [everyMs, watch]]) => [name, everyMs, () => watch.run()] as const),
    ['trust bundles', everyMinute, refreshBundles],
    ['key renewals', everyMinute, () => trust.retireReplaced()],
    // A command may have made a new data key in another process.
    ['data keys', everyMinute, () => vault.refresh()],
    ['audit retention', everyHour, () => audit.deleteOld()],
    ['console sessions', everyHour, () => operators.deleteOld()],
  ];
  for (const [name, everyMs, work] of timers) resources.keep(startRounds({ name, everyMs, log, work }));
  await webhooks.start();
  await messaging.start();
  return {
    baseUrl,
    consoleUrl,
    smtpPort,
    edgePorts,
    edges: services.edges,
    storage,
    vault,
    audit,
    trust,
    oauth,
    operators,
    directory,
    messaging,
    webhooks,
    close: () => resources.close(),
  };
}

/**
 * Records in the audit trail that this node serves, and when it ends: from these rows `evidence pack` counts
 * the time in service. After a crash, the next start names the last heartbeat.
 */
function createServiceLog({ audit, nodes }: Pick<CoreServices, 'audit' | 'nodes'>): Closable {
  const record = (action: string, more: Readonly<Record<string, string>> = {}): Promise<void> =>
    audit.record({ action, actor: 'system', outcome: 'ok', objects: { node: nodes.id, ...more } });
  const { lostAt } = nodes;
  void record('service.start', lostAt === undefined ? {} : { lostAt: lostAt.toISOString() });
  return { close: () => record('service.stop') };
}
