import { threadScript } from '../../core/threads/index.ts';
import { createDiscovery } from '../../lib/direct/index.ts';
import { createDnsResolver, type DnsResolver, type DnsResolverOptions } from '../../lib/dns/index.ts';
import { createKeepingFetch, type GuardedFetch } from '../../lib/fetch/index.ts';
import { loadBuiltInGazetteer } from '../../lib/geo/index.ts';
import { createLdapClient } from '../../lib/ldap/index.ts';
import { createIssuerFetcher, createRevocationChecker } from '../../lib/pki/index.ts';
import type { KeyTransport } from '../../lib/smime/index.ts';
import { addressKey, oidOfUuid } from '../../lib/values/index.ts';
import type { CodedValue } from '../../lib/xdm/index.ts';
import type { Config } from '../../platform/index.ts';
import {
  createAgent,
  createRecipientJudge,
  type Agent,
  type RecipientExplainer,
} from '../../service/agent/index.ts';
import { createDelivery, isMailDue } from '../../service/delivery/index.ts';
import {
  createDirectory,
  createProcessJobs,
  formatState,
  type Directory,
  type ReadAhead,
} from '../../service/directory/index.ts';
import { createProvisioning, type Provisioning } from '../../service/hosting/index.ts';
import { createEdges, type Edges } from '../../service/edges/index.ts';
import { createEdgeBudgets, createMailStores, type EdgeBudgets } from '../edges/index.ts';
import { loadMessaging, isInboundMailDue, type Messaging } from '../../service/messaging/index.ts';
import {
  createAddressStates,
  createProcessedNotes,
  readAddressState,
  loadVerification,
  type Verification,
} from '../../service/verification/index.ts';
import { attemptTimeoutMs, createWebhooks, type Webhooks } from '../../service/webhook/index.ts';
import { createEdgeRefusedCount } from './count-closed.ts';
import type { DirectoryProcessConfig } from './directory-process.ts';
import type { CoreServices } from './open-core-services.ts';
import { createWarningRecorder } from './record-warnings.ts';
import { createOutgoingMail } from './outgoing-mail.ts';
import { findTargetsBy } from './find-targets.ts';
import { createPkiFetch } from './pki-fetch.ts';
import { messagePolicyOf, trustPolicyOf } from './policies.ts';
import { resolversOf } from './resolvers-of.ts';
import type { Resources } from './resources.ts';

export interface Services {
  readonly directory: Directory;
  readonly messaging: Messaging;
  readonly webhooks: Webhooks;
  readonly agent: Agent & RecipientExplainer;
  readonly edges: Edges;
  readonly edgeBudgets: EdgeBudgets;
  readonly provisioning: Provisioning;
  /** For issuers, CRLs and bundles. */
  readonly fetch: GuardedFetch;
}

const dayMs = 86_400_000;

/**
 * Builds the services on the core services. Messaging and webhooks work on nothing before they are started.
 */
export async function buildServices(
  core: CoreServices,
  resources: Resources,
  ahead: ReadAhead | undefined,
): Promise<Services> {
  const { config, clock } = core;
  const dns = resources.keep(createDnsResolver({ ...dnsOptionsOf(config), clock }));
  const allowPrivate = config.trust.allowsPrivateTargets;
  const fetch = createPkiFetch(findTargetsBy(dns, { allowPrivate }));
  const agent = resources.keep(buildAgent(core, dns, fetch));
  const webhooks = resources.keep(buildWebhooks(core, resources, dns));
  const directory = resources.keep(
    await createDirectory({
      ...core,
      gazetteer: loadBuiltInGazetteer(),
      snapshotDir: config.directory.snapshotDir,
      ahead,
      searchThreads: config.directory.searchThreads,
      limits: config.directory,
      uploads: {
        folder: `${config.directory.workDir}-uploads`,
        minFreeBytes: config.admission.minFreeDiskBytes,
      },
      scheduleLookMs: 60_000,
      jobs: createProcessJobs(
        threadScript('directory-process', import.meta.url),
        directoryProcessConfig(config),
      ),
      states: createAddressStates(core.storage),
    }),
  );
  const edges = buildEdges(core);
  const edgeBudgets = createEdgeBudgets(config.edge, createEdgeRefusedCount(core));
  const messaging = await buildMessaging(core, resources, { dns, agent, webhooks, directory, edges });
  const stores = createMailStores({ hostname: config.smtp.hostname, edges, messaging, ...edgeBudgets });
  webhooks.serveStores(resources.keep(stores));
  resources.keep(await buildVerification(core, resources, directory));
  const provisioning = createProvisioning({
    ...core,
    gazetteer: loadBuiltInGazetteer(),
    findNames: (npi) => directory.findNames(npi),
  });
  return { directory, messaging, webhooks, agent, edges, edgeBudgets, provisioning, fetch };
}

