import { type Closable, createBudget } from '../../core/index.ts';
import { type DirectAddress, domainOf } from '../../lib/values/index.ts';
import {
  type AnyTransaction,
  type Config,
  createContentStore,
  createFairSlots,
  defaultSettings,
  type Metrics,
  type Nodes,
  type Rounds,
  startRounds,
} from '../../platform/index.ts';
import type { CertificateListener, DeliveryOutcome } from '../delivery/index.ts';
import { createRowAlarm } from '../integrity/index.ts';
import type { ClientIdentity } from '../oauth/index.ts';
import { createDayLimits, createStorageLimits } from '../organizations/index.ts';
import { createWorkerPool } from './contents/worker-pool.ts';
import { createEventCounts } from './count-events.ts';
import { buildEvidence } from './evidence/build-evidence.ts';
import { keepCertificates } from './evidence/keep-certificates.ts';
import { type SignedEvidence, signEvidence } from './evidence/sign-evidence.ts';
import { startHousekeeping } from './housekeeping.ts';
import { createIntake, defaultDirectLimits, type DirectLimits } from './inbound/accept-mail.ts';
import { type MailWorkers, startMailWorkers } from './inbound/mail-workers.ts';
import type { IncomingMail } from './inbound/mail.ts';
import { createSpoolRoom, type MailOrigin } from './inbound/spool-room.ts';
import { acknowledge, acknowledgeAll } from './inbox/acknowledge.ts';
import { listInbox } from './inbox/list-inbox.ts';
import {
  findWaiting,
  readAttachment,
  readInbox,
  readReceived,
  serveInboundHooks,
} from './inbox/read-inbox.ts';
import type { SendLimits } from './limits.ts';
import { createMessagingOperator, type MessagingOperator } from './operator/operator.ts';
import { type MessagingDependencies, type RequestOrigin } from './ports.ts';
import { authorizeSender, type SendAnswer } from './send/accept-message.ts';
import { checkAddresses, checkRecipients } from './send/check-addresses.ts';
import { findSent, listSentStates, readSent } from './send/kept-messages.ts';
import { createSendLimit, type LimitSends } from './send/limit-sends.ts';
import { sendMessage } from './send/send-message.ts';
import { sendTest, type TestMessage } from './send/send-test.ts';
import { submitMessage } from './send/submit-message.ts';
import { startWindowTimer } from './status/close-windows.ts';
import { getMessage, getStatus, listStatus } from './status/find-status.ts';
import { findOutcome, listOutcomes, noteTold } from './status/list-outcomes.ts';
import { recordOutcomes } from './status/record-outcome.ts';
import { objectsOf, type MessagingTables } from './tables.ts';
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
  readonly config?: Pick<Config, 'messaging' | 'admission' | 'trust'>;
  /** This node among the others; without it there are none. */
  readonly nodes?: Pick<Nodes, 'liveCount'>;
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

/** What edges ask for; the function of each operation says what it does and what it throws. */
const operations = {
  send: sendMessage,
  submit: submitMessage,
  authorizeSender,
  isKnownRecipient,
  checkRecipients,
  checkAddresses,
  getStatus,
  listStatus,
  getEvidence,
  listInbox,
  readInbox,
  readAttachment,
  readReceived,
  findWaiting,
  acknowledge,
  acknowledgeAll,
  listOutcomes,
  findOutcome,
  noteTold,
  listSentStates,
  readSent,
  findSent,
  noteRefused,
};

type Bound<Operation> = Operation extends (deps: never, ...rest: infer Rest) => infer Answer
  ? (...rest: Rest) => Answer
  : never;
type Operations = { readonly [Name in keyof typeof operations]: Bound<(typeof operations)[Name]> };

function bind(deps: MessagingDependencies): Operations {
  const all = Object.entries(operations) as [string, (deps: MessagingDependencies) => unknown][];
  return Object.fromEntries(
    all.map(([name, operate]) => [name, operate.bind(undefined, deps)]),
  ) as unknown as Operations;
}

