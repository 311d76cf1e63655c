import type { Kysely } from 'kysely';
import { CodedError, errorCode, hashInSlices } from '../../../core/index.ts';
import {
  findUnanswered,
  hasDocumentsBesideReport,
  readMdnOrDsn,
  type MdnOrDsn,
} from '../../../lib/mdn/index.ts';
import {
  MimeError,
  parseEntity,
  readHeaderOctets,
  readMessageIds,
  type MimeEntity,
} from '../../../lib/mime/index.ts';
import { addressKey, domainOf, findDirectAddress, type DirectAddress } from '../../../lib/values/index.ts';
import {
  findAnswerable,
  findRefusedSigner,
  refusalDetail,
  refusalReason,
  type AnswerableMessage,
  type SignerFinding,
} from '../../agent/index.ts';
import { canSendAs } from '../../oauth/index.ts';
import type { MessagingDependencies, OpenedMail, OpenOptions } from '../ports.ts';
import { mayReceive } from '../require-owned.ts';
import type { Route } from '../../trust/index.ts';
import { isRouteRead } from '../unread-addresses.ts';
import type { MessagingTables } from '../tables.ts';
import { applyMdnOrDsn } from './apply-mdn-or-dsn.ts';
import { keepCertificates, mayKeepStrangers } from '../evidence/keep-certificates.ts';
import { findDateFault } from './check-dates.ts';
import type { MailEnvelope } from './mail.ts';
import {
  hashForAll,
  hashForRecipient,
  mayAnswerIn,
  registeredAtIn,
  registerIn,
  type Identity,
} from './register.ts';
import { enqueueFailure, planDsns, type Failure } from './send-mdn-or-dsn.ts';
import { findMisdirectedIn, noteWrappedIn, type HeaderFault } from './unsigned-headers.ts';
import { prepareReceived, storeReceived, type Received } from './store-received.ts';

/** The decision about mail. */
export type Verdict =
  /**
   * `storeIn` stores the outcome: the message, the state that an MDN changes, or the rejection. It may run
   * again.
   */
  | ({ readonly kind: 'decided' } & Decision)
  /** The sender could not be checked. */
  | { readonly kind: 'undecided'; readonly error: unknown }
  /** Another error on our side. */
  | { readonly kind: 'failed'; readonly error: unknown };

/**
 * Opens and judges mail (AS-70 to AS-79). Never throws because of the mail's content. Takes ownership of a
 * large message's memory unless the options say otherwise.
 */
export async function judgeMail(
  deps: MessagingDependencies,
  mail: MailEnvelope,
  readMessage: () => Promise<Uint8Array>,
  options: OpenOptions,
): Promise<Verdict> {
  try {
    const recipients = mail.recipients.flatMap((text) => findDirectAddress(text) ?? []);
    const message = await readMessage();
    const opened = await deps.agent.openIncoming({ message, mailFrom: mail.mailFrom, recipients }, options);
    return { kind: 'decided', ...(await decideOpened(deps, mail, opened)) };
  } catch (error) {
    const answerable = findAnswerable(error);
    if (answerable !== undefined) {
      return refuseAnswerable(deps, mail, answerable, error).catch((failure: unknown) => ({
        kind: 'failed' as const,
        error: failure,
      }));
    }
    if (isRejection(error))
      return {
        kind: 'decided',
        storeIn: rejection(deps, mail, refusalReason(error), {
          detail: refusalDetail(error),
          signer: findRefusedSigner(error),
        }),
        shareBy: mail.id,
      };
    return { kind: undecidedCodes.has(errorCode(error)) ? 'undecided' : 'failed', error };
  }
}

const undecidedCodes: ReadonlySet<string> = new Set(['DIRECT_SENDER_NEEDS_FETCH', 'DIRECT_SENDER_UNDECIDED']);

type Store = (tx: Kysely<MessagingTables>) => Promise<void>;

/** Stores the outcome in one transaction. */
export interface Decision {
  readonly storeIn: Store;
  /** Of the transaction (`TransactionOptions`): the message that it locks. */
  readonly shareBy?: string | undefined;
}

