import type { Kysely } from 'kysely';
import type { Dsn, Mdn, MdnOrDsn } from '../../../lib/mdn/index.ts';
import {
  addressKey,
  domainOf,
  findDirectAddress,
  localPartOf,
  type DirectAddress,
} from '../../../lib/values/index.ts';
import { recipientQueries, type FoundRecipient } from '../status/find-recipient.ts';
import { keepMdn } from '../evidence/keep-mdn.ts';
import { recordEvent, modeOf, type RecordedEvent } from '../status/record-event.ts';
import type { MessagingDependencies, OpenedMail } from '../ports.ts';
import type { DeliveryMode } from '../status/states.ts';
import type { MessagingTables } from '../tables.ts';

/** The result of one MDN or DSN, for the audit trail. `applied` counts the recipients whose history it entered. */
export interface MdnResult {
  readonly applied: number;
  /** Why it was not trusted, if it was not. */
  readonly ignored: string | undefined;
}

/** The claim of an MDN about one recipient. */
interface Claim {
  readonly recipient: DirectAddress | undefined;
  /** Undefined if it confirms nothing. */
  read(mode: DeliveryMode): Omit<RecordedEvent, 'at'> | undefined;
}

/**
 * Finds the message and recipient of a verified MDN or DSN and records its outcome (MDN-21 to MDN-24, MDN-28).
 * An MDN counts only if its signer is bound to that recipient; anything else changes nothing.
 */
export async function applyMdnOrDsn(
  tx: Kysely<MessagingTables>,
  deps: MessagingDependencies,
  opened: OpenedMail,
  mdnOrDsn: MdnOrDsn,
): Promise<MdnResult> {
  if (mdnOrDsn.kind === 'mdn') return applyMdn(tx, deps, opened, mdnOrDsn);
  const messageId = await findOriginal(tx, opened, mdnOrDsn.originalMessageIds);
  if (messageId === undefined) return { applied: 0, ignored: 'no-such-message' };
  const results: (string | undefined)[] = [];
  for (const claim of dsnClaims(mdnOrDsn)) {
    const recipient = await findByAddress(tx, deps, messageId, claim);
    results.push(await applyClaim(tx, deps, { recipient, opened, claim, kind: 'dsn' }));
  }
  const applied = results.filter((result) => result === undefined).length;
  return { applied, ignored: applied > 0 ? undefined : (results[0] ?? 'no-recipient') };
}

async function applyMdn(
  tx: Kysely<MessagingTables>,
  deps: MessagingDependencies,
  opened: OpenedMail,
  mdn: Mdn,
): Promise<MdnResult> {
  const claim = mdnClaim(mdn, opened);
  const recipient = await findForMdn(tx, deps, { opened, claim, ids: mdn.originalMessageIds });
  if (recipient === 'no-such-message') return { applied: 0, ignored: recipient };
  const ignored = await applyClaim(tx, deps, { recipient, opened, claim, kind: 'mdn' });
  return { applied: ignored === undefined ? 1 : 0, ignored };
}

interface MdnNames {
  readonly opened: OpenedMail;
  readonly claim: Claim;
  readonly ids: readonly string[];
}

// Nearly every MDN names one message and goes to one address, and is found by one statement.
async function findForMdn(
  tx: Kysely<MessagingTables>,
  deps: MessagingDependencies,
  { opened, claim, ids }: MdnNames,
): Promise<FoundRecipient | 'no-such-message' | undefined> {
  const [wireId, ...otherIds] = ids;
  const [sender, ...others] = opened.recipients;
  if (
    wireId !== undefined &&
    sender !== undefined &&
    otherIds.length + others.length === 0 &&
    claim.recipient
  ) {
    const names = { wireId, senderKey: addressKey(sender), addressKey: addressKey(claim.recipient) };
    const found = await recipientQueries(deps.storage).byWire.first(tx, names);
    if (found !== undefined) return found;
  }
  const messageId = await findOriginal(tx, opened, ids);
  return messageId === undefined ? 'no-such-message' : findByAddress(tx, deps, messageId, claim);
}

async function findByAddress(
  tx: Kysely<MessagingTables>,
  deps: MessagingDependencies,
  messageId: string,
  { recipient }: Claim,
): Promise<FoundRecipient | undefined> {
  if (recipient === undefined) return undefined;
  return recipientQueries(deps.storage).byAddress.first(tx, {
    messageId,
    addressKey: addressKey(recipient),
  });
}

