/** The messaging service on real storage, with the ports to other HISPs controlled by the test. */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Kysely } from 'kysely';
import { createManualClock, type ManualClock } from '../../src/core/index.ts';
import { createGuardedFetch } from '../../src/lib/fetch/index.ts';
import { addressKey, parseDirectAddress, type DirectAddress } from '../../src/lib/values/index.ts';
import {
  createContentStore,
  createLog,
  createVault,
  defaultSettings,
  type Config,
  type ContentStore,
  type Storage,
  type Vault,
} from '../../src/platform/index.ts';
import type { RefusedRecipient, ResolvedRecipients } from '../../src/service/agent/index.ts';
import { createAudit, type Audit } from '../../src/service/audit/index.ts';
import type {
  DeliveryOutcome,
  DeliveryRequest,
  QueuedDestination,
} from '../../src/service/delivery/index.ts';
import {
  loadMessaging,
  type InboundPayload,
  type DirectLimits,
  type IncomingAgent,
  type Messaging,
  type MessagingOptions,
  type MessagingTables,
} from '../../src/service/messaging/index.ts';
import { createOauth, type ClientIdentity, type Oauth } from '../../src/service/oauth/index.ts';
import { createDeadline } from '../support/time-scale.ts';
import { createTrust, type Trust } from '../../src/service/trust/index.ts';
import { createMigratedDatabase, openTestStorage, type TestDatabase } from '../support/storage.ts';
import { createWebhooks, type WebhookOptions, type Webhooks } from '../../src/service/webhook/index.ts';

export const alice = parseDirectAddress('alice@direct.alpha.example');
export const anna = parseDirectAddress('anna@direct.alpha.example');
export const mallory = parseDirectAddress('mallory@direct.alpha.example');
export const bob = parseDirectAddress('bob@direct.beta.example');
export const carol = parseDirectAddress('carol@direct.gamma.example');

/** The agent's treatment of incoming mail, chosen by the test. */
export type OpenIncoming = IncomingAgent['openIncoming'];

export interface TestMessaging {
  readonly dir: string;
  readonly clock: ManualClock;
  readonly storage: Storage;
  readonly vault: Vault;
  readonly contents: ContentStore;
  readonly settings: Config['messaging'];
  readonly db: Kysely<MessagingTables>;
  readonly audit: Audit;
  readonly trust: Trust;
  readonly oauth: Oauth;
  readonly webhooks: Webhooks;
  readonly messaging: Messaging;
  /** Owns alice and anna. */
  readonly clinic: ClientIdentity;
  /** Owns mallory only. */
  readonly otherClient: ClientIdentity;
  /** Requests passed to delivery, in order. */
  readonly deliveries: DeliveryRequest[];
  /** Delivery's answer about waiting destinations. */
  readonly waiting: QueuedDestination[];
  /** Every line that went to the log. */
  readonly logLines: string[];
  /** Answers of the agent for addresses that are refused. */
  readonly refusals: Map<string, RefusedRecipient>;
  setOpenIncoming(open: OpenIncoming): void;
  /** From now on no delivery can be stored; undefined ends that. */
  breakDelivery(fault: Error | undefined): void;
  /** Reports the outcome of a delivery to the service, as delivery does. */
  report(outcome: Partial<DeliveryOutcome> & Pick<DeliveryOutcome, 'deliveryId' | 'outcome'>): Promise<void>;
  /** Passes in mail and waits until it has been worked on. */
  receive(mail: {
    from: DirectAddress;
    to: readonly string[];
    inner: string | Uint8Array;
    mailFrom?: string;
  }): Promise<void>;
  close(): Promise<void>;
}

export interface StartOptions {
  /** Where they differ from the defaults. */
  readonly settings?: Partial<Config['messaging']>;
  readonly admission?: Partial<Config['admission']>;
  readonly trustSettings?: Partial<Config['trust']>;
  /** Polling interval of the queues without a notification. */
  readonly idleMs?: number;
  /** Longest wait for a lock, in place of the default. */
  readonly busyTimeoutMs?: number;
  /** One of several nodes over one database. */
  readonly node?: TestNode;
  /** `spoolAll` for tests of what is spooled. */
  readonly directLimits?: DirectLimits;
  /** By default no webhook rests: the manual clock decides when something is retried. */
  readonly webhookLimits?: WebhookOptions['limits'];
  /** Finds recipients' certificates; by default all have some but those in `refusals`. */
  readonly resolveRecipients?: (recipients: readonly DirectAddress[]) => Promise<ResolvedRecipients>;
  /** Starts the workers; otherwise nothing happens by itself. */
  readonly isStarted?: boolean;
  readonly dir?: string;
  readonly dispatchesStored?: MessagingOptions['dispatchesStored'];
  readonly onStored?: MessagingOptions['onStored'];
  readonly onKept?: MessagingOptions['onKept'];
}