/** An opened message with the values that several steps need. */
interface OpenedContext {
  readonly mail: MailEnvelope;
  readonly opened: OpenedMail;
  readonly entity: MimeEntity;
  readonly identity: Identity;
  readonly addressees: Addressees;
}

// The sender is known and trusted, so a message that is too deep or too complex to be read is not dropped
// silently (MDN-12).
async function decideOpened(
  deps: MessagingDependencies,
  mail: MailEnvelope,
  opened: OpenedMail,
): Promise<Decision> {
  const entity = parseEntity(opened.inner);
  const [wireId] = readMessageIds(entity.header('message-id') ?? '');
  const { sender, inner, signedName } = opened;
  const idOctets = readHeaderOctets(entity, 'message-id');
  const identity = { sender, wireId, idOctets, signedName, contentHash: await hashInSlices(inner) };
  const addressees = await sortRecipients(deps, mail, opened);
  const all = { mail, opened, entity, identity, addressees };
  const dateFault = findDateFault(entity, opened, deps.settings, deps.clock.now());
  const shareBy = wireId ?? mail.id;
  if (dateFault !== undefined) return { storeIn: await refusal(deps, all, dateFault, outdated), shareBy };
  try {
    const mdnOrDsn = readMdnOrDsn(entity);
    const rejectOthersIn = await rejectionOfOthers(deps, all);
    if (mdnOrDsn === undefined) {
      const acceptIn = await acceptMessage(deps, all);
      return { storeIn: inTurn(acceptIn, rejectOthersIn), shareBy };
    }
    const applyIn = inTurn(acceptMdnOrDsn(deps, all, mdnOrDsn), rejectOthersIn);
    // What a person would miss is mail, too.
    if (hasDocumentsBesideReport(entity))
      return { storeIn: inTurn(applyIn, await acceptMessage(deps, all)), shareBy: undefined };
    // Which of several messages it locks is not known yet: then it shares no commit, for which the order of
    // locks must be known.
    const [original, ...others] = mdnOrDsn.originalMessageIds;
    return { storeIn: applyIn, shareBy: others.length === 0 ? original : undefined };
  } catch (error) {
    if (!(error instanceof MimeError)) throw error;
    return { storeIn: await refusal(deps, all, error.code, unreadable), shareBy };
  }
}

/** Nothing of the message is used but its identity: it is refused, and its sender is told. */
async function refuseAnswerable(
  deps: MessagingDependencies,
  whole: MailEnvelope,
  { sender, recipients, inner }: AnswerableMessage,
  error: unknown,
): Promise<Verdict> {
  const code = errorCode(error);
  const mail = { ...whole, recipients };
  const entity = parseEntity(inner);
  const [wireId] = readMessageIds(entity.header('message-id') ?? '');
  const identity = {
    sender,
    wireId,
    idOctets: readHeaderOctets(entity, 'message-id'),
    contentHash: await hashInSlices(inner),
  };
  const addressees = await sortRecipients(deps, mail, { recipients });
  const failure = envelopeFaults[code] ?? headerFault;
  const sendFailureIn = await prepareFailure(deps, { mail, entity, identity }, addressees.active, failure);
  const storeIn = inTurn(
    sendFailureIn,
    rejection(deps, whole, code, { identity, detail: refusalDetail(error) }),
  );
  return { kind: 'decided', storeIn, shareBy: wireId ?? mail.id };
}

function inTurn(first: Store, second: Store): Store {
  return async (tx) => {
    await first(tx);
    await second(tx);
  };
}

/**
 * The rejection for those who do not get a message that others get: an audit row for each reason, and an
 * answer only where their domain trusts the sender (AS-78).
 */
