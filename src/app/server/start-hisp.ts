import { systemClock, type Clock, type Closable, type Log } from '../../core/index.ts';
import type { Config, Storage, Vault } from '../../platform/index.ts';
import type { Audit } from '../../service/audit/index.ts';
import type { Directory } from '../../service/directory/index.ts';
import type { Messaging } from '../../service/messaging/index.ts';
import type { Oauth } from '../../service/oauth/index.ts';
import type { Trust } from '../../service/trust/index.ts';
import type { Webhooks } from '../../service/webhook/index.ts';
import type { ReadinessChecks } from '../http/index.ts';
import { buildServices } from './build-services.ts';
import { openFoundation } from './open-foundation.ts';
import { createParts, type Parts } from './parts.ts';
import { refuseUnreachable } from './refuse-unreachable.ts';
import { registerGauges } from './register-gauges.ts';
import { startHttp, startPublishing, startSmtp } from './start-edges.ts';
import { startTimer } from './start-timer.ts';
import { createKeyWatch } from './watch-keys.ts';
import { createWebhookWatch } from './watch-webhooks.ts';

export interface HispOptions {
  readonly config: Config;
  readonly log: Log;
  readonly clock?: Clock;
  /** What must be true besides before `/health/ready` says 200; each throws until it is. */
  readonly checks?: ReadinessChecks;
}

/** A running HISP. Closing it stops taking requests and mail, and lets work in hand finish. */
export interface Hisp extends Closable {
  readonly baseUrl: string;
  readonly smtpPort: number;
  readonly storage: Storage;
  readonly vault: Vault;
  readonly audit: Audit;
  readonly trust: Trust;
  readonly oauth: Oauth;
  readonly directory: Directory;
  readonly messaging: Messaging;
  readonly webhooks: Webhooks;
}

const everyMinute = 60_000;
const everyTenMinutes = 600_000;
const everyHour = 3_600_000;

/** Builds all parts from the configuration and starts them. If one fails to start, those before it are closed. */
export async function startHisp(options: HispOptions): Promise<Hisp> {
  const parts = createParts(options.log);
  try {
    return await build(options, parts);
  } catch (error) {
    await parts.close();
    throw error;
  }
}

async function build(
  { config, log, clock = systemClock, checks = {} }: HispOptions,
  parts: Parts,
): Promise<Hisp> {
  const foundation = await openFoundation({ config, log, clock }, parts);
  refuseUnreachable(config, await foundation.trust.listDomains());
  const services = await buildServices(foundation, parts);
  registerGauges(foundation);
  const keyWatch = createKeyWatch(foundation);
  const webhookWatch = createWebhookWatch(foundation);
  const readiness = { checks, degraded: () => [...keyWatch.degraded(), ...webhookWatch.degraded()] };
  const baseUrl = await startHttp(foundation, services, parts, readiness);
  const smtpPort = await startSmtp(foundation, services, parts);
  await startPublishing(foundation, parts);
  const { storage, vault, audit, trust, oauth } = foundation;
  const { directory, messaging, webhooks, fetch } = services;
  const timed = { everyMs: everyMinute, log };
  const refreshBundles = (): Promise<unknown> =>
    storage.tryAlone('trust-bundles', () => trust.refreshBundles(fetch, log));
  parts.keep(startTimer({ ...timed, name: 'trust bundles', work: refreshBundles }));
  parts.keep(
    startTimer({ ...timed, name: 'key dates', everyMs: everyTenMinutes, work: () => keyWatch.run() }),
  );
  parts.keep(
    startTimer({ ...timed, name: 'webhooks', everyMs: everyTenMinutes, work: () => webhookWatch.run() }),
  );
  // A command may have made a new data key in another process.
  parts.keep(startTimer({ ...timed, name: 'data keys', work: () => vault.refresh() }));
  parts.keep(
    startTimer({ ...timed, name: 'audit retention', everyMs: everyHour, work: () => audit.deleteOld() }),
  );
  await webhooks.start();
  await messaging.start();
  return {
    baseUrl,
    smtpPort,
    storage,
    vault,
    audit,
    trust,
    oauth,
    directory,
    messaging,
    webhooks,
    close: () => parts.close(),
  };
}
