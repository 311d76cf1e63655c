import { sql } from 'kysely';
import { findDirectAddress, type DirectAddress } from '../../../lib/values/index.ts';
import type { ClientIdentity } from '../../oauth/index.ts';
import { requireOwned } from '../require-owned.ts';
import { waitingFor } from './inbox-access.ts';
import { defaultInboxPage, maxInboxPage } from '../limits.ts';
import type { MessagingDependencies } from '../ports.ts';
import { createProblems, type Problems } from '../problems.ts';
import type { InboxCopyRow, MessagingTables } from '../tables.ts';

export interface InboxQuery {
  readonly toDirectAddress?: string | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** One unacknowledged message, without any content. */
export interface InboxSummary {
  /** `urn:uuid:…` of this recipient's copy. */
  readonly messageId: string;
  readonly sender: string;
  readonly recipient: string;
  /** The addresses that it was sent to, if it was delivered to the recipient for them. */
  readonly forwardedFrom: readonly string[];
  readonly receivedAt: Date;
  readonly attachmentCount: number;
  readonly sizeBytes: number;
}

export interface InboxPage {
  readonly messages: readonly InboxSummary[];
  /** Start of the next page; undefined at the end. */
  readonly nextCursor: string | undefined;
}

/** The unacknowledged messages of the client's addresses, oldest first (Decision 0014). */
export async function listInbox(
  { storage }: Pick<MessagingDependencies, 'storage'>,
  client: ClientIdentity,
  query: InboxQuery,
): Promise<InboxPage> {
  const { address, limit, cursor } = readQuery(query);
  if (address !== undefined) requireOwned(client, address, 'toDirectAddress');
  let selection = storage
    .tables<MessagingTables>()
    .selectFrom('inbox_copy as c')
    .innerJoin('inbox_message as m', 'm.id', 'c.message_id')
    .where((eb) => waitingFor(storage, eb as never, client, address));
  // As a row, or SQLite reads what waits for all clients since then.
  if (cursor !== undefined)
    selection = selection.where(sql<boolean>`(c.received_at, c.id) > (${cursor.receivedAt}, ${cursor.id})`);
  const rows = await selection
    .select([
      'c.id',
      'c.address',
      'c.forwarded_from',
      'c.received_at',
      'm.sender',
      'm.attachment_count',
      'm.size_bytes',
    ])
    .orderBy('c.received_at')
    .orderBy('c.id')
    .limit(limit + 1)
    .execute();
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    messages: page.map((row) => ({
      messageId: `urn:uuid:${row.id}`,
      sender: row.sender,
      recipient: row.address,
      forwardedFrom: row.forwarded_from === '' ? [] : row.forwarded_from.split(' '),
      receivedAt: new Date(row.received_at),
      attachmentCount: row.attachment_count,
      sizeBytes: Number(row.size_bytes),
    })),
    nextCursor: rows.length > limit && last !== undefined ? formatCursor(last) : undefined,
  };
}

interface ReadQuery {
  readonly address: DirectAddress | undefined;
  readonly limit: number;
  readonly cursor: Cursor | undefined;
}

function readQuery({ toDirectAddress, limit = defaultInboxPage, cursor }: InboxQuery): ReadQuery {
  const problems = createProblems();
  const address =
    toDirectAddress === undefined || toDirectAddress === ''
      ? undefined
      : findDirectAddress(toDirectAddress.trim());
  if (toDirectAddress !== undefined && toDirectAddress !== '' && address === undefined)
    problems.add('toDirectAddress', 'invalid', 'Not a Direct address (local@domain).');
  if (!Number.isInteger(limit) || limit < 1)
    problems.add('limit', 'invalid', 'Must be a whole number above zero.');
  const position = readCursor(cursor, problems);
  problems.refuseIfAny();
  return { address, limit: Math.min(limit, maxInboxPage), cursor: position };
}

interface Cursor {
  readonly receivedAt: number;
  readonly id: string;
}

function formatCursor(row: Pick<InboxCopyRow, 'received_at' | 'id'>): string {
  return Buffer.from(`${row.received_at}.${row.id}`).toString('base64url');
}

function readCursor(text: string | undefined, problems: Problems): Cursor | undefined {
  if (text === undefined || text === '') return undefined;
  const [, receivedAt, id] =
    /^(\d{1,15})\.([0-9a-f-]{36})$/.exec(Buffer.from(text, 'base64url').toString('utf8')) ?? [];
  if (receivedAt !== undefined && id !== undefined) return { receivedAt: Number(receivedAt), id };
  problems.add('cursor', 'invalid', 'Invalid cursor.');
  return undefined;
}