async function rejectionOfOthers(deps: MessagingDependencies, context: OpenedContext): Promise<Store> {
  const { mail, opened, identity, addressees } = context;
  const isAnswered = new Set([...addressees.unknown, ...addressees.unhosted].map(addressKey));
  const stores: Store[] = [];
  for (const { recipients, code, detail = '', isAnswerable, signer } of opened.refused ?? []) {
    const others = recipients.filter((address) => !isAnswered.has(addressKey(address)));
    if (others.length === 0) continue;
    const failure = isAnswerable === true ? envelopeFaults[code] : undefined;
    if (failure !== undefined) stores.push(await prepareFailure(deps, context, others, failure));
    stores.push(rejection(deps, { ...mail, recipients: others }, code, { identity, detail, signer }));
  }
  // Accepted by SMTP before the domain was removed (Decision 0038).
  if (addressees.unhosted.length > 0)
    stores.push(
      rejection(deps, { ...mail, recipients: addressees.unhosted }, 'domain-not-hosted', { identity }),
    );
  return async (tx) => {
    for (const storeIn of stores) await storeIn(tx);
  };
}

function acceptMdnOrDsn(
  deps: MessagingDependencies,
  { mail, opened, identity }: OpenedContext,
  mdnOrDsn: MdnOrDsn,
): Store {
  const hash = hashForAll(identity, 'report', opened.recipients);
  return async (tx) => {
    const isNew = await registerIn(tx, deps, hash, mail.receivedAt);
    const { applied, ignored } = isNew
      ? await applyMdnOrDsn(tx, deps, opened, mdnOrDsn)
      : { applied: 0, ignored: 'duplicate' };
    const messageId = mdnOrDsn.originalMessageIds[0]?.slice(0, 255) ?? '';
    deps.storage.afterCommit(tx, () =>
      deps.emit(
        'mdnReceived',
        { kind: mdnOrDsn.kind, ignored: ignored ?? '' },
        { mailId: mail.id, messageId },
      ),
    );
    await deps.audit.recordIn(tx, {
      action: `${mdnOrDsn.kind}.receive`,
      actor: 'system',
      outcome: ignored === undefined ? 'ok' : 'refused',
      objects: { mailId: mail.id, from: opened.sender, messageId, applied, reason: ignored ?? '' },
      remoteAddress: mail.remoteAddress,
    });
  };
}

async function acceptMessage(deps: MessagingDependencies, whole: OpenedContext): Promise<Store> {
  const routes = new Map<DirectAddress, Route>();
  for (const address of whole.addressees.active) routes.set(address, await deps.trust.findRoute(address));
  // Who has the message already is not refused it: what is repeated takes no room, and is answered as ever.
  const findNew = (recipients: readonly DirectAddress[]) =>
    findNewIn(deps.storage.tables<MessagingTables>(), whole.identity, recipients);
  const unread = deps.settings.refusesUnreadMail ? await findNew(await findUnread(deps, routes)) : [];
  const full = await findNew(await findWithoutRoom(deps, whole, unread));
  const refused = [...unread, ...full];
  const context = refused.length === 0 ? whole : withoutRecipients(whole, refused);
  const { mail, opened, entity, identity, addressees } = context;
  const received: Received = await prepareReceived(deps, {
    mail,
    opened,
    entity,
    identity,
    recipients: addressees.active,
    routes,
    receivers: addressees.active.length === 0 ? [] : await findReceivers(deps),
  });
  const sendUnknownIn = await prepareFailure(deps, context, addressees.unknown, unknownRecipient);
  const refuseUnreadIn = inTurn(
    await prepareRefused(deps, context, unread, ['no-reader', unreadMailbox]),
    await prepareRefused(deps, context, full, ['storage-full', fullStorage]),
  );
  const arrival = { opened, receivedAt: mail.receivedAt };
  const refuseIn = await prepareMisdirected(deps, context);
  return async (tx) => {
    await noteWrappedIn(tx, deps, opened, mail.receivedAt);
    const misdirected = await findMisdirectedIn(tx, deps, arrival, received.recipients);
    const recipients = received.recipients.filter((one) => misdirected?.recipients.includes(one) !== true);
    await storeReceived(tx, deps, { ...received, recipients });
    if (misdirected !== undefined) await refuseIn(tx, misdirected.fault, misdirected.recipients);
    await sendUnknownIn(tx);
    await refuseUnreadIn(tx);
  };
}

