import type { Kysely } from 'kysely';
import { type Closable, createBudget } from '../../core/index.ts';
import { type DirectAddress, domainOf } from '../../lib/values/index.ts';
import {
  type AnyTransaction,
  type Config,
  createContentStore,
  createFairSlots,
  createFaultLog,
  defaultSettings,
  type Metrics,
  type Nodes,
  type Worker,
} from '../../platform/index.ts';
import type { CertificateListener, DeliveryOutcome } from '../delivery/index.ts';
import { createRowAlarm } from '../integrity/index.ts';
import type { ClientIdentity } from '../oauth/index.ts';
import { createDayLimits, createStorageLimits } from '../organizations/index.ts';
import type { InboundDocument, OpenOptions } from './contents/inbound-document.ts';
import { createWorkerPool } from './contents/worker-pool.ts';
import { createEventCounts } from './count-events.ts';
import { MessagingError } from './errors.ts';
import { buildEvidence } from './evidence/build-evidence.ts';
import { keepCertificates } from './evidence/keep-certificates.ts';
import { type SignedEvidence, signEvidence } from './evidence/sign-evidence.ts';
import { startHousekeeping } from './housekeeping.ts';
import { createIntake, defaultDirectLimits, type DirectLimits } from './inbound/accept-mail.ts';
import { type MailWorkers, startMailWorkers } from './inbound/mail-workers.ts';
import type { IncomingMail } from './inbound/mail.ts';
import { createSpoolRoom, type MailOrigin, type SpoolRoom } from './inbound/spool-room.ts';
import { acknowledge, acknowledgeAll } from './inbox/acknowledge.ts';
import { findEntry, getEntry, type InboxEntry } from './inbox/inbox-access.ts';
import { type InboxPage, type InboxQuery, listInbox } from './inbox/list-inbox.ts';
import { requireOwnRow } from './inbox/require-own-row.ts';
import type { SendLimits } from './limits.ts';
import { createMessagingOperator, type MessagingOperator } from './operator/operator.ts';
import {
  type MessagingDependencies,
  noWrappingRules,
  type RequestOrigin,
  type WrappingRules,
} from './ports.ts';
import { requireReceiver } from './require-owned.ts';
import { authorizeSender, type SendAnswer } from './send/accept-message.ts';
import {
  type AddressCheck,
  type AddressQuestion,
  checkAddresses,
  checkRecipients,
} from './send/check-addresses.ts';
import { findSent, listSentStates, readSent } from './send/kept-messages.ts';
import { createSendLimit, type LimitSends } from './send/limit-sends.ts';
import { sendMessage } from './send/send-message.ts';
import { type SubmitAnswer, submitMessage, type SubmittedMail } from './send/submit-message.ts';
import { startWindowTimer } from './status/close-windows.ts';
import {
  getMessage,
  getStatus,
  listStatus,
  type MessageStatus,
  type SentMessageStatus,
} from './status/find-status.ts';
import {
  findOutcome,
  listOutcomes,
  noteTold,
  type Outcome,
  type OutcomeQuery,
} from './status/list-outcomes.ts';
import { recordOutcomes } from './status/record-outcome.ts';
import { inboxContext, type MessagingTables } from './tables.ts';
import { startUsageCount } from './usage/count-usage.ts';

export interface MessagingOptions extends Omit<
  MessagingDependencies,
  | 'settings'
  | 'checks'
  | 'wrapping'
  | 'emit'
  | 'contents'
  | 'workerPool'
  | 'alarmOfRow'
  | 'dayLimits'
  | 'storageLimits'
> {
  /** The registry for metrics; by default they are not exported. */
  readonly metrics?: Metrics;
  readonly config?: Pick<Config, 'messaging' | 'admission'>;
  /** This node among the others; without it there are none. */
  readonly nodes?: Pick<Nodes, 'liveCount'>;
  readonly wrapping?: WrappingRules;
  readonly directLimits?: DirectLimits;
  /** Lease time of mail without a renewal by its node. */
  readonly mailLeaseMs?: number;
  /** Polling interval of the queues without a notification. */
  readonly idleMs?: number;
}

/** The envelope of mail that was refused before it was stored, and where it came from. */
export interface RefusedMail extends Omit<IncomingMail, 'message'> {
  readonly remoteAddress: string;
}