/** The messaging service as the edges see it. */
export interface Messaging extends Operations, Closable {
  readonly limits: SendLimits;
  /** Call it before `send`, and before the request's body is read. Throws MESSAGING_RATE_LIMITED. */
  readonly limitSends: LimitSends;
  /** For an operator, such as `operator:alice`; see `sendTest` for what it throws. */
  sendTest(actor: string, test: TestMessage, origin?: RequestOrigin): Promise<SendAnswer>;
  /**
   * Accepts mail: durable when fulfilled, so that the SMTP edge may say 250. `network` is where it came from.
   * Small mail is processed at once, the rest is spooled; returns the id of spooled mail. Throws
   * MESSAGING_SPOOL_FULL.
   */
  acceptInbound(mail: IncomingMail, network?: string): Promise<string | undefined>;
  /** Throws MESSAGING_SPOOL_FULL if mail like this cannot be accepted now. Reserves nothing. */
  checkSpool(origin: MailOrigin): void;
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
    wrapping: config.trust,
  };
  const spool = createSpoolRoom(deps.storage.tables<MessagingTables>(), config);
  const workers: Rounds[] = [];
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
  serveInboundHooks(deps);
  const limitSends = createSendLimit(settings, deps.clock, () => options.nodes?.liveCount ?? 1);
  return {
    limits: settings,
    limitSends,
    sendTest: (actor, test, origin) => sendTest({ ...deps, limitSends }, actor, test, origin),
    ...bind(deps),
    checkSpool: (origin) => spool.check(origin),
    acceptInbound: (mail, network = '') => intake.accept(mail, network),
    as: (actor) => createMessagingOperator({ ...options, emit: deps.emit, operator: actor }),
    onDeliveryOutcome: (tx, outcomes) => recordOutcomes(tx, deps, outcomes),
    onDeliveryCertificates: (tx, certificates, at) => keepCertificates(tx, deps, certificates, at),
    async start() {
      const idleMs = options.idleMs ?? 1000;
      await spool.restore();
      mailWorkers = startMailWorkers(deps, {
        leaseMs: options.mailLeaseMs ?? mailLeaseMs,
        idleMs,
        maxBytes: settings.maxWorkBytes,
      });
      workers.push(
        startRounds({ name: 'waiting-mail', everyMs: refreshMs, log: deps.log, work: spool.refresh }),
        startWindowTimer(deps, idleMs),
        startHousekeeping(deps),
        startUsageCount(deps, settings.messageDays * 86_400_000),
      );
    },
    wake,
    async close() {
      await Promise.all([mailWorkers?.close(), ...workers.map((worker) => worker.close())]);
      await deps.workerPool.close();
      await counts.close();
    },
  };
}

function createChecks(admission: Config['admission']): MessagingDependencies['checks'] {
  const { maxCheckedAddresses, maxCheckedAddressesPerClient, addressChecks, addressChecksPerClient } =
    admission;
  return {
    budget: createBudget({ total: maxCheckedAddresses, perCaller: maxCheckedAddressesPerClient }),
    slots: createFairSlots({ total: addressChecks, perCaller: addressChecksPerClient }),
  };
}

const refreshMs = 1000;

/** False: it is under a domain that is hosted here, and is not active. Undefined: not known here. */
async function isKnownRecipient(
  { trust }: MessagingDependencies,
  address: DirectAddress,
): Promise<boolean | undefined> {
  if (!(await trust.isHostedDomain(domainOf(address)))) return undefined;
  return (await trust.findAddress(address))?.status === 'active';
}

/** Notes mail that the SMTP edge has refused for good without storing it. */
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

/**
 * Evidence of the delivery of a sent message, signed by this service. Throws MESSAGING_MESSAGE_NOT_FOUND,
 * _EVIDENCE_UNSIGNED.
 */
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
    objects: objectsOf(message),
    ...origin,
  });
  return signed;
}
