import type { Kysely } from 'kysely';
import type { Dsn, Mdn, MdnOrDsn } from '../../../lib/mdn/index.ts';
import {
  addressKey,
  domainOf,
  findDirectAddress,
  localPartOf,
  type DirectAddress,
} from '../../../lib/values/index.ts';
import { findRecipientAmong, recipientQueries, type FoundRecipient } from '../status/find-recipient.ts';
import { keepMdn } from '../evidence/keep-mdn.ts';
import { recordEvent, modeOf, type RecordedEvent } from '../status/record-event.ts';
import type { MessagingDependencies, OpenedMail } from '../ports.ts';
import type { DeliveryMode } from '../status/states.ts';
import type { MessagingTables } from '../tables.ts';

/**
 * The result of one MDN or DSN, for the audit trail. `applied` counts the recipients whose history it
 * entered.
 */
export interface MdnResult {
  readonly applied: number;
  /** Why it was not trusted, if it was not. */
  readonly ignored: string | undefined;
}

/** The claim of an MDN about one recipient. */
interface Claim {
  /**
   * Final-Recipient, then Original-Recipient: the one that the message was sent to may be an alias of the
   * other (RFC 8098 §3.2.3). Then, for an MDN, its signer, which may name a mailbox of its system in both.
   */
  readonly addresses: readonly DirectAddress[];
  /** Undefined if it confirms nothing. */
  read(mode: DeliveryMode): Omit<RecordedEvent, 'at'> | undefined;
}

interface ClaimedRecipient {
  /** The address by which the claim names it. */
  readonly address: DirectAddress;
  readonly row: FoundRecipient;
}

/**
 * Finds the message and recipient of a verified MDN or DSN and records its outcome (MDN-21 to MDN-24,
 * MDN-28). An MDN counts only if its signer is bound to that recipient; anything else changes nothing.
 */
export async function applyMdnOrDsn(
  tx: Kysely<MessagingTables>,
  deps: MessagingDependencies,
  opened: OpenedMail,
  mdnOrDsn: MdnOrDsn,
): Promise<MdnResult> {
  if (mdnOrDsn.kind === 'mdn') return applyMdn(tx, deps, opened, mdnOrDsn);
  const originals = await findOriginals(tx, opened, mdnOrDsn.originalMessageIds);
  if (originals.length === 0) return { applied: 0, ignored: 'no-such-message' };
  const results: (string | undefined)[] = [];
  for (const claim of dsnClaims(mdnOrDsn)) {
    const recipient = await findByAddress(tx, deps, originals, claim);
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
): Promise<ClaimedRecipient | 'no-such-message' | undefined> {
  const [wireId, ...otherIds] = ids;
  const [sender, ...others] = opened.recipients;
  const [address] = claim.addresses;
  if (
    wireId !== undefined &&
    sender !== undefined &&
    otherIds.length + others.length === 0 &&
    address !== undefined
  ) {
    const names = { wireId, senderKey: addressKey(sender), addressKey: addressKey(address) };
    const row = await recipientQueries(deps.storage).byWire.first(tx, names);
    if (row !== undefined) return { address, row };
  }
  const originals = await findOriginals(tx, opened, ids);
  return originals.length === 0 ? 'no-such-message' : findByAddress(tx, deps, originals, claim);
}

async function findByAddress(
  tx: Kysely<MessagingTables>,
  deps: MessagingDependencies,
  originals: readonly string[],
  { addresses }: Claim,
): Promise<ClaimedRecipient | undefined> {
  for (const address of addresses) {
    const row = await findRecipientAmong(tx, deps.storage, {
      messageIds: originals,
      addressKey: addressKey(address),
    });
    if (row !== undefined) return { address, row };
  }
  return undefined;
}

// The MDN or DSN must be addressed to the sender of the message that it reports. Of several, as References
// names the messages of a thread, the one that it names first: as often as it was sent to other recipients.
async function findOriginals(
  tx: Kysely<MessagingTables>,
  opened: OpenedMail,
  ids: readonly string[],
): Promise<readonly string[]> {
  if (ids.length === 0 || opened.recipients.length === 0) return [];
  const messages = await tx
    .selectFrom('message')
    .select(['id', 'wire_id'])
    .where('wire_id', 'in', ids.slice(0, 20))
    .where('sender_key', 'in', opened.recipients.map(addressKey))
    .execute();
  const named = ids.find((id) => messages.some(({ wire_id }) => wire_id === id));
  return messages.filter(({ wire_id }) => wire_id === named).map(({ id }) => id);
}

interface ClaimContext {
  readonly recipient: ClaimedRecipient | undefined;
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
  if (claim.addresses.length === 0) return 'no-recipient';
  if (recipient === undefined) return 'no-such-recipient';
  const { address, row } = recipient;
  if (!speaksFor(opened, address, kind)) return 'signer-not-bound';
  const event = claim.read(modeOf(row));
  if (event === undefined) return 'confirms-nothing';
  const at = deps.clock.now();
  await recordEvent(tx, deps, row, { ...event, at });
  keepMdn(tx, deps, { recipient: row, opened, at });
  if (event.event === 'processed' && deps.onProcessed !== undefined)
    deps.storage.afterCommit(tx, () => deps.onProcessed?.(address));
  return undefined;
}

/** An MDN speaks of the recipients of one message, of which there are 50 at most by default. */
const maxClaims = 200;

/** The mailboxes by which a mail system itself speaks (RFC 2142 §5, RFC 3464 §2). */
const systemMailboxes = new Set(['postmaster', 'mailer-daemon']);

/**
 * True if the signer is bound to the recipient that an MDN reports on (MDN-23): it is verified as that
 * address, or its certificate speaks for that whole domain. A delivery status may also come from the domain's
 * own mail system.
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

// Some agents omit Final-Recipient, or write a name or an alias of their own system in it; the signer is
// verified, so it is used instead.
function mdnClaim(mdn: Mdn, opened: OpenedMail): Claim {
  return {
    addresses: readAddresses(mdn.finalRecipient, mdn.originalRecipient, opened.sender),
    read: (mode) => readMdnEvent(mdn, mode),
  };
}

function readAddresses(...texts: readonly (string | undefined)[]): DirectAddress[] {
  return texts.flatMap((text) => findDirectAddress(text ?? '') ?? []);
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
    addresses: readAddresses(recipient.finalRecipient, recipient.originalRecipient),
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
