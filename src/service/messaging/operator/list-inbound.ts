import type { Kysely } from 'kysely';
import type { Audit, AuditRecord } from '../../audit/index.ts';
import { MessagingError } from '../errors.ts';
import type { InboundMailRow, MessagingTables } from '../tables.ts';
import { hasParties } from './pick-page.ts';
import { pageSize, readCursor, toPage, writeCursor, type Page } from './paging.ts';

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
  /** The sender's Message-ID; empty if the mail could not be opened. */
  readonly messageId: string;
  /** The id in log lines; empty if the mail was refused before it was stored. */
  readonly mailId: string;
  readonly remoteAddress: string;
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
/** Rows per read, and the limit per page: a rare sender is searched page by page. */
const block = 500;
const maxRows = 20_000;

/** Newest first. A page may be short, or even empty, and still have a next one. Throws MESSAGING_SEARCH_INVALID. */
export async function listInbound(
  audit: Pick<Audit, 'find'>,
  query: InboundQuery,
): Promise<Page<InboundEntry>> {
  const size = pageSize(query.limit);
  const after = readCursor(query.cursor);
  const found: InboundEntry[] = [];
  let end = after === undefined ? undefined : { recordedAt: new Date(after.at), sequence: Number(after.id) };
  for (let read = 0; read < maxRows;) {
    const rows = await readBlock(audit, query, end);
    read += rows.length;
    found.push(...rows.map(toEntry).filter((entry) => isWanted(entry, query)));
    const last = rows.at(-1);
    if (found.length > size || last === undefined || rows.length < block)
      return toPage(found, size, ({ at, id }) => ({ at: at.getTime(), id }));
    end = last;
  }
  const page = toPage(found, size, ({ at, id }) => ({ at: at.getTime(), id }));
  return page.next !== undefined || end === undefined
    ? page
    : { ...page, next: writeCursor({ at: end.recordedAt.getTime(), id: String(end.sequence) }) };
}

/** The next rows of all the kinds together, newest first; fewer than a block only at the end. */
async function readBlock(
  audit: Pick<Audit, 'find'>,
  { kinds = standardKinds, since, until }: InboundQuery,
  olderThan: Pick<AuditRecord, 'recordedAt' | 'sequence'> | undefined,
): Promise<readonly AuditRecord[]> {
  const lists = await Promise.all(
    kinds.map((kind) => audit.find({ action: actions[kind], since, until, olderThan, limit: block })),
  );
  return lists
    .flat()
    .toSorted((a, b) => b.recordedAt.getTime() - a.recordedAt.getTime() || b.sequence - a.sequence)
    .slice(0, block);
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
    messageId: text('messageId'),
    mailId: text('mailId'),
    remoteAddress: remoteAddress ?? '',
  };
}

function isWanted(entry: InboundEntry, query: InboundQuery): boolean {
  return hasParties(entry, query) && (query.reason === undefined || entry.reason === query.reason);
}

/**
 * One mail: by the number of its audit row, or by its mail id while it waits or is a dead letter. Throws
 * MESSAGING_MESSAGE_NOT_FOUND.
 */
export async function showInbound(
  db: Kysely<MessagingTables>,
  audit: Pick<Audit, 'get'>,
  id: string,
): Promise<InboundEntry | WaitingMail> {
  if (/^\d{1,15}$/.test(id)) {
    const row = await audit.get(Number(id));
    if (row !== undefined && Object.values(actions).some((action) => action === row.action))
      return toEntry(row);
  }
  const row = await db
    .selectFrom('inbound_mail')
    .select(['id', 'state', 'mail_from', 'recipients', 'received_at', 'network', 'attempts', 'last_error'])
    .where('id', '=', id)
    .executeTakeFirst();
  if (row === undefined)
    throw new MessagingError('MESSAGING_MESSAGE_NOT_FOUND', `no incoming mail has the id ${id}`);
  return {
    id: row.id,
    state: row.state,
    from: row.mail_from,
    to: JSON.parse(row.recipients) as string[],
    receivedAt: new Date(row.received_at),
    network: row.network,
    attempts: row.attempts,
    reason: row.last_error,
  };
}
