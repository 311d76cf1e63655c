import { readCertificate, type Certificate } from '../../../lib/pki/index.ts';
import { domainOf, type DirectAddress } from '../../../lib/values/index.ts';
import type { Storage } from '../../../platform/index.ts';
import type { Audit, AuditRecord } from '../../audit/index.ts';
import type { QueuedDestination } from '../../delivery/index.ts';
import { findHoldsOn, type LegalHold } from '../../legal-hold/index.ts';
import type { Trust } from '../../trust/index.ts';
import type { Attempt } from '../evidence/attempts.ts';
import { adviceFor, explainCode, isFailureReason } from '../reasons.ts';
import type { RecipientStatus, SentMessageStatus } from '../status/find-status.ts';
import type { MessagingTables } from '../tables.ts';
import { describePaths, type CertificatePath } from './certificate-paths.ts';
import type { ReceivedMessage } from './find-received.ts';
import { findStations, type Station } from './stations.ts';

/** All data about one sent message, without its content. */
export interface MessageDetails {
  readonly message: SentMessageStatus;
  readonly deliveryId: string;
  readonly clientId: string;
  readonly wireId: string;
  /** The X-Request-Id of the request that sent it; empty if its audit row is gone. */
  readonly requestId: string;
  readonly waiting: readonly QueuedDestination[];
  /** Oldest first. */
  readonly attempts: readonly Attempt[];
  /** Those in force that keep it. */
  readonly legalHolds: readonly LegalHold[];
}

/** The same with explanations. */
export interface MessageExplanation extends Omit<MessageDetails, 'waiting' | 'attempts'> {
  readonly direction: 'out';
  readonly recipients: readonly RecipientExplanation[];
  /** Oldest first. */
  readonly audit: readonly AuditRecord[];
}

export interface RecipientExplanation extends RecipientStatus {
  readonly destination: string;
  /** Advice for the operator; empty if nothing is to be done. */
  readonly whatToDo: string;
  readonly stations: readonly Station[];
  readonly certificates: readonly CertificatePath[];
  /** At this recipient's destination, oldest first. */
  readonly tried: readonly Attempt[];
  /** The waiting delivery; undefined once it is decided. */
  readonly waiting: QueuedDestination | undefined;
}

/** A message of another HISP: its copies here. */
export interface ReceivedExplanation {
  readonly direction: 'in';
  readonly copies: readonly ReceivedMessage[];
  readonly legalHolds: readonly LegalHold[];
  readonly audit: readonly AuditRecord[];
}

export interface ExplainParts {
  readonly storage: Storage;
  readonly audit: Pick<Audit, 'find'>;
  readonly trust: Pick<Trust, 'listAnchors'>;
}

/** Interprets the facts of a message. */
export async function explainMessage(
  parts: ExplainParts,
  facts: MessageDetails,
): Promise<MessageExplanation> {
  const { message, waiting, attempts, ...names } = facts;
  const db = parts.storage.tables<MessagingTables>();
  const anchors = await findAnchors(parts, message.sender);
  const recipients = await Promise.all(
    message.recipients.map(async (recipient): Promise<RecipientExplanation> => {
      const destination = domainOf(recipient.address as DirectAddress);
      const tried = attempts.filter((one) => one.destination === destination);
      const waits = waiting.find((one) => one.recipients.some((address) => address === recipient.address));
      return {
        ...recipient,
        text: explainCode(recipient.statusCode)?.text ?? recipient.text,
        destination,
        tried,
        waiting: waits,
        whatToDo: adviseOn(recipient, waits),
        stations: findStations({
          recipient,
          attempts: tried,
          acceptedAt: message.acceptedAt,
          requestsFinalDelivery: message.requestsFinalDelivery,
        }),
        certificates: await describePaths({ db, anchors }, tried, recipient.address),
      };
    }),
  );
  const times = message.recipients.flatMap(({ history }) => history.map(({ time }) => time));
  const audit = await findMessageAudit(parts.audit, {
    deliveryId: facts.deliveryId,
    names: [facts.wireId],
    times,
    acceptedAt: message.acceptedAt,
  });
  return { direction: 'out', message, ...names, recipients, audit };
}

async function findAnchors(
  { trust }: Pick<ExplainParts, 'trust'>,
  sender: string,
): Promise<readonly Certificate[]> {
  const entries = await trust.listAnchors(domainOf(sender as DirectAddress));
  return entries.map(({ certificate }) => readCertificate(certificate.der));
}