async function findUnread(
  { clients }: MessagingDependencies,
  routes: ReadonlyMap<DirectAddress, Route>,
): Promise<readonly DirectAddress[]> {
  const unread: DirectAddress[] = [];
  for (const [address, route] of routes)
    if (!(await isRouteRead(clients, address, route))) unread.push(address);
  return unread;
}

/** Those that do not have the message already. */
async function findNewIn(
  db: Kysely<MessagingTables>,
  identity: Identity,
  recipients: readonly DirectAddress[],
): Promise<readonly DirectAddress[]> {
  const found: DirectAddress[] = [];
  for (const address of recipients)
    if ((await registeredAtIn(db, hashForRecipient(identity, address))) === undefined) found.push(address);
  return found;
}

function withoutRecipients(context: OpenedContext, others: readonly DirectAddress[]): OpenedContext {
  const { active, ...rest } = context.addressees;
  return { ...context, addressees: { ...rest, active: active.filter((one) => !others.includes(one)) } };
}

/** Those whose organization may store no more. */
async function findWithoutRoom(
  { storageLimits }: MessagingDependencies,
  { addressees, opened }: OpenedContext,
  others: readonly DirectAddress[],
): Promise<readonly DirectAddress[]> {
  const rest = addressees.active.filter((address) => !others.includes(address));
  const full = await storageLimits.findFull(rest.map(domainOf), opened.inner.length);
  return rest.filter((address) => full.has(domainOf(address)));
}

async function prepareRefused(
  deps: MessagingDependencies,
  context: OpenedContext,
  recipients: readonly DirectAddress[],
  [reason, failure]: readonly [reason: string, failure: Failure],
): Promise<Store> {
  if (recipients.length === 0) return async () => {};
  const sendFailureIn = await prepareFailure(deps, context, recipients, failure);
  return inTurn(sendFailureIn, rejection(deps, { ...context.mail, recipients }, reason, context));
}

const misdirectedFailures: Readonly<Record<HeaderFault, Failure>> = {
  DIRECT_NOT_WRAPPED: {
    status: '5.7.1',
    diagnostic: 'The header is not signed: no message/rfc822 wrapper, as your other messages have.',
  },
  'recipients-changed': {
    status: '5.7.7',
    diagnostic: 'The header is not signed, and this content came before for other recipients.',
  },
};

type RefuseSome = (
  tx: Kysely<MessagingTables>,
  fault: HeaderFault,
  recipients: readonly DirectAddress[],
) => Promise<void>;

/** DSNs are planned before the transaction, which then knows for which recipients one is due. */
async function prepareMisdirected(deps: MessagingDependencies, context: OpenedContext): Promise<RefuseSome> {
  const { mail, opened, addressees } = context;
  if (opened.unsignedHeader === undefined) return async () => {};
  const planned = new Map<DirectAddress, Awaited<ReturnType<typeof prepareAnswer>>>();
  for (const address of addressees.active)
    planned.set(address, await prepareAnswer(deps, context, [address]));
  return async (tx, fault, recipients) => {
    for (const address of recipients) await planned.get(address)?.(tx, misdirectedFailures[fault]);
    await rejection(deps, { ...mail, recipients }, fault, context)(tx);
  };
}

interface Addressees {
  /** Hosted, active, and the message was decrypted for them. */
  readonly active: readonly DirectAddress[];
  /** In a hosted domain that trusts the sender, but unknown or disabled. */
  readonly unknown: readonly DirectAddress[];
  /** In a domain that is not hosted any more. */
  readonly unhosted: readonly DirectAddress[];
}