function buildEdges(core: CoreServices): Edges {
  const signIns = core.metrics.counter({
    name: 'openhisp_edge_sign_ins_total',
    help: 'Sign-ins of edge accounts, by protocol and outcome.',
    labels: ['protocol', 'outcome'],
  });
  return createEdges({
    ...core,
    clients: core.oauth.clients,
    attemptsPerMinute: core.config.edge.attemptsPerMinute,
    onSignIn: (protocol, outcome) => signIns.add({ protocol, outcome }),
  });
}

/** No more of the settings leaves this process than its helper needs. */
function directoryProcessConfig(config: Config): DirectoryProcessConfig {
  const { storage, vault, directory, admission } = config;
  return { storage, vault, directory, admission };
}

function buildAgent(
  { config, clock, log, trust, audit }: CoreServices,
  dns: DnsResolver,
  fetch: GuardedFetch,
): Agent & RecipientExplainer {
  const allowPrivate = config.trust.allowsPrivateTargets;
  const ldap = createLdapClient({ dns, timeoutMs: config.ldap.timeoutMs, allowPrivate });
  return createAgent({
    trust,
    clock,
    discovery: createDiscovery({ dns, ldap, fetch, clock, budgetMs: config.trust.discoveryTimeoutMs }),
    fetchIssuers: createIssuerFetcher({ fetch, now: () => clock.now() }),
    checkRevocation: createRevocationChecker({ fetch }),
    keyTransports: readKeyTransports(config),
    onWarning: createWarningRecorder({ audit, clock, log }),
    trustPolicy: trustPolicyOf(config),
    messagePolicy: messagePolicyOf(config),
  });
}

/**
 * A fifth of a processor at most, where one certificate holds for a hundred thousand addresses; a million
 * take seventeen minutes.
 */
const judgedPerSecond = 1000;

/** All separate from those that mail uses: resolver, fetchers and caches. */
async function buildVerification(
  core: CoreServices,
  resources: Resources,
  directory: Directory,
): Promise<Verification> {
  const startVerification = await loadVerification();
  const { config, clock, storage, log, trust, nodes, metrics } = core;
  const questions = metrics.counter({
    name: 'openhisp_verification_questions_total',
    help: 'Questions that verification of the directory put to DNS, LDAP and web servers.',
  });
  const settings = config.verification;
  const allowPrivate = config.trust.allowsPrivateTargets;
  const dns = resources.keep(createDnsResolver({ ...dnsOptionsOf(config), clock }));
  return startVerification({
    storage,
    clock,
    log,
    nodes,
    listAddresses: () => directory.listAddresses(),
    sources: {
      dns,
      clock,
      ldap: createLdapClient({ dns, timeoutMs: config.ldap.timeoutMs, allowPrivate }),
      fetch: createPkiFetch(findTargetsBy(dns, { allowPrivate })),
    },
    judgeWith: (fetch) =>
      createRecipientJudge({
        trust,
        clock,
        domain: settings.domain,
        fetchIssuers: createIssuerFetcher({ fetch, now: () => clock.now() }),
        checkRevocation: createRevocationChecker({ fetch }),
        trustPolicy: trustPolicyOf(config),
      }),
    rates: {
      total: settings.queriesPerSecond,
      perServer: settings.queriesPerSecondPerServer,
      perDomain: settings.queriesPerSecondPerDomain,
      judged: judgedPerSecond,
    },
    timing: {
      intervalMs: settings.intervalDays * dayMs,
      retryMs: settings.retryMinutes * 60_000,
      spreadMs: settings.spreadHours * 3_600_000,
      samples: settings.samples,
    },
    slots: settings.slots,
    onQuestion: () => questions.add(),
    isMailWaiting: async () => (await isMailDue(storage)) || (await isInboundMailDue(storage)),
  });
}

function dnsOptionsOf(config: Config): Omit<DnsResolverOptions, 'clock'> {
  return {
    servers: resolversOf(config),
    timeoutMs: config.dns.timeoutMs,
    attempts: config.dns.attempts,
  };
}

/** `domain=transport`, as the schema of the setting has checked. */
function readKeyTransports(config: Config): ReadonlyMap<string, KeyTransport> {
  const pairs = config.trust.keyTransports.map((text) => text.split('='));
  return new Map(pairs.map(([domain = '', transport]) => [domain.toLowerCase(), transport as KeyTransport]));
}