export interface TestNode {
  readonly database: TestDatabase;
  readonly vaultKey: Buffer;
  readonly clock: ManualClock;
}

/** Resources that several nodes share. */
export async function createTestNodes(): Promise<TestNode> {
  return {
    database: await createMigratedDatabase(),
    vaultKey: randomBytes(32),
    clock: createManualClock(startedAt),
  };
}

async function openNode({ node, busyTimeoutMs }: StartOptions, clock: ManualClock): Promise<Storage> {
  const options = { clock, ...(busyTimeoutMs !== undefined && { busyTimeoutMs }) };
  if (node === undefined) return openTestStorage(options);
  const storage = await node.database.open(options);
  await storage.migrate();
  return storage;
}

/** Nothing is processed before it is spooled. */
export const spoolAll: DirectLimits = { maxBytes: 0, slots: 0, share: 0, budgetMs: 0 };

const startedAt = new Date('2026-11-21T12:00:00.000Z');

export async function startTestMessaging(options: StartOptions = {}): Promise<TestMessaging> {
  const dir = options.dir ?? (await mkdtemp(path.join(tmpdir(), 'openhisp-messaging-')));
  const clock = options.node?.clock ?? createManualClock(startedAt);
  const storage = await openNode(options, clock);
  const vault = createVault(options.node?.vaultKey ?? randomBytes(32));
  const logLines: string[] = [];
  const log = createLog({ level: 'debug', isReadable: false, write: (line) => logLines.push(line) });
  const audit = createAudit({ storage, vault, clock, log });
  const oauth = createOauth({ storage, vault, clock, audit });
  const trust = createTrust({ storage, vault, clock, audit });
  await trust.addDomain('direct.alpha.example');
  for (const address of [alice, anna, mallory]) await trust.putAddress(address);
  await trust.putAddress(parseDirectAddress('gone@direct.alpha.example'), 'disabled');
  const webhooks = createWebhooks({
    storage,
    vault,
    clock,
    log,
    audit,
    post: createGuardedFetch({ timeoutMs: 2000, maxBytes: 10_000, allowPrivate: true }),
    isLoopbackAllowed: true,
    idleMs: options.idleMs ?? 20,
    random: () => 0.5,
    limits: options.webhookLimits ?? { failuresBeforeBackOff: 1000 },
  });
  const deliveries: DeliveryRequest[] = [];
  const refusals = new Map<string, RefusedRecipient>();
  const waiting: QueuedDestination[] = [];
  let openIncoming: OpenIncoming = openPlain;
  let deliveryFault: Error | undefined;
  const settings = { ...defaultSettings.messaging, ...options.settings };
  const messaging = (await loadMessaging())({
    storage,
    vault,
    clock,
    log,
    audit,
    trust,
    webhooks,
    clients: oauth.clients,
    identity: { hostname: 'hisp.alpha.example', sourceOid: '1.3.6.1.4.1.21367.1' },
    delivery: {
      prepare: async (request) => request,
      async enqueue(tx, request) {
        if (deliveryFault !== undefined) throw deliveryFault;
        storage.afterCommit(tx, () => deliveries.push(request));
      },
      listAttempts: async () => [],
      findWaiting: async (ids) => waiting.filter(({ deliveryId }) => ids.includes(deliveryId)),
    },
    agent: {
      openIncoming: (envelope, open) => openIncoming(envelope, open),
      resolveRecipients: async (_from, recipients) =>
        options.resolveRecipients?.(recipients) ?? resolve(recipients, refusals),
    },
    config: {
      messaging: settings,
      admission: { ...defaultSettings.admission, ...options.admission },
      trust: { ...defaultSettings.trust, ...options.trustSettings },
    },
    idleMs: options.idleMs ?? 20,
    dispatchesStored: options.dispatchesStored,
    onStored: options.onStored,
    onKept: options.onKept,
    ...(options.directLimits === undefined ? {} : { directLimits: options.directLimits }),
  });
  if (options.isStarted !== false) {
    await webhooks.start();
    await messaging.start();
    await endFirstRounds(storage);
  }
  const db = storage.tables<MessagingTables>();
  return {
    dir,
    clock,
    storage,
    vault,
    contents: createContentStore({ storage, vault, clock }),
    settings,
    db,
    audit,
    trust,
    oauth,
    webhooks,
    messaging,
    clinic: await createClient(oauth, 'clinic', [
      alice,
      anna,
      'gone@direct.alpha.example',
      'nobody@direct.alpha.example',
    ]),
    otherClient: await createClient(oauth, 'other', [mallory]),
    deliveries,
    waiting,
    logLines,
    refusals,
    breakDelivery(fault) {
      deliveryFault = fault;
    },
    setOpenIncoming(open) {
      openIncoming = open;
    },
    async report(outcome) {
      const full: DeliveryOutcome = {
        kind: 'message',
        messageId: outcome.deliveryId,
        sender: alice,
        recipient: bob,
        at: clock.now(),
        ...outcome,
      };
      await storage.transaction((tx: Kysely<unknown>) => messaging.onDeliveryOutcome(tx, [full]));
    },
    async receive({ from, to, inner, mailFrom }) {
      // No two mails at the same time, so that the inbox has one order.
      clock.advance(1);
      await messaging.acceptInbound({
        mailFrom: mailFrom ?? from,
        recipients: to,
        message: wrapPlain(from, inner),
      });
      await waitUntil(
        async () =>
          (await db.selectFrom('inbound_mail').select('id').where('state', '=', 'waiting').execute())
            .length === 0,
      );
    },
    async close() {
      await messaging.close();
      await webhooks.close();
      await audit.close();
      await storage.close();
      await rm(dir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** The test's own outer form: one line with the verified sender, then the inner message. */
function wrapPlain(from: DirectAddress, inner: string | Uint8Array): Uint8Array {
  return Buffer.concat([
    Buffer.from(`${from}\n`),
    typeof inner === 'string' ? Buffer.from(inner.replaceAll(/\r?\n/g, '\r\n')) : inner,
  ]);
}

/** Opens that form for every recipient of our domain. */
export const openPlain: OpenIncoming = async ({ message, recipients }) => {
  const end = message.indexOf(0x0a);
  const sender = parseDirectAddress(Buffer.from(message.subarray(0, end)).toString());
  return { inner: message.subarray(end + 1), sender, recipients, binding: 'address' };
};

function resolve(
  recipients: readonly DirectAddress[],
  refusals: ReadonlyMap<string, RefusedRecipient>,
): ResolvedRecipients {
  const refused = recipients.flatMap((address) => refusals.get(addressKey(address)) ?? []);
  const names = new Set(refused.map((refusal) => addressKey(refusal.recipient)));
  const usable = recipients
    .filter((address) => !names.has(addressKey(address)))
    .map((address) => ({ address, certificates: [] }));
  return { usable, refused };
}

export async function createClient(
  oauth: Oauth,
  clientId: string,
  directAddresses: readonly string[],
): Promise<ClientIdentity> {
  const known = await oauth.clients.get(clientId).catch(() => undefined);
  if (known !== undefined) return known;
  await oauth.clients.create({
    clientId,
    clientSecret: `${clientId}-secret-0123456789`,
    name: clientId,
    scopes: ['messaging.api'],
    directAddresses,
  });
  return oauth.clients.get(clientId);
}

/**
 * Waits for the first round of each task that has the next one a minute or more later: a test that moves the
 * clock and runs such a task itself would otherwise meet it under load.
 */
async function endFirstRounds(storage: Storage): Promise<void> {
  // The workers begin theirs before this.
  await new Promise((done) => setImmediate(done));
  for (const task of ['messaging-housekeeping', 'messaging-usage', 'webhook-purge'])
    await waitUntil(
      async () => (await storage.tryRunExclusive(task, async () => true)) !== undefined,
      `the first round of ${task}`,
    );
}

/** Waits for something that background work brings about; fails with an error. */
export async function waitUntil(
  isDone: () => Promise<boolean> | boolean,
  what = 'the expected change',
): Promise<void> {
  const deadline = createDeadline(15_000);
  while (!(await isDone())) {
    if (deadline.isOver()) throw new Error(`waited in vain for ${what}`);
    await new Promise((done) => setTimeout(done, 10));
  }
}

/** The inbox's answer for one message. */
export async function readPayload(
  { messaging }: TestMessaging,
  ...request: Parameters<Messaging['readInbox']>
): Promise<InboundPayload> {
  return JSON.parse(Buffer.from(await messaging.readInbox(...request)).toString()) as InboundPayload;
}

/** The smallest send request. */
export function sendBody(changes: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return { fromDirectAddress: alice, toDirectAddress: bob, messageBody: 'Hello', ...changes };
}

export const base64 = (text: string | Uint8Array): string => Buffer.from(text).toString('base64');
export const newUrn = (): string => `urn:uuid:${randomUUID()}`;