async function sortRecipients(
  { trust }: MessagingDependencies,
  mail: MailEnvelope,
  opened: Pick<OpenedMail, 'recipients' | 'refused'>,
): Promise<Addressees> {
  const openedFor = new Set(opened.recipients.map(addressKey));
  const untrusting = new Set(
    (opened.refused ?? [])
      .filter(({ code }) => code !== 'DIRECT_UNKNOWN_RECIPIENT')
      .flatMap(({ recipients }) => recipients.map(addressKey)),
  );
  const active: DirectAddress[] = [];
  const unknown: DirectAddress[] = [];
  const unhosted: DirectAddress[] = [];
  const addresses = new Map(
    mail.recipients
      .flatMap((text) => findDirectAddress(text) ?? [])
      .map((address) => [addressKey(address), address]),
  );
  for (const [key, address] of addresses) {
    const hosted = await trust.findAddress(address);
    if (hosted?.status === 'active') active.push(...(openedFor.has(key) ? [hosted.address] : []));
    else if (!(await trust.isHostedDomain(domainOf(address)))) unhosted.push(address);
    else if (!untrusting.has(key)) unknown.push(address);
  }
  return { active, unknown, unhosted };
}

async function findReceivers({ webhooks, clients }: MessagingDependencies): Promise<Received['receivers']> {
  const ids = await webhooks.listReceivers();
  if (ids.length === 0) return [];
  const found = await Promise.all(
    ids.map((clientId) =>
      clients.get(clientId).catch((error: unknown) => {
        if (withoutClient.has(errorCode(error))) return undefined;
        // The database could not be read: if the message were stored now, its clients would not be notified.
        throw error;
      }),
    ),
  );
  return found
    .filter((client) => client !== undefined)
    .filter(mayReceive)
    .map((client) => ({ clientId: client.clientId, owns: (address) => canSendAs(client, address) }));
}

/** The client was removed, or its row was changed by hand, which must not hold up the mail of others. */
const withoutClient: ReadonlySet<string> = new Set(['OAUTH_CLIENT_UNKNOWN', 'INTEGRITY_ROW_CHANGED']);

const unknownRecipient: Failure = { status: '5.1.1', diagnostic: 'Unknown recipient.' };
const unreadMailbox: Failure = { status: '5.2.1', diagnostic: 'Nobody reads this mailbox at present.' };
const fullStorage: Failure = {
  status: '5.2.2',
  diagnostic: 'The organization of this mailbox has no storage left.',
};
const unreadable: Failure = { status: '5.6.0', diagnostic: 'The message is too complex to be read.' };
const headerFault: Failure = {
  status: '5.6.0',
  diagnostic: 'The header of the message names no certain sender, or no recipient.',
};
/** By the code of the refusal. */
const envelopeFaults: Readonly<Record<string, Failure>> = {
  DIRECT_ENVELOPE_SENDER_MISMATCH: {
    status: '5.7.1',
    diagnostic: 'MAIL FROM is neither From nor Sender of the message.',
  },
  DIRECT_ENVELOPE_RECIPIENT_MISMATCH: {
    status: '5.7.1',
    diagnostic: 'The message was sent to a recipient that is neither in its To nor in its Cc.',
  },
};
const outdated: Failure = {
  status: '5.4.7',
  diagnostic: 'The date of the message is too far from the time of its arrival.',
};

/** Rejects mail of a trusted sender, who is notified. */
async function refusal(
  deps: MessagingDependencies,
  context: OpenedContext,
  reason: string,
  failure: Failure,
): Promise<Store> {
  const sendFailureIn = await prepareFailure(deps, context, context.addressees.active, failure);
  return inTurn(sendFailureIn, rejection(deps, context.mail, reason, context));
}

// The mail was accepted with a 250, so its sender must be notified that no recipient got it (MDN-12, DSN-05);
// of a replay once an hour.
async function prepareFailure(
  deps: MessagingDependencies,
  context: Pick<OpenedContext, 'mail' | 'entity' | 'identity'>,
  recipients: readonly DirectAddress[],
  failure: Failure,
): Promise<Store> {
  const answerIn = await prepareAnswer(deps, context, recipients);
  return (tx) => answerIn(tx, failure);
}

