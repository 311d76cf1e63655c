import { getServers } from 'node:dns';
import path from 'node:path';
import { createDiscovery } from '../../lib/direct/index.ts';
import { createDnsResolver, type DnsResolver, type DnsServerAddress } from '../../lib/dns/index.ts';
import { createGuardedFetch, createKeepingFetch, type GuardedFetch } from '../../lib/fetch/index.ts';
import { loadBuiltInGazetteer } from '../../lib/geo/index.ts';
import { createLdapClient } from '../../lib/ldap/index.ts';
import { createIssuerFetcher, createRevocationChecker } from '../../lib/pki/index.ts';
import type { KeyTransport } from '../../lib/smime/index.ts';
import { createSmtpClient } from '../../lib/smtp/index.ts';
import { oidOfUuid } from '../../lib/values/index.ts';
import type { CodedValue } from '../../lib/xdm/index.ts';
import type { Config } from '../../platform/index.ts';
import { createAgent, type Agent } from '../../service/agent/index.ts';
import { createDelivery } from '../../service/delivery/index.ts';
import { createDirectory, type Directory } from '../../service/directory/index.ts';
import { createMessaging, type Messaging } from '../../service/messaging/index.ts';
import { attemptTimeoutMs, createWebhooks, type Webhooks } from '../../service/webhook/index.ts';
import type { Foundation } from './open-foundation.ts';
import type { Parts } from './parts.ts';

export interface Services {
  readonly directory: Directory;
  readonly messaging: Messaging;
  readonly webhooks: Webhooks;
  /** For issuers, CRLs and bundles. */
  readonly fetch: GuardedFetch;
}

const dayMs = 86_400_000;

/** Longest text of one message; the other limits are settings. */
const maxTextCharacters = 1_000_000;

/** Builds the services on their foundation. Messaging and webhooks work on nothing before they are started. */
export async function buildServices(foundation: Foundation, parts: Parts): Promise<Services> {
  const { config, clock } = foundation;
  const dns = parts.keep(
    createDnsResolver({
      servers: resolversOf(config),
      timeoutMs: config.dns.timeoutMs,
      attempts: config.dns.attempts,
      clock,
    }),
  );
  const allowPrivate = config.trust.allowsPrivateTargets;
  const fetch = createGuardedFetch({ timeoutMs: 10_000, maxBytes: 20_000_000, allowPrivate });
  const agent = parts.keep(buildAgent(foundation, dns, fetch));
  const webhooks = parts.keep(buildWebhooks(foundation, parts));
  const directory = parts.keep(
    await createDirectory({
      ...foundation,
      gazetteer: loadBuiltInGazetteer(),
      snapshotDir: config.directory.snapshotDir ?? path.join(config.dataDir, 'directory'),
      searchThreads: config.directory.searchThreads,
      limits: config.directory,
    }),
  );
  const messaging = await buildMessaging(foundation, parts, { dns, agent, webhooks, directory });
  return { directory, messaging, webhooks, fetch };
}

function buildAgent(
  { config, clock, trust, audit }: Foundation,
  dns: DnsResolver,
  fetch: GuardedFetch,
): Agent {
  const allowPrivate = config.trust.allowsPrivateTargets;
  const ldap = createLdapClient({ dns, timeoutMs: config.ldap.timeoutMs, allowPrivate });
  return createAgent({
    trust,
    clock,
    discovery: createDiscovery({ dns, ldap, fetch, clock }),
    fetchIssuers: createIssuerFetcher({ fetch, now: () => clock.now() }),
    checkRevocation: createRevocationChecker({ fetch }),
    keyTransports: readKeyTransports(config),
    onDoubt: ({ address, code, fingerprint }) =>
      void audit.record({ action: 'trust.doubt', outcome: 'ok', objects: { address, code, fingerprint } }),
    trustPolicy: { revocation: config.trust.failsOnUnknownRevocation ? 'hard-fail' : 'soft-fail' },
  });
}

/** `domain=transport`, as the schema of the setting has checked. */
function readKeyTransports(config: Config): ReadonlyMap<string, KeyTransport> {
  const pairs = config.trust.keyTransports.map((text) => text.split('='));
  return new Map(pairs.map(([domain = '', transport]) => [domain.toLowerCase(), transport as KeyTransport]));
}

/** Connections to webhook receivers that are kept, for how long unused, and at most. */
const keptConnections = { maxConnections: 256, idleMs: 15_000, maxAgeMs: 300_000 };

