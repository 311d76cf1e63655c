import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Storage } from '../../../platform/index.ts';
import {
  recipientStates,
  recipientStatesOf,
  type RecipientState,
} from '../../../lib/recipient-states/index.ts';
import {
  addressKey,
  findDirectAddress,
  isQualifiedDomain,
  type DirectAddress,
} from '../../../lib/values/index.ts';
import { everything, splitOwned, whereOwned, type Owned } from '../../organizations/index.ts';
import type { Audit } from '../../audit/index.ts';
import { MessagingError } from '../errors.ts';
import { isFailureReason } from '../reasons.ts';
import { findUuid } from '../status/find-status.ts';
import type { MessagingTables } from '../tables.ts';
import { matchesAddress } from '../domain-of.ts';
import { maxPage, pageSize, readCursor, toPage, type Page } from './paging.ts';
import { isFailed as isFailedIndex, isUnfinishedOrFailed } from './unfinished-or-failed.ts';

/** Search conditions for sent messages; all must match. */
export interface MessageQuery {
  /** `urn:uuid:…`, the bare UUID, or the `Message-ID` on the wire. */
  readonly id?: string | undefined;
  /** The first digits of its UUID. */
  readonly idStart?: string | undefined;
  /** The X-Request-Id of the request that sent it. */
  readonly requestId?: string | undefined;
  /** Sender or recipient. */
  readonly address?: string | undefined;
  /** Of sender or recipient. */
  readonly domain?: string | undefined;
  /** Further addresses, or `@domain`, each sender or recipient; lower-cased. */
  readonly otherAddresses?: readonly string[] | undefined;
  readonly clientId?: string | undefined;
  readonly state?: string | undefined;
  readonly reason?: string | undefined;
  /** Time of acceptance: from this time on, and before that one. */
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
  /** Whose clients sent it; everything by default. */
  readonly owned?: Owned;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** One recipient of one message. */
export interface FoundMessage {
  /** Of this recipient, unique. */
  readonly id: string;
  /** `urn:uuid:…` */
  readonly messageId: string;
  /** Its delivery, while it waits. */
  readonly deliveryId: string;
  readonly wireId: string;
  readonly clientId: string;
  readonly from: string;
  readonly to: string;
  readonly acceptedAt: Date;
  readonly state: RecipientState;
  /** Time at which it entered that state. */
  readonly stateAt: Date;
  readonly reason: string;
  readonly statusCode: string;
}

/** What a search needs of the storage. */
export type SearchedStorage = Pick<Storage, 'tables' | 'implied'>;

/** Newest first. Throws MESSAGING_SEARCH_INVALID. */
export async function findMessages(
  storage: SearchedStorage,
  audit: Pick<Audit, 'find'>,
  query: MessageQuery,
): Promise<Page<FoundMessage>> {
  checkWords(query);
  const ids = await findIds(storage.tables(), audit, query);
  if (ids?.length === 0) return { items: [] };
  const size = pageSize(query.limit);
  const lists = await Promise.all(splitQuery(query).map((one) => search(storage, one, ids, size)));
  const rows = new Map(lists.flat().map((row) => [row.id, row]));
  const sorted = [...rows.values()].toSorted(
    (a, b) => b.acceptedAt.getTime() - a.acceptedAt.getTime() || (a.id < b.id ? 1 : -1),
  );
  return toPage(sorted, size, ({ acceptedAt, id }) => ({ at: acceptedAt.getTime(), id }));
}

/** Each part is served by one index. */
function splitQuery(query: MessageQuery): readonly PageQuery[] {
  const { state, address, domain, clientId, owned } = query;
  // All that wait have one index, which has the client, too.
  const isByOwner =
    owned !== undefined &&
    [address, domain, clientId].every((one) => one === undefined) &&
    !waitingStates.has(state ?? '');
  if (isByOwner)
    return splitOwned(owned, 'clients').flatMap((part) => splitReasons({ ...query, owned: part }));
  return splitReasons(query);
}

function splitReasons(query: MessageQuery): readonly PageQuery[] {
  const { state, reason } = query;
  // Only failed and expired recipients have a reason.
  const byState =
    reason !== undefined && state === undefined
      ? [...failedStates].map((one) => ({ ...query, state: one }))
      : [query];
  return byState.flatMap(splitSides);
}

function splitSides(query: MessageQuery): readonly PageQuery[] {
  const { address, domain } = query;
  if (address === undefined && domain === undefined) return [query];
  const key =
    address === undefined ? `@${(domain ?? '').toLowerCase()}` : addressKey(address as DirectAddress);
  return [
    { ...query, side: { side: 'to', key } },
    { ...query, side: { side: 'from', key } },
  ];
}

function checkWords({ address, domain, state, reason }: MessageQuery): void {
  if (address !== undefined && findDirectAddress(address) === undefined && !isDomainOf(address))
    throw new MessagingError(
      'MESSAGING_SEARCH_INVALID',
      `address: ${address} is neither a Direct address (local@domain) nor all of a domain (@domain).`,
    );
  if (domain !== undefined && !isQualifiedDomain(domain))
    throw new MessagingError('MESSAGING_SEARCH_INVALID', `domain: ${domain} is not a domain.`);
  if (state !== undefined && !recipientStates.some((known) => known === state))
    throw new MessagingError(
      'MESSAGING_SEARCH_INVALID',
      `state: must be one of ${recipientStates.join(', ')}.`,
    );
  if (reason !== undefined && !isFailureReason(reason))
    throw new MessagingError('MESSAGING_SEARCH_INVALID', `reason: unknown reason ${reason}.`);
}

/** True for `@domain`. */
const isDomainOf = (text: string): boolean => text.startsWith('@') && isQualifiedDomain(text.slice(1));

/** Rows of the messages that are named by an id; undefined if none is. */
async function findIds(
  db: Kysely<MessagingTables>,
  audit: Pick<Audit, 'find'>,
  { id, idStart, requestId, owned }: MessageQuery,
): Promise<readonly string[] | undefined> {
  const named =
    idStart !== undefined
      ? await findBegun(db, idStart, owned)
      : id === undefined
        ? undefined
        : await findNamed(db, id, owned);
  // Clients choose their request ids, and many use UUIDs.
  const other = idStart ?? (id !== undefined && findUuid(id) !== undefined ? id : undefined);
  if (named?.length === 0 && requestId === undefined && other !== undefined)
    return findIds(db, audit, { requestId: other, limit: 1 });
  if (requestId === undefined) return named;
  const rows = await audit.find({ action: 'message.accept', requestId, limit: 100 });
  return rows
    .map(({ objects }) => String(objects['deliveryId'] ?? ''))
    .filter((one) => one !== '' && (named === undefined || named.includes(one)));
}

async function findBegun(
  db: Kysely<MessagingTables>,
  idStart: string,
  owned: Owned = everything,
): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('message')
    .select('id')
    .where('uuid', '>=', idStart)
    // Digits and hyphens follow.
    .where('uuid', '<', `${idStart}g`)
    .where(whereOwned(owned, 'clients', sql.ref('client_id')))
    .limit(20)
    .execute();
  return rows.map((row) => row.id);
}