/** The messaging service as the edges see it. */
export interface Messaging extends Closable {
  readonly limits: SendLimits;
  /** Call it before `send`, and before the request's body is read. Throws MESSAGING_RATE_LIMITED. */
  readonly limitSends: LimitSends;
  /** Throws MESSAGING_REQUEST_INVALID, _TOO_LARGE, _SENDER_NOT_OWNED, _SENDER_NOT_HOSTED, _ID_REUSED. */
  send(client: ClientIdentity, body: unknown, origin: RequestOrigin): Promise<SendAnswer>;
  /**
   * For edges whose clients compose their messages: accepted, limited, audited and followed as `send` does.
   * Throws the same; recipients are refused one by one.
   */
  submit(client: ClientIdentity, mail: SubmittedMail, origin: RequestOrigin): Promise<SubmitAnswer>;
  /**
   * Before a message, as soon as an edge knows its sender. Throws MESSAGING_SENDER_NOT_OWNED,
   * _SENDER_NOT_HOSTED.
   */
  authorizeSender(client: ClientIdentity, from: DirectAddress, origin: RequestOrigin): Promise<void>;
  /** False: it is under a domain that is hosted here, and is not active. Undefined: not known here. */
  isKnownRecipient(address: DirectAddress): Promise<boolean | undefined>;
  /** Whether a send from this address to each of the others would find a trusted certificate now. */
  checkRecipients(client: ClientIdentity, question: AddressQuestion): Promise<readonly AddressCheck[]>;
  /** Throws MESSAGING_MESSAGE_NOT_FOUND. */
  getStatus(client: ClientIdentity, messageId: string): Promise<SentMessageStatus>;
  /**
   * Evidence of the delivery of a sent message, signed by this service. Throws MESSAGING_MESSAGE_NOT_FOUND,
   * _EVIDENCE_UNSIGNED.
   */
  getEvidence(client: ClientIdentity, messageId: string, origin: RequestOrigin): Promise<SignedEvidence>;
  /** Takes `{ messageIds: […] }`. */
  listStatus(client: ClientIdentity, body: unknown): ReturnType<typeof listStatus>;
  checkAddresses(client: ClientIdentity, body: unknown): Promise<readonly AddressCheck[]>;
  listInbox(client: ClientIdentity, query: InboxQuery): Promise<InboxPage>;
  /**
   * The JSON of an `InboundPayload`. `onSize` gets the message's size before it is read, and may throw.
   * Throws MESSAGING_MESSAGE_NOT_FOUND.
   */
  readInbox(
    client: ClientIdentity,
    messageId: string,
    isXdm: boolean,
    origin: RequestOrigin,
    onSize?: OnSize,
  ): Promise<Uint8Array>;
  /** `position` counts from 0, as in `emailAttachmentList`. Throws MESSAGING_ATTACHMENT_NOT_FOUND. */
  readAttachment(
    client: ClientIdentity,
    messageId: string,
    position: number,
    isXdm: boolean,
    origin: RequestOrigin,
    onSize?: OnSize,
  ): Promise<InboundDocument>;
  acknowledge(client: ClientIdentity, messageId: string, origin: RequestOrigin): Promise<Date>;
  /** The same for many; those that are gone are left out. */
  acknowledgeAll(client: ClientIdentity, messageIds: readonly string[], origin: RequestOrigin): Promise<void>;
  /** A received message as its sender composed it. Throws MESSAGING_MESSAGE_NOT_FOUND. */
  readReceived(client: ClientIdentity, messageId: string, origin: RequestOrigin): Promise<Buffer>;
  /** For whom a received message is that nobody has acknowledged; undefined for any other. */
  findWaiting(
    client: ClientIdentity,
    messageId: string,
  ): Promise<{ readonly address: DirectAddress; readonly sizeBytes: number } | undefined>;
  /** What an edge account sent whose outcome is known and was not told, oldest first. */
  listOutcomes(client: ClientIdentity, query: OutcomeQuery): Promise<readonly Outcome[]>;
  /** One of them again, told or not. */
  findOutcome(client: ClientIdentity, recipientId: string): Promise<Outcome | undefined>;
  /** The account has it: no edge tells it again. */
  noteTold(client: ClientIdentity, recipientId: string): Promise<void>;
  /** The states of the messages that the edge account keeps, by their ids there. */
  listSentStates(client: ClientIdentity): Promise<ReadonlyMap<string, MessageStatus>>;
  /** A message that the edge account keeps, as it went out. Throws MESSAGING_MESSAGE_NOT_FOUND. */
  readSent(client: ClientIdentity, sentId: string, origin: RequestOrigin): Promise<Buffer>;
  /** The id of the message that the edge account keeps under that Message-ID. */
  findSent(client: ClientIdentity, wireId: string): Promise<string | undefined>;
  /**
   * Accepts mail: durable when fulfilled, so that the SMTP edge may say 250. `network` is where it came from.
   * Small mail is processed at once, the rest is spooled; returns the id of spooled mail. Throws
   * MESSAGING_SPOOL_FULL.
   */
  acceptInbound(mail: IncomingMail, network?: string): Promise<string | undefined>;
  /** Throws MESSAGING_SPOOL_FULL if mail like this cannot be accepted now. Reserves nothing. */
  checkSpool(origin: MailOrigin): void;
  /** Notes mail that the SMTP edge has refused for good without storing it. */
  noteRefused(mail: RefusedMail, reason: string): void;
  /** The messages for one operator, such as `operator:alice`, whom the audit trail names. */
  as(actor: string): MessagingOperator;
  /** Called by delivery inside the transaction that stores the outcomes of one destination. */
  onDeliveryOutcome(tx: AnyTransaction, outcomes: readonly DeliveryOutcome[]): Promise<void>;
  /**
   * Called by delivery inside the transaction that stores an attempt: keeps the certificates, so that the
   * message's page can name them.
   */
  onDeliveryCertificates: CertificateListener;
  /** Starts working on mail and on timers. */
  start(): Promise<void>;
  /** Checks the queues immediately. */
  wake(): void;
}