/** Advice for the operator about one recipient. */
function adviseOn(recipient: RecipientStatus, waits: QueuedDestination | undefined): string {
  if (waits?.isOnHold === true) return 'Release the destination when mail may be sent there again.';
  if (!isFailureReason(recipient.reason)) return '';
  return explainCode(recipient.statusCode)?.advice ?? adviceFor(recipient.reason, waits === undefined);
}

/** Interprets the facts of a received message. */
export async function explainReceived(
  { audit, storage }: Pick<ExplainParts, 'audit' | 'storage'>,
  copies: readonly ReceivedMessage[],
): Promise<ReceivedExplanation> {
  const [first] = copies;
  if (first === undefined) throw new TypeError('a received message has a copy');
  const times = copies.flatMap((copy) => [
    copy.receivedAt,
    ...((copy.acknowledgedAt ?? false) ? [copy.acknowledgedAt as Date] : []),
  ]);
  const names = [first.wireId, ...copies.flatMap(({ id, messageId }) => [id, messageId])];
  return {
    direction: 'in',
    copies,
    legalHolds: await findHoldsOn(storage, {
      wireId: first.wireId,
      addresses: [first.from, ...copies.map(({ to }) => to)],
    }),
    audit: await findMessageAudit(audit, { names, times, acceptedAt: first.receivedAt }),
  };
}

/** The time of an event of a message; its audit row has about the same time. */
interface AuditTrace {
  /** Of a sent message; rows with another one are of another message under its Message-ID. */
  readonly deliveryId?: string;
  /** The ids in audit rows: the Message-ID on the wire, and the id of a received copy. */
  readonly names: readonly string[];
  readonly times: readonly Date[];
  readonly acceptedAt: Date;
}

const nearMs = 2_000;
const maxWindows = 20;
/** Longest that a received message usually waits for certificates, or in the spool, before it is stored. */
const storedWithinMs = 600_000;
/** The audit actions of operators on a message. */
const operatorActions = ['message.show', 'message.retry', 'message.fail', 'message.evidence'] as const;

/**
 * The audit rows of one message, oldest first: found by the times of its history, since rows are indexed by
 * time.
 */
async function findMessageAudit(
  audit: Pick<Audit, 'find'>,
  { deliveryId, names, times, acceptedAt }: AuditTrace,
): Promise<readonly AuditRecord[]> {
  const windows = joinWindows(times).slice(0, maxWindows);
  const lists = await Promise.all([
    ...windows.map((window) => audit.find({ ...window, limit: 1_000 })),
    ...(deliveryId === undefined ? [audit.find(storedAfter(acceptedAt))] : []),
    ...operatorActions.map((action) => audit.find({ action, since: acceptedAt, limit: 1_000 })),
  ]);
  const wanted = new Set(names);
  const rows = lists
    .flat()
    .filter(({ objects }) => Object.values(objects).some((value) => wanted.has(String(value))))
    .filter((row) => deliveryId === undefined || !isOfOther(row, deliveryId));
  return [...new Map(rows.map((row) => [row.sequence, row])).values()].toSorted(
    (a, b) => a.sequence - b.sequence,
  );
}

// An MDN of the message has a delivery, too.
const isOfOther = ({ action, objects }: AuditRecord, deliveryId: string): boolean =>
  action.startsWith('message.') && (objects['deliveryId'] ?? deliveryId) !== deliveryId;

/** A received message has the time of its arrival; its row that of its storing. */
function storedAfter(since: Date): Parameters<Audit['find']>[0] {
  const until = new Date(since.getTime() + storedWithinMs);
  return { action: 'message.receive', since, until, limit: 1_000 };
}

interface Window {
  readonly since: Date;
  readonly until: Date;
}

function joinWindows(times: readonly Date[]): readonly Window[] {
  const windows: Window[] = [];
  for (const at of times.map(Number).toSorted((a, b) => a - b)) {
    const last = windows.at(-1);
    const until = new Date(at + nearMs);
    if (last !== undefined && at - nearMs <= last.until.getTime())
      windows[windows.length - 1] = { since: last.since, until };
    else windows.push({ since: new Date(at - nearMs), until });
  }
  return windows;
}