/**
 * The rows of the messages with an id: of their own, of the API, which two clients may have chosen, or the
 * Message-ID on the wire, under which a client may send to more recipients and another domain to its own.
 */
export async function findNamed(
  db: Kysely<MessagingTables>,
  name: string,
  owned: Owned = everything,
): Promise<readonly string[]> {
  const query = db
    .selectFrom('message')
    .select('id')
    .where(whereOwned(owned, 'clients', sql.ref('client_id')))
    .limit(maxPage);
  const uuid = findUuid(name);
  const rows =
    uuid === undefined
      ? await query.where('wire_id', '=', `<${name.replaceAll(/^<|>$/g, '')}>`).execute()
      : await query.where((eb) => eb.or([eb('uuid', '=', uuid), eb('id', '=', uuid)])).execute();
  const ids = rows.map((row) => row.id);
  return uuid !== undefined && ids.includes(uuid) ? [uuid] : ids;
}

interface Side {
  readonly side: 'from' | 'to';
  /** Of an address, or `@domain`. */
  readonly key: string;
}

interface PageQuery extends MessageQuery {
  readonly side?: Side;
}

async function search(
  storage: SearchedStorage,
  query: PageQuery,
  ids: readonly string[] | undefined,
  size: number,
): Promise<FoundMessage[]> {
  const { state, side } = query;
  const isFailed = ids === undefined && failedStates.has(state ?? '');
  // A recipient's own index is shorter than that of all that wait.
  const isWaiting = ids === undefined && waitingStates.has(state ?? '') && !isRecipient(side);
  // Both tables have these columns with equal values; choosing the table that is scanned first chooses the
  // index.
  const isByRecipient = isFailed || isWaiting || side?.side === 'to';
  const time = isByRecipient ? 'r.created_at' : 'm.created_at';
  const { implied } = storage;
  const matches = and(conditionsOf(query, { isFailed, isWaiting, time, implied }));
  const rows = await joinTables(storage.tables(), isByRecipient)
    .select(['r.id', 'r.address', 'r.state', 'r.reason', 'r.status_code', 'r.status_at'])
    .select(['m.id as delivery_id', 'm.uuid', 'm.wire_id', 'm.client_id', 'm.sender', 'm.created_at'])
    .$if(ids !== undefined, (joined) => joined.where('m.id', 'in', ids ?? []))
    // The inner statement reads the index alone, so a row that does not match costs no access to the table.
    .$if(isWaiting, (joined) =>
      joined.where('r.id', 'in', (eb) =>
        eb
          .selectFrom('message_recipient as r')
          .select('r.id')
          .where(matches)
          .orderBy('r.created_at', 'desc')
          .orderBy('r.id', 'desc')
          .limit(size + 1),
      ),
    )
    .$if(!isWaiting, (joined) => joined.where(matches))
    .orderBy(time, 'desc')
    .orderBy('r.id', 'desc')
    .limit(size + 1)
    .execute();
  return rows.map((row) => ({
    id: row.id,
    messageId: `urn:uuid:${row.uuid}`,
    deliveryId: row.delivery_id,
    wireId: row.wire_id,
    clientId: row.client_id,
    from: row.sender,
    to: row.address,
    acceptedAt: new Date(row.created_at),
    state: row.state,
    stateAt: new Date(row.status_at),
    reason: row.reason,
    statusCode: row.status_code,
  }));
}

