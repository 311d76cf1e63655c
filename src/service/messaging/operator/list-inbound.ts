import type { Kysely } from 'kysely';
import { readTexts } from '../../../core/index.ts';
import type { Audit, AuditRecord } from '../../audit/index.ts';
import { everything, isOwnedAddress, type Owned } from '../../organizations/index.ts';
import { MessagingError } from '../errors.ts';
import type { InboundMailRow, MessagingTables } from '../tables.ts';
import { describeSigner, type SignerNames, type SignerPath } from './certificate-paths.ts';
import { inboundTextOf } from './inbound-texts.ts';
import { readCursor, toPage, type Page, type Position } from './paging.ts';
import { hasAddresses, pickPage } from './pick-page.ts';

/** The outcomes of mail from another HISP: their audit actions. */
const actions = {
  rejected: 'message.reject',
  'dead-letter': 'message.dead-letter',
  discarded: 'message.discard',
  received: 'message.receive',
} as const;

export type InboundKind = keyof typeof actions;

export const inboundKinds = Object.keys(actions) as readonly InboundKind[];

/** Search conditions for incoming mail; all must match. */
export interface InboundQuery {
  /** Default: all but received mail. */
  readonly kinds?: readonly InboundKind[] | undefined;
  /** Part of the envelope's sender, for example its domain. */
  readonly from?: string | undefined;
  /** Part of the recipients. */
  readonly to?: string | undefined;
  readonly reason?: string | undefined;
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
  /** Whose addresses are among the recipients; everything by default. */
  readonly owned?: Owned;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** One mail, as recorded in the audit trail. */
export interface InboundEntry {
  /** Number of the audit row. */
  readonly id: string;
  readonly kind: InboundKind;
  readonly at: Date;
  /** The envelope sender; empty for the null sender. */
  readonly from: string;
  readonly to: readonly string[];
  /** A code of the error documents; empty for received mail. */
  readonly reason: string;
  /** Which certificate, algorithm or limit; may be empty. */
  readonly detail: string;
  /** The sender's Message-ID; empty if the mail could not be opened. */
  readonly messageId: string;
  /** The id in log lines; empty if the mail was refused before it was stored. */
  readonly mailId: string;
  readonly remoteAddress: string;
  /**
   * Of received mail, what was not read as its sender may have meant it: fields and reasons; empty if there
   * is nothing.
   */
  readonly warnings: string;
}

/** Refused mail with the certificates that it was refused for; undefined if for another reason. */
export interface ShownInbound extends InboundEntry {
  readonly signer: SignerPath | undefined;
}

/** Mail that waits or is a dead letter. */
export interface WaitingMail {
  readonly id: string;
  readonly state: InboundMailRow['state'];
  readonly from: string;
  readonly to: readonly string[];
  readonly receivedAt: Date;
  readonly network: string;
  readonly attempts: number;
  /** Code of the last error. */
  readonly reason: string;
}

const standardKinds: readonly InboundKind[] = ['rejected', 'dead-letter', 'discarded'];
/** Rows read for one page: a rare sender is searched page by page. */
const maxRows = 20_000;

const positionOf = ({ at, id }: InboundEntry): Position => ({ at: at.getTime(), id });

/**
 * Newest first. A page may be short, or even empty, and still have a next one. Throws
 * MESSAGING_SEARCH_INVALID.
 */
export function listInbound(audit: Pick<Audit, 'find'>, query: InboundQuery): Promise<Page<InboundEntry>> {
  return pickPage(query, {
    read: async ({ limit, cursor }) =>
      toPage(await readEntries(audit, query, limit + 1, readCursor(cursor)), limit, positionOf),
    isWanted: (entry) => isWanted(entry, query),
    positionOf,
    maxRows,
  });
}

/** The next entries of all the kinds together, newest first. */
async function readEntries(
  audit: Pick<Audit, 'find'>,
  { kinds = standardKinds, since, until, owned = everything }: InboundQuery,
  limit: number,
  after: Position | undefined,
): Promise<readonly InboundEntry[]> {
  const olderThan = after && { recordedAt: new Date(after.at), sequence: Number(after.id) };
  const lists = await Promise.all(
    kinds.map((kind) => audit.find({ action: actions[kind], since, until, olderThan, limit })),
  );
  return lists
    .flat()
    .toSorted((a, b) => b.recordedAt.getTime() - a.recordedAt.getTime() || b.sequence - a.sequence)
    .slice(0, limit)
    .map((row) => withOwned(toEntry(row), owned));
}

function toEntry({ sequence, action, recordedAt, objects, remoteAddress }: AuditRecord): InboundEntry {
  const text = (name: string): string => String(objects[name] ?? '');
  return {
    id: String(sequence),
    kind: inboundKinds.find((kind) => actions[kind] === action) ?? 'rejected',
    at: recordedAt,
    from: text('from'),
    to: text('to')
      .split(' ')
      .filter((one) => one !== ''),
    reason: text('reason'),
    detail: text('detail'),
    messageId: text('messageId'),
    mailId: text('mailId'),
    remoteAddress: remoteAddress ?? '',
    warnings: text('warnings'),
  };
}

function isWanted(entry: InboundEntry, query: InboundQuery): boolean {
  return hasAddresses(entry, query) && (query.reason === undefined || entry.reason === query.reason);
}

/**
 * One mail: by the number of its audit row, or by its mail id while it waits or is a dead letter. Throws
 * MESSAGING_MESSAGE_NOT_FOUND.
 */
export async function showInbound(
  db: Kysely<MessagingTables>,
  audit: Pick<Audit, 'get'>,
  id: string,
  owned: Owned = everything,
): Promise<ShownInbound | WaitingMail> {
  if (/^\d{1,15}$/.test(id)) {
    const row = await audit.get(Number(id));
    if (row !== undefined && Object.values(actions).some((action) => action === row.action))
      return requireOwnedMail({ ...toEntry(row), signer: await findSigner(db, row) }, owned);
  }
  const row = await db
    .selectFrom('inbound_mail')
    .select(['id', 'state', 'mail_from', 'recipients', 'received_at', 'network', 'attempts', 'last_error'])
    .where('id', '=', id)
    .executeTakeFirst();
  if (row === undefined) throw unknownMail();
  const mail = {
    id: row.id,
    state: row.state,
    from: row.mail_from,
    to: readTexts(row.recipients),
    receivedAt: new Date(row.received_at),
    network: row.network,
    attempts: row.attempts,
    reason: row.last_error,
  };
  return requireOwnedMail(mail, owned);
}

const unknownMail = (): MessagingError =>
  new MessagingError('MESSAGING_MESSAGE_NOT_FOUND', 'no inbound mail has that id');

/** Without the recipients of other organizations. */
function withOwned<Mail extends { readonly to: readonly string[] }>(mail: Mail, owned: Owned): Mail {
  return { ...mail, to: mail.to.filter((one) => isOwnedAddress(owned, one)) };
}

function requireOwnedMail<Mail extends { readonly to: readonly string[] }>(mail: Mail, owned: Owned): Mail {
  const shown = withOwned(mail, owned);
  if (owned !== everything && shown.to.length === 0) throw unknownMail();
  return shown;
}

async function findSigner(
  db: Kysely<MessagingTables>,
  { objects }: AuditRecord,
): Promise<SignerPath | undefined> {
  const text = (name: string): string => String(objects[name] ?? '');
  const fingerprint = text('signer');
  if (fingerprint === '') return undefined;
  const issuers = text('issuers').split(' ');
  const names: SignerNames = {
    fingerprint,
    issuers: issuers.filter((one) => one !== ''),
    anchor: text('anchor'),
    failedAt: text('failedAt'),
    ...(text('notAfter') !== '' && {
      names: {
        subject: text('subject'),
        issuer: text('issuer'),
        notBefore: new Date(text('notBefore')),
        notAfter: new Date(text('notAfter')),
      },
    }),
  };
  const code = text('reason');
  return describeSigner(db, names, { code, text: inboundTextOf(code).text });
}