/** The same for a reason that only the transaction knows. */
async function prepareAnswer(
  deps: MessagingDependencies,
  { mail, entity, identity }: Pick<OpenedContext, 'mail' | 'entity' | 'identity'>,
  recipients: readonly DirectAddress[],
): Promise<(tx: Kysely<MessagingTables>, failure: Failure) => Promise<void>> {
  if (recipients.length === 0 || findUnanswered(entity, mail.mailFrom) !== undefined) return async () => {};
  const hash = hashForAll(identity, 'undeliverable', recipients);
  const dsns = await planDsns(deps, recipients);
  return async (tx, failure) => {
    // Somebody else may send a copy of what has arrived: of that nobody is told that it failed.
    const lacking = await findNewIn(tx, identity, recipients);
    if (lacking.length === 0) return;
    const isNew = await registerIn(tx, deps, hash, mail.receivedAt);
    if (!isNew && !(await mayAnswerIn(tx, deps, hash))) return;
    for (const dsn of dsns) {
      const failed = dsn.recipients.filter((address) => lacking.includes(address));
      if (failed.length === 0) continue;
      const plan = { from: dsn.from, recipients: failed };
      await enqueueFailure(tx, deps, plan, identity, { ...failure, arrivedAt: mail.receivedAt });
    }
  };
}

// Mail that the agent refuses permanently is dropped without any MDN (AS-78); limits of the MIME reader count
// as such.
function isRejection(error: unknown): boolean {
  if (error instanceof MimeError) return true;
  return (
    error instanceof CodedError &&
    !error.isTransient &&
    error.kind !== 'internal' &&
    error.kind !== 'unavailable'
  );
}

interface RejectionFacts extends Partial<Pick<OpenedContext, 'identity'>> {
  readonly detail?: string;
  readonly signer?: SignerFinding | undefined;
}

/**
 * Records that mail was permanently rejected, and keeps the certificates that it was rejected for; of a
 * network that shows too many, the names alone.
 */
export function rejection(
  deps: MessagingDependencies,
  mail: MailEnvelope,
  reason: string,
  { identity, detail = '', signer }: RejectionFacts = {},
): Store {
  const messageId = identity?.wireId?.slice(0, 255) ?? '';
  const isKept =
    signer !== undefined &&
    (signer.anchor !== undefined || mayKeepStrangers(deps, signer.certificates, mail.remoteAddress));
  const finding = signer && { ...signer, certificates: isKept ? signer.certificates : [] };
  return async (tx) => {
    if (finding !== undefined) keepCertificates(tx, deps, finding.certificates, mail.receivedAt);
    await deps.audit.recordIn(tx, {
      action: 'message.reject',
      actor: 'system',
      outcome: 'refused',
      objects: {
        mailId: mail.id,
        messageId,
        from: mail.mailFrom.slice(0, 320),
        to: mail.recipients.join(' ').slice(0, 2000),
        reason,
        ...(detail === '' ? {} : { detail }),
        ...(finding && nameSigner(finding)),
      },
      remoteAddress: mail.remoteAddress,
    });
    deps.storage.afterCommit(tx, () =>
      deps.emit(
        'rejected',
        { code: reason },
        { mailId: mail.id, messageId, ...(detail === '' ? {} : { detail }) },
      ),
    );
  };
}

/** A name is the stranger's choice. */
const maxNameLength = 200;

/** The fingerprints, by which the kept certificates are found again; the names of a signer that is not. */
function nameSigner(finding: SignerFinding): Record<string, string> {
  const { fingerprint, names, certificates, anchor, failedAt } = finding;
  const [own, ...issuers] = certificates;
  return {
    signer: fingerprint,
    ...(own === undefined && {
      subject: names.subject.slice(0, maxNameLength),
      issuer: names.issuer.slice(0, maxNameLength),
      notBefore: names.notBefore.toISOString(),
      notAfter: names.notAfter.toISOString(),
    }),
    ...(issuers.length > 0 && { issuers: issuers.map((one) => one.fingerprint).join(' ') }),
    ...(anchor !== undefined && { anchor }),
    failedAt,
  };
}