interface Scan {
  /** The scan is of failed or of waiting recipients, whose rows repeat the sender and the client. */
  readonly isFailed: boolean;
  readonly isWaiting: boolean;
  readonly time: 'm.created_at' | 'r.created_at';
  readonly implied: Storage['implied'];
}

function conditionsOf(
  { clientId, state, reason, since, until, owned = everything, cursor, side, otherAddresses = [] }: PageQuery,
  { isFailed, isWaiting, time: timeColumn, implied }: Scan,
): RawBuilder<boolean>[] {
  const isByState = isFailed || isWaiting;
  const isReasonOnly = side === undefined && clientId === undefined && owned === everything;
  const isAlone = isReasonOnly && reason === undefined;
  const recipient = sql.ref('r.address_key');
  const sender = sql.ref(isByState ? 'r.sender_key' : 'm.sender_key');
  const client = sql.ref(isByState ? 'r.client_id' : 'm.client_id');
  const time = sql.ref(timeColumn);
  const after = readCursor(cursor);
  const conditions: RawBuilder<boolean>[] =
    owned === everything ? [] : [whereOwned(owned, 'clients', client)];
  // Text appended to a column keeps SQLite from its index, here that of all the messages to a domain.
  if (side?.side === 'to')
    conditions.push(matchesAddress(isWaiting ? sql`(${recipient} || '')` : recipient, side.key));
  if (side?.side === 'from') conditions.push(matchesAddress(sender, side.key));
  for (const address of otherAddresses)
    conditions.push(sql`(${matchesAddress(recipient, address)} or ${matchesAddress(sender, address)})`);
  if (clientId !== undefined) conditions.push(sql`${client} = ${clientId}`);
  if (state !== undefined) conditions.push(sql`r.state = ${state}`);
  // The condition of one of the partial indexes only, or SQLite may choose the longer one.
  if (isWaiting || (isFailed && isAlone)) conditions.push(implied(isUnfinishedOrFailed('r.state')));
  else if (isFailed) conditions.push(implied(isFailedIndex('r.state')));
  // Next to another condition, whose index has the reason too, that of reasons is the longer one.
  if (reason !== undefined)
    conditions.push(sql`${isReasonOnly ? sql`r.reason` : sql`(r.reason || '')`} = ${reason}`);
  if (since !== undefined) conditions.push(sql`${time} >= ${since.getTime()}`);
  if (until !== undefined) conditions.push(sql`${time} < ${until.getTime()}`);
  if (after !== undefined)
    conditions.push(sql`${time} <= ${after.at} and (${time} < ${after.at} or r.id < ${after.id})`);
  return conditions;
}

const and = (conditions: readonly RawBuilder<boolean>[]): RawBuilder<boolean> =>
  conditions.length === 0 ? sql<boolean>`1 = 1` : sql<boolean>`${sql.join(conditions, sql` and `)}`;

/** Recipients in these states are few among all; each condition has an index of them alone. */
const failedStates: ReadonlySet<string> = new Set(recipientStatesOf('failed'));
/**
 * Undecided recipients have one index for all conditions: every further index would cost a write per message.
 */
const waitingStates: ReadonlySet<string> = new Set(recipientStatesOf('waiting'));

const isRecipient = (side: Side | undefined): boolean => side?.side === 'to' && !side.key.startsWith('@');

// SQLite keeps the order of a cross join, so it scans the first table first.
function joinTables(db: Kysely<MessagingTables>, isByRecipient: boolean) {
  const joined = isByRecipient
    ? db.selectFrom('message_recipient as r').crossJoin('message as m')
    : db.selectFrom('message as m').crossJoin('message_recipient as r');
  return joined.whereRef('m.id', '=', 'r.message_id');
}