function buildWebhooks(foundation: Foundation, parts: Parts): Webhooks {
  const { allowsPrivateTargets, concurrency, disableAfterDays, deadLetterDays, attemptDays } =
    foundation.config.webhook;
  const { fetch } = parts.keep(
    createKeepingFetch(
      { timeoutMs: attemptTimeoutMs, maxBytes: 100_000, allowPrivate: allowsPrivateTargets },
      keptConnections,
    ),
  );
  return createWebhooks({
    ...foundation,
    post: fetch,
    isLoopbackAllowed: allowsPrivateTargets,
    concurrency,
    disableAfterMs: disableAfterDays * dayMs,
    retention: { keepDeadMs: deadLetterDays * dayMs, keepAttemptsMs: attemptDays * dayMs },
  });
}

interface MessagingNeeds {
  readonly dns: DnsResolver;
  readonly agent: Agent;
  readonly webhooks: Webhooks;
  readonly directory: Directory;
}

/** Delivery tells messaging of outcomes, and messaging gives delivery its work; both meet here and nowhere else. */
async function buildMessaging(
  foundation: Foundation,
  parts: Parts,
  { dns, agent, webhooks, directory }: MessagingNeeds,
): Promise<Messaging> {
  const { config, oauth, nodeId } = foundation;
  const delivery = parts.keep(
    await createDelivery({
      ...foundation,
      agent,
      dns,
      smtp: parts.keep(
        createSmtpClient({ hostname: config.smtp.hostname, timeoutMs: config.smtp.timeoutMs }),
      ),
      peerPort: config.smtp.peerPort,
      allowsPrivateHosts: config.trust.allowsPrivateTargets,
      concurrency: config.delivery.concurrency,
      leaseMs: config.delivery.leaseSeconds * 1000,
      lifetimeMs: config.delivery.giveUpHours * 3_600_000,
      retryWaitsMs: config.delivery.retryMinutes.map((minutes) => minutes * 60_000),
      keepAttemptsMs: config.delivery.keepAttemptsDays * 86_400_000,
      onOutcome: (tx, outcomes) => messaging.onDeliveryOutcome(tx, outcomes),
    }),
  );
  const settings = config.messaging;
  const messaging: Messaging = createMessaging({
    ...foundation,
    delivery,
    webhooks,
    agent,
    clients: oauth.clients,
    isListed: (address) => directory.isListed(address),
    identity: {
      hostname: config.smtp.hostname,
      sourceOid: oidOfUuid(nodeId),
      xdmCodes: {
        facilityTypeCode: readCode(settings.facilityType),
        practiceSettingCode: readCode(settings.practiceSetting),
      },
    },
    ...(settings.deniedMediaTypes.length > 0 && { deniedMediaTypes: new Set(settings.deniedMediaTypes) }),
    limits: {
      attachmentBytes: settings.maxAttachmentBytes,
      attachments: settings.maxAttachments,
      recipients: settings.maxRecipients,
      subjectLength: settings.maxSubjectCharacters,
      textLength: maxTextCharacters,
    },
    sendRate: { ratePerSecond: settings.sendsPerSecond, burst: settings.sendsBurst },
    checkLimits: {
      addresses: config.admission.maxCheckedAddresses,
      addressesPerClient: config.admission.maxCheckedAddressesPerClient,
      atOnce: config.admission.addressChecks,
      atOncePerClient: config.admission.addressChecksPerClient,
    },
    spoolLimits: {
      mails: config.admission.maxWaitingMails,
      mailsPerNetwork: config.admission.maxWaitingMailsPerNetwork,
      bytes: config.admission.maxWaitingMailBytes,
      bytesPerNetwork: config.admission.maxWaitingMailBytesPerNetwork,
    },
    retention: {
      warnUnacknowledgedMs: settings.inboxDays * dayMs,
      keepAcknowledgedMs: settings.acknowledgedDays * dayMs,
      keepDetailsMs: settings.detailsDays * dayMs,
      keepMessagesMs: settings.messageDays * dayMs,
      keepRegisterMs: settings.registerDays * dayMs,
      keepDeadLettersMs: settings.deadLetterDays * dayMs,
    },
    mailDates: {
      maxAgeMs: settings.maxMailAgeDays * dayMs,
      maxAheadMs: settings.maxMailAheadHours * 3_600_000,
    },
    spoolCaps: {
      perSenderDomain: settings.maxWaitingPerSenderDomain,
      undecidedPerNetwork: settings.maxUndecidedPerNetwork,
    },
    windows: {
      processedMs: settings.processedWindowMinutes * 60_000,
      dispatchedMs: settings.dispatchedWindowMinutes * 60_000,
    },
  });
  return parts.keep(messaging);
}

/** `code^name^scheme OID`, as the schema of the setting has checked; undefined where the operator gave none. */
function readCode(text: string | undefined): CodedValue | undefined {
  if (text === undefined) return undefined;
  const [code = '', displayName = '', codingScheme = ''] = text.split('^');
  return { code, displayName, codingScheme };
}

/** The recursive resolvers of the settings, or those of the system. */
export function resolversOf(config: Config): readonly DnsServerAddress[] {
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