/** A node that ends without a word keeps the mail that it worked on for so long. */
const mailLeaseMs = 30_000;

export function createMessaging(options: MessagingOptions): Messaging {
  const counts = createEventCounts(options);
  const config = options.config ?? defaultSettings;
  const settings = config.messaging;
  const deps: MessagingDependencies = {
    ...options,
    contents: createContentStore(options),
    workerPool: createWorkerPool(),
    emit: counts.emit,
    alarmOfRow: createRowAlarm(options.audit),
    dayLimits: createDayLimits(options),
    storageLimits: createStorageLimits(options),
    settings,
    checks: createChecks(config.admission),
    wrapping: options.wrapping ?? noWrappingRules,
  };
  const db = deps.storage.tables<MessagingTables>();
  const spool = createSpoolRoom(db, config);
  let refreshing: NodeJS.Timeout | undefined;
  const workers: Worker[] = [];
  let mailWorkers: MailWorkers | undefined;
  const intake = createIntake(deps, {
    spool,
    direct: options.directLimits ?? defaultDirectLimits,
    workers: () => mailWorkers,
  });
  const wake = (): void => {
    mailWorkers?.wake();
    for (const worker of workers) worker.wake();
  };
  serveInboundHooks(deps, db);
  return {
    limits: settings,
    limitSends: createSendLimit(settings, deps.clock, () => options.nodes?.liveCount ?? 1),
    send: (client, body, origin) => sendMessage(deps, client, body, origin),
    submit: (client, mail, origin) => submitMessage(deps, client, mail, origin),
    authorizeSender: (client, from, origin) => authorizeSender(deps, client, from, origin),
    async isKnownRecipient(address) {
      if (!(await deps.trust.isHostedDomain(domainOf(address)))) return undefined;
      return (await deps.trust.findAddress(address))?.status === 'active';
    },
    checkRecipients: (client, question) => checkRecipients(deps, client, question),
    getStatus: (client, messageId) => getStatus(deps, client, messageId),
    getEvidence: (client, messageId, origin) => getEvidence(deps, client, messageId, origin),
    listStatus: (client, body) => listStatus(deps, client, body),
    checkAddresses: (client, body) => checkAddresses(deps, client, body),
    listInbox: (client, query) => listInbox(deps.storage, client, query),
    readInbox: (client, messageId, isXdm, origin, onSize) =>
      readInbox(deps, db, { client, messageId, isXdm, origin, onSize }),
    readAttachment: (client, messageId, position, isXdm, origin, onSize) =>
      readAttachment(deps, db, { client, messageId, isXdm, origin, onSize }, position),
    acknowledge: (client, messageId, origin) => acknowledge(deps, client, messageId, origin),
    acknowledgeAll: (client, messageIds, origin) => acknowledgeAll(deps, client, messageIds, origin),
    readReceived: (client, messageId, origin) =>
      readReceived(deps, db, { client, messageId, isXdm: false, origin }),
    async findWaiting(client, messageId) {
      const entry = await findEntry(db, client, messageId);
      if (entry === undefined || entry.copy.acknowledged_at !== null) return undefined;
      const { copy, message } = entry;
      return { address: copy.address as DirectAddress, sizeBytes: Number(message.size_bytes) };
    },
    listOutcomes: (client, query) => listOutcomes(deps, client, query),
    findOutcome: (client, recipientId) => findOutcome(deps, client, recipientId),
    noteTold: (client, recipientId) => noteTold(deps, client, recipientId),
    listSentStates: (client) => listSentStates(deps, client),
    readSent: (client, sentId, origin) => readSent(deps, client, sentId, origin),
    findSent: (client, wireId) => findSent(deps, client, wireId),
    checkSpool: (origin) => spool.check(origin),
    noteRefused: (mail, reason) => noteRefused(deps, mail, reason),
    acceptInbound: (mail, network = '') => intake.accept(mail, network),
    as: (actor) => createMessagingOperator({ ...options, emit: deps.emit, operator: actor }),
    onDeliveryOutcome: (tx, outcomes) => recordOutcomes(tx, deps, outcomes),
    onDeliveryCertificates: (tx, certificates, at) => keepCertificates(tx, deps, certificates, at),
    async start() {
      const idleMs = options.idleMs ?? 1000;
      await spool.restore();
      refreshing = startRefreshing(deps, spool);
      mailWorkers = startMailWorkers(deps, {
        leaseMs: options.mailLeaseMs ?? mailLeaseMs,
        idleMs,
        maxBytes: settings.maxWorkBytes,
      });
      workers.push(startWindowTimer(deps, idleMs));
      workers.push(startHousekeeping(deps));
      workers.push(startUsageCount(deps, settings.messageDays * 86_400_000));
    },
    wake,
    async close() {
      clearInterval(refreshing);
      await Promise.all([mailWorkers?.close(), ...workers.map((worker) => worker.close())]);
      await deps.workerPool.close();
      await counts.close();
    },
  };
}