/** Connections to webhook receivers that are kept, for how long unused, and at most. */
const keptConnections = { maxConnections: 256, idleMs: 15_000, maxAgeMs: 300_000 };

function buildWebhooks(core: CoreServices, resources: Resources, dns: DnsResolver): Webhooks {
  const { allowedHosts, allowsPrivateTargets, concurrency, disableAfterDays } = core.config.webhook;
  const { fetch } = resources.keep(
    createKeepingFetch(
      {
        timeoutMs: attemptTimeoutMs,
        maxBytes: 100_000,
        ...findTargetsBy(dns, { allowPrivate: allowsPrivateTargets, allowedHosts }),
        // A receiver that answers with a page has the notification, too.
        takesPart: true,
      },
      keptConnections,
    ),
  );
  return createWebhooks({
    ...core,
    post: fetch,
    isLoopbackAllowed: allowsPrivateTargets,
    allowedHosts,
    concurrency,
    maxContentBytes: core.config.messaging.maxWorkBytes,
    disableAfterMs: disableAfterDays * dayMs,
    retention: core.config.webhook,
  });
}

interface MessagingNeeds {
  readonly edges: Edges;
  readonly dns: DnsResolver;
  readonly agent: Agent;
  readonly webhooks: Webhooks;
  readonly directory: Directory;
}

/**
 * Delivery tells messaging the outcomes, and messaging gives delivery its work; only this module connects
 * them.
 */
async function buildMessaging(
  core: CoreServices,
  resources: Resources,
  { dns, agent, webhooks, directory, edges }: MessagingNeeds,
): Promise<Messaging> {
  const { config, oauth, nodeId, storage } = core;
  const processed = resources.keep(
    createProcessedNotes({ ...core, keepDays: config.verification.processedDays }),
  );
  // Before the delivery, which tells at once what the last process left.
  const createMessaging = await loadMessaging();
  const { smtp, port, relayHost } = createOutgoingMail(config);
  const delivery = resources.keep(
    await createDelivery({
      ...core,
      agent,
      dns,
      smtp: resources.keep(smtp),
      peerPort: port,
      relayHost,
      allowsPrivateHosts: config.trust.allowsPrivateTargets,
      concurrency: config.delivery.concurrency,
      maxLargeBytes: config.messaging.maxWorkBytes,
      leaseMs: config.delivery.leaseSeconds * 1000,
      lifetimeMs: config.delivery.giveUpHours * 3_600_000,
      retryWaitsMs: config.delivery.retryMinutes.map((minutes) => minutes * 60_000),
      probeWaitsMs: config.delivery.probeSeconds.map((seconds) => seconds * 1000),
      keepAttemptsMs: config.messaging.messageDays * 86_400_000,
      onOutcome: (tx, outcomes) => messaging.onDeliveryOutcome(tx, outcomes),
      onHoldEnded: (tx, domain) =>
        core.audit.recordIn(tx, {
          action: 'queue.release',
          actor: 'system',
          outcome: 'ok',
          objects: { domain, reason: 'the hold has ended' },
        }),
      onCertificates: (tx, certificates, at) => messaging.onDeliveryCertificates(tx, certificates, at),
    }),
  );
  const settings = config.messaging;
  const messaging: Messaging = createMessaging({
    ...core,
    delivery,
    webhooks,
    agent,
    clients: oauth.clients,
    isListed: (address) => directory.isListed(address),
    findVerification: async (address) => formatState(await readAddressState(storage, addressKey(address))),
    onProcessed: (address) => processed.note(addressKey(address)),
    dispatchesStored: (address) => edges.mailboxes.dispatchesStored(address),
    async onStored(tx, copies) {
      await edges.mailboxes.deliverIn(tx, copies);
      for (const { copyId, address } of copies)
        for (const owner of await edges.mailboxes.ownersOf(address))
          await webhooks.handOverIn(tx, owner, copyId);
    },
    onKept: (tx, message) => edges.mailboxes.keepIn(tx, message),
    identity: {
      hostname: config.smtp.hostname,
      sourceOid: oidOfUuid(nodeId),
      xdmCodes: {
        facilityTypeCode: readCode(settings.facilityType),
        practiceSettingCode: readCode(settings.practiceSetting),
      },
    },
  });
  return resources.keep(messaging);
}

/**
 * `code^name^scheme OID`, as the schema of the setting has checked; undefined where the operator gave none.
 */
function readCode(text: string | undefined): CodedValue | undefined {
  if (text === undefined) return undefined;
  const [code = '', displayName = '', codingScheme = ''] = text.split('^');
  return { code, displayName, codingScheme };
}
