import { readFileSync } from 'node:fs';
import { getServers } from 'node:dns';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import packageJson from '../../../package.json' with { type: 'json' };
import { systemClock, type Clock, type Closable, type Log } from '../../core/index.ts';
import { createDiscovery } from '../../lib/direct/index.ts';
import { createDnsResolver, createDnsServer, type DnsServerAddress } from '../../lib/dns/index.ts';
import { createGuardedFetch } from '../../lib/fetch/index.ts';
import { loadBuiltInGazetteer } from '../../lib/geo/index.ts';
import { createLdapClient, createLdapResponder } from '../../lib/ldap/index.ts';
import { createIssuerFetcher, createRevocationChecker } from '../../lib/pki/index.ts';
import { createSmtpClient } from '../../lib/smtp/index.ts';
import { findDirectAddress, oidOfUuid } from '../../lib/values/index.ts';
import {
  createMetrics,
  holdDataDir,
  loadMasterKey,
  nodeId,
  openStorage,
  openVault,
  tablesOf,
  type Config,
  type Storage,
  type Vault,
} from '../../platform/index.ts';
import { createAgent } from '../../service/agent/index.ts';
import { createAudit, type Audit } from '../../service/audit/index.ts';
import { createDelivery } from '../../service/delivery/index.ts';
import { createDirectory, type Directory } from '../../service/directory/index.ts';
import { createMessaging, type Messaging } from '../../service/messaging/index.ts';
import { createOauth, type Oauth } from '../../service/oauth/index.ts';
import { createTrust, type Trust } from '../../service/trust/index.ts';
import { attemptTimeoutMs, createWebhooks, type Webhooks } from '../../service/webhook/index.ts';
import { createHttpApp, directoryRoutes, messagingRoutes } from '../http/index.ts';
import { startSmtpListener } from '../smtp/index.ts';
import { createHostedZones } from './hosted-zones.ts';
import { startTimer } from './start-timer.ts';

export interface HispOptions {
  readonly config: Config;
  readonly log: Log;
  readonly clock?: Clock;
  /** What must be true besides before `/health/ready` says 200; each throws until it is. */
  readonly checks?: Readonly<Record<string, () => Promise<void>>>;
}

/** A running HISP. Closing it stops taking requests and mail, lets work in hand finish, and gives back its leases. */
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

/** Builds all parts from the configuration and starts them. If one fails to start, those before it are closed. */
export async function startHisp(options: HispOptions): Promise<Hisp> {
  const parts: Closable[] = [];
  try {
    return await build(options, parts);
  } catch (error) {
    await closeAll(parts);
    throw error;
  }
}