function createChecks(admission: Config['admission']): MessagingDependencies['checks'] {
  const { maxCheckedAddresses, maxCheckedAddressesPerClient, addressChecks, addressChecksPerClient } = admission;
  return {
    budget: createBudget({ total: maxCheckedAddresses, perCaller: maxCheckedAddressesPerClient }),
    slots: createFairSlots({ total: addressChecks, perCaller: addressChecksPerClient }),
  };
}

const refreshMs = 1000;

function startRefreshing({ log }: MessagingDependencies, spool: SpoolRoom): NodeJS.Timeout {
  const faults = createFaultLog('waiting-mail', log);
  let isRunning = false;
  const refresh = async (): Promise<void> => {
    if (isRunning) return;
    isRunning = true;
    try {
      await spool.refresh();
      faults.worked('count waiting mail');
    } catch (error) {
      faults.failed('count waiting mail', error);
    } finally {
      isRunning = false;
    }
  };
  return setInterval(() => void refresh(), refreshMs).unref();
}

function noteRefused(deps: MessagingDependencies, mail: RefusedMail, reason: string): void {
  deps.emit('rejected', { code: reason });
  // Without an actor, so that a stranger who repeats it leaves few rows.
  void deps.audit.record({
    action: 'message.reject',
    outcome: 'refused',
    objects: {
      from: mail.mailFrom.slice(0, 320),
      to: mail.recipients.join(' ').slice(0, 2000),
      reason,
    },
    remoteAddress: mail.remoteAddress,
  });
}

async function getEvidence(
  deps: MessagingDependencies,
  client: ClientIdentity,
  messageId: string,
  origin: RequestOrigin,
): Promise<SignedEvidence> {
  const message = await getMessage(deps, client, messageId);
  const signed = await signEvidence(deps, await buildEvidence(deps, message));
  await deps.audit.recordNow({
    action: 'message.evidence',
    actor: client.clientId,
    outcome: 'ok',
    objects: { messageId: message.wire_id },
    ...origin,
  });
  return signed;
}

type OnSize = (bytes: number) => void;