// The MDN or DSN must be addressed to the sender of the message that it reports.
async function findOriginal(
  tx: Kysely<MessagingTables>,
  opened: OpenedMail,
  ids: readonly string[],
): Promise<string | undefined> {
  if (ids.length === 0 || opened.recipients.length === 0) return undefined;
  const message = await tx
    .selectFrom('message')
    .select('id')
    .where('wire_id', 'in', ids.slice(0, 20))
    .where('sender_key', 'in', opened.recipients.map(addressKey))
    .executeTakeFirst();
  return message?.id;
}

interface ClaimContext {
  readonly recipient: FoundRecipient | undefined;
  readonly opened: OpenedMail;
  readonly claim: Claim;
  readonly kind: MdnOrDsn['kind'];
}

// Returns why the claim was ignored, or undefined if it was recorded.
async function applyClaim(
  tx: Kysely<MessagingTables>,
  deps: MessagingDependencies,
  { recipient, opened, claim, kind }: ClaimContext,
): Promise<string | undefined> {
  if (claim.recipient === undefined) return 'no-recipient';
  if (recipient === undefined) return 'no-such-recipient';
  if (!speaksFor(opened, claim.recipient, kind)) return 'signer-not-bound';
  const event = claim.read(modeOf(recipient));
  if (event === undefined) return 'confirms-nothing';
  const at = deps.clock.now();
  await recordEvent(tx, deps, recipient, { ...event, at });
  keepMdn(tx, deps, { recipient, opened, at });
  if (event.event === 'processed' && deps.onProcessed !== undefined) {
    const processedBy = claim.recipient;
    deps.storage.afterCommit(tx, () => deps.onProcessed?.(processedBy));
  }
  return undefined;
}

/** An MDN speaks of the recipients of one message, of which there are 50 at most by default. */
const maxClaims = 200;

/** The mailboxes by which a mail system itself speaks (RFC 2142 §5, RFC 3464 §2). */
const systemMailboxes = new Set(['postmaster', 'mailer-daemon']);

/**
 * True if the signer is bound to the recipient that an MDN reports on (MDN-23): it is verified as that address, or its
 * certificate speaks for that whole domain. A delivery status may also come from the domain's own mail system.
 */
function speaksFor(
  { sender, binding }: Pick<OpenedMail, 'sender' | 'binding'>,
  recipient: DirectAddress,
  kind: MdnOrDsn['kind'],
): boolean {
  if (addressKey(sender) === addressKey(recipient)) return true;
  if (domainOf(sender) !== domainOf(recipient)) return false;
  return binding === 'domain' || (kind === 'dsn' && systemMailboxes.has(localPartOf(sender).toLowerCase()));
}

// Some agents omit Final-Recipient; the signer is verified, so it is used instead.
function mdnClaim(mdn: Mdn, opened: OpenedMail): Claim {
  const recipient = mdn.finalRecipient === undefined ? opened.sender : findDirectAddress(mdn.finalRecipient);
  return { recipient, read: (mode) => readMdnEvent(mdn, mode) };
}

function readMdnEvent(mdn: Mdn, mode: DeliveryMode): Omit<RecordedEvent, 'at'> | undefined {
  if (mdn.isFailure)
    return { event: 'failure-reported', reason: 'remote-failed', diagnostic: mdn.explanation };
  if (mdn.disposition === 'processed') return { event: 'processed' };
  if (mdn.disposition !== 'dispatched') return undefined;
  // Asked for, only the extension field makes it a confirmation (MDN-10, MDN-24).
  return mode === 'general' || mdn.confirmsFinalDelivery ? { event: 'dispatched' } : undefined;
}

function dsnClaims(dsn: Dsn): readonly Claim[] {
  return dsn.recipients.slice(0, maxClaims).map((recipient) => ({
    recipient: findDirectAddress(recipient.finalRecipient ?? recipient.originalRecipient ?? ''),
    read: () =>
      recipient.isFailure
        ? {
            event: 'failure-reported' as const,
            reason: isUnknownMailbox(recipient.status) ? 'unknown-recipient' : 'remote-failed',
            statusCode: recipient.status,
            diagnostic: recipient.diagnostic,
          }
        : undefined,
  }));
}

// 5.1.1: bad destination mailbox; 5.1.6: it has moved (RFC 3463 §3.2).
function isUnknownMailbox(status: string | undefined): boolean {
  return status === '5.1.1' || status === '5.1.6';
}