async function build({ config, log, clock = systemClock, checks }: HispOptions, parts: Closable[]): Promise<Hisp> {
  const keep = <Part extends Closable>(part: Part): Part => {
    parts.unshift(part);
    return part;
  };
  keep(holdDataDir(config.dataDir));
  const storage = keep(
    await openStorage({ file: config.storage.file ?? '', busyTimeoutMs: config.storage.busyTimeoutMs }),
  );
  await storage.migrate();
  const vault = await openVault({ storage, masterKey: loadMasterKey(masterKeySource(config)), clock });
  const audit = keep(createAudit({ storage, clock, log, flushMs: config.audit.flushMs }));
  const node = nodeId(config.dataDir);
  const oauth = createOauth({
    storage,
    clock,
    audit,
    limits: config.oauth,
    acceptsQueryParameters: config.oauth.acceptsQueryParameters,
  });
  const trust = createTrust({ storage, vault, clock });

  const dns = keep(
    createDnsResolver({
      servers: resolversOf(config),
      timeoutMs: config.dns.timeoutMs,
      attempts: config.dns.attempts,
      clock,
    }),
  );
  const allowPrivate = config.trust.allowsPrivateTargets;
  const fetch = createGuardedFetch({ timeoutMs: 10_000, maxBytes: 20_000_000, allowPrivate });
  const agent = keep(
    createAgent({
      trust,
      clock,
      discovery: createDiscovery({
        dns,
        ldap: createLdapClient({ dns, timeoutMs: config.ldap.timeoutMs, allowPrivate }),
        fetch,
        clock,
      }),
      fetchIssuers: createIssuerFetcher({ fetch, now: () => clock.now() }),
      checkRevocation: createRevocationChecker({ fetch }),
      trustPolicy: { revocation: config.trust.failsOnUnknownRevocation ? 'hard-fail' : 'soft-fail' },
    }),
  );
  const webhooks = keep(
    createWebhooks({
      storage,
      vault,
      clock,
      log,
      audit,
      nodeId: node,
      post: createGuardedFetch({
        timeoutMs: attemptTimeoutMs,
        maxBytes: 100_000,
        allowPrivate: config.webhook.allowsPrivateTargets,
      }),
      isLoopbackAllowed: config.webhook.allowsPrivateTargets,
      concurrency: config.webhook.concurrency,
    }),
  );
  const smtp = keep(createSmtpClient({ hostname: config.smtp.hostname, timeoutMs: config.smtp.timeoutMs }));
  const delivery = keep(
    await createDelivery({
      storage,
      vault,
      clock,
      log,
      agent,
      dns,
      nodeId: node,
      smtp,
      peerPort: config.smtp.peerPort,
      concurrency: config.delivery.concurrency,
      leaseMs: config.delivery.leaseSeconds * 1000,
      lifetimeMs: config.delivery.giveUpHours * 3_600_000,
      retryWaitsMs: config.delivery.retryMinutes.map((minutes) => minutes * 60_000),
      onOutcome: (tx, outcome) => messaging.onDeliveryOutcome(tablesOf(tx), outcome),
    }),
  );
  const messaging: Messaging = keep(
    createMessaging({
      storage,
      vault,
      clock,
      log,
      audit,
      trust,
      delivery,
      webhooks,
      clients: oauth.clients,
      agent,
      nodeId: node,
      identity: { hostname: config.smtp.hostname, sourceOid: oidOfUuid(node) },
      deniedMediaTypes: new Set(config.messaging.deniedMediaTypes),
      limits: {
        attachmentBytes: config.messaging.maxAttachmentBytes,
        attachments: config.messaging.maxAttachments,
        recipients: config.messaging.maxRecipients,
        subjectLength: config.messaging.maxSubjectCharacters,
        textLength: 1_000_000,
      },
      windows: {
        processedMs: config.messaging.processedWindowMinutes * 60_000,
        dispatchedMs: config.messaging.dispatchedWindowMinutes * 60_000,
      },
    }),
  );
  const directory = keep(
    await createDirectory({
      storage,
      clock,
      log,
      audit,
      gazetteer: loadBuiltInGazetteer(),
      snapshotDir: config.directory.snapshotDir ?? path.join(config.dataDir, 'directory'),
      searchThreads: config.directory.searchThreads,
      limits: config.directory,
    }),
  );

  const sendLimits = { ratePerSecond: config.messaging.sendsPerSecond, burst: config.messaging.sendsBurst };
  const app = await createHttpApp({
    config: config.http,
    log,
    oauth,
    audit,
    metrics: createMetrics({ withProcess: true }),
    version: packageJson.version,
    checks: {
      storage: () => storage.check(),
      directory: async () => {
        if (!directory.isReady()) throw new Error('the directory index is being loaded');
      },
      ...checks,
    },
    routes: [
      directoryRoutes({ directory }),
      messagingRoutes({
        messaging,
        webhooks,
        clock,
        sendLimits,
      }),
    ],
  });
  await app.listen({ host: config.http.host, port: config.http.port });
  keep({ close: () => app.close() });
  const listener = keep(
    await startSmtpListener({
      host: config.smtp.host,
      port: config.smtp.port,
      hostname: config.smtp.hostname,
      limits: {
        maxMessageBytes: config.smtp.maxMessageBytes,
        maxConnections: config.smtp.maxConnections,
        idleMs: config.smtp.timeoutMs,
      },
      ...readTls(config),
      trust,
      messaging,
      log,
    }),
  );
  await startPublishing(config, trust, keep);
  keep(
    startTimer({ everyMs: 60_000, log, name: 'trust bundles', work: () => trust.refreshBundles(fetch, log) }),
  );
  await webhooks.start();
  await messaging.start();
  delivery.wake();

  const { port } = app.server.address() as AddressInfo;
  const scheme = config.http.tlsKeyFile === undefined ? 'http' : 'https';
  return {
    baseUrl: config.http.publicUrl ?? `${scheme}://${config.http.host}:${port}`,
    smtpPort: listener.port,
    storage,
    vault,
    audit,
    trust,
    oauth,
    directory,
    messaging,
    webhooks,
    close: () => closeAll(parts),
  };
}

/** Answers for the hosted domains by DNS and LDAP, where the operator wants that (HOST-01 to HOST-03). */
async function startPublishing(
  config: Config,
  trust: Trust,
  keep: (part: Closable) => Closable,
): Promise<void> {
  if (config.dns.isServing) {
    const ldap = config.ldap.isServing
      ? { ldap: { hostname: config.smtp.hostname, port: config.ldap.port } }
      : {};
    const zones = createHostedZones({ trust, mailHostname: config.smtp.hostname, ...ldap });
    keep(await createDnsServer({ host: config.dns.host, port: config.dns.port, zones }));
  }
  if (config.ldap.isServing) {
    const { host, port } = config.ldap;
    keep(await createLdapResponder({ host, port, findCertificates: (mail) => findPublished(trust, mail) }));
  }
}

async function findPublished(trust: Trust, mail: string): Promise<readonly Uint8Array[]> {
  const isKnown = findDirectAddress(mail) !== undefined || (await trust.isHostedDomain(mail));
  return isKnown ? trust.findPublished(mail) : [];
}

function resolversOf(config: Config): readonly DnsServerAddress[] {
  const texts = config.dns.resolvers.length > 0 ? config.dns.resolvers : getServers().map(withPort);
  return texts.map((text) => {
    const colon = text.lastIndexOf(':');
    return { host: text.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(text.slice(colon + 1)) };
  });
}

function withPort(server: string): string {
  if (/^\[.*\]:\d+$|^[^:]+:\d+$/.test(server)) return server;
  return server.includes(':') ? `[${server}]:53` : `${server}:53`;
}

function masterKeySource(config: Config): {
  base64: string | undefined;
  file: string | undefined;
  createsFile: boolean;
} {
  return { base64: config.vault.masterKey, file: config.vault.masterKeyFile, createsFile: true };
}

function readTls({ smtp }: Config): { tls?: { key: Buffer; cert: Buffer } } {
  if (smtp.tlsKeyFile === undefined || smtp.tlsCertificateFile === undefined) return {};
  return { tls: { key: readFileSync(smtp.tlsKeyFile), cert: readFileSync(smtp.tlsCertificateFile) } };
}

async function closeAll(parts: readonly Closable[]): Promise<void> {
  for (const part of parts) await part.close();
}