interface ReadRequest {
  readonly client: ClientIdentity;
  readonly messageId: string;
  readonly isXdm: boolean;
  readonly origin: RequestOrigin;
  readonly onSize?: OnSize | undefined;
}

async function readInbox(
  deps: MessagingDependencies,
  db: Kysely<MessagingTables>,
  request: ReadRequest,
): Promise<Uint8Array> {
  const entry = await getEntry(db, request.client, request.messageId);
  request.onSize?.(Number(entry.message.size_bytes));
  await auditFetch(deps, request, entry);
  return formatEntry(deps, entry, request.isXdm);
}

async function readReceived(
  deps: MessagingDependencies,
  db: Kysely<MessagingTables>,
  request: ReadRequest,
): Promise<Buffer> {
  const entry = await getEntry(db, request.client, request.messageId);
  await auditFetch(deps, request, entry);
  return openInner(deps, entry);
}

async function readAttachment(
  deps: MessagingDependencies,
  db: Kysely<MessagingTables>,
  request: ReadRequest,
  position: number,
): Promise<InboundDocument> {
  const entry = await getEntry(db, request.client, request.messageId);
  request.onSize?.(Number(entry.message.size_bytes));
  const inner = await openInner(deps, entry);
  const document = await deps.workerPool.findDocument(inner, optionsOf(deps, entry, request.isXdm), position);
  if (document === undefined)
    throw new MessagingError('MESSAGING_ATTACHMENT_NOT_FOUND', `there is no attachment ${position}`);
  await auditFetch(deps, request, entry);
  return document;
}

async function formatEntry(
  deps: MessagingDependencies,
  entry: InboxEntry,
  isXdm: boolean,
): Promise<Uint8Array> {
  return deps.workerPool.formatPayload(await openInner(deps, entry), optionsOf(deps, entry, isXdm));
}

async function openInner(deps: MessagingDependencies, entry: InboxEntry): Promise<Buffer> {
  const { message } = entry;
  const inner = await deps.contents.open(message.sealed_message, inboxContext(message.id));
  requireOwnRow(inner, entry, deps);
  return inner;
}

function optionsOf(
  { identity }: MessagingDependencies,
  { copy, message }: InboxEntry,
  isXdm: boolean,
): OpenOptions {
  const facts = {
    copyId: copy.id,
    recipient: copy.address,
    sender: message.sender,
    wireId: message.wire_id,
    receivedAt: new Date(copy.received_at),
  };
  return { facts, isXdm, identity };
}

async function auditFetch(
  { audit }: MessagingDependencies,
  { client, origin }: ReadRequest,
  entry: InboxEntry,
): Promise<void> {
  await audit.recordNow({
    action: 'message.fetch',
    actor: client.clientId,
    outcome: 'ok',
    objects: namesOf(entry),
    ...origin,
  });
}

/**
 * The ids by which an audit row names a received message: this recipient's copy, and the sender's Message-ID.
 */
function namesOf({ copy, message }: InboxEntry): Readonly<Record<string, string>> {
  return { copyId: copy.id, messageId: message.wire_id.slice(0, 255) };
}

// Inbound hooks push the same payload that the inbox serves; their 2xx acknowledges (Decision 0014).
function serveInboundHooks(deps: MessagingDependencies, db: Kysely<MessagingTables>): void {
  deps.webhooks.serveInbound({
    async requireReceiver(clientId) {
      requireReceiver(await deps.clients.get(clientId));
    },
    async buildPayload(copyId, clientId, { isXdm }) {
      const client = await deps.clients.get(clientId);
      const entry = await findEntry(db, client, copyId);
      if (entry === undefined || entry.copy.acknowledged_at !== null) return undefined;
      requireReceiver(client);
      await deps.audit.recordNow({
        action: 'message.push',
        actor: clientId,
        outcome: 'ok',
        objects: namesOf(entry),
      });
      return formatEntry(deps, entry, isXdm);
    },
    async measure(copyIds) {
      const rows = await db
        .selectFrom('inbox_copy')
        .innerJoin('inbox_message', 'inbox_message.id', 'inbox_copy.message_id')
        .select(['inbox_copy.id', 'inbox_message.size_bytes'])
        .where('inbox_copy.id', 'in', copyIds)
        .execute();
      return new Map(rows.map((row) => [row.id, row.size_bytes]));
    },
    async acknowledge(copyId, clientId) {
      await acknowledge(deps, await deps.clients.get(clientId), copyId, {});
    },
  });
}
