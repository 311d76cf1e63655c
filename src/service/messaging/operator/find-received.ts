import { sql, type Kysely } from 'kysely';
import { addressKey, type DirectAddress } from '../../../lib/values/index.ts';
import { everything, splitOwned, whereOwned, type Owned } from '../../organizations/index.ts';
import { findUuid } from '../status/find-status.ts';
import type { MessagingTables } from '../tables.ts';
import { matchesAddress } from '../domain-of.ts';
import { pageSize, readCursor, toPage, type Page } from './paging.ts';

/** Search conditions for received messages; all must match. */
export interface ReceivedQuery {
  /** The API's id of a copy, or the sender's Message-ID. */
  readonly id?: string | undefined;
  /** The first digits of the API's id. */
  readonly idStart?: string | undefined;
  /** Sender or recipient. */
  readonly address?: string | undefined;
  /** Of the recipient, or of the sender. */
  readonly domain?: string | undefined;
  /** Further addresses, or `@domain`, each sender or recipient; lower-cased. */
  readonly otherAddresses?: readonly string[] | undefined;
  readonly state?: ReceivedState | undefined;
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
  /** Whose domains received it; everything by default. */
  readonly owned?: Owned;
  readonly limit: number;
  readonly cursor?: string | undefined;
  /** Default: newest. */
  readonly order?: 'newest' | 'oldest';
}

/** `acknowledged`: an edge system has acknowledged it. */
export type ReceivedState = 'received' | 'acknowledged';

/** One recipient's copy of a message from another HISP. */
export interface ReceivedMessage {
  readonly id: string;
  /** `urn:uuid:…` */
  readonly messageId: string;
  /** The sender's Message-ID. */
  readonly wireId: string;
  readonly from: string;
  readonly to: string;
  readonly receivedAt: Date;
  /** Also when others got it in place of an address that keeps no copy. */
  readonly acknowledgedAt: Date | undefined;
  readonly isOthersOnly: boolean;
}

type Part = ReceivedQuery & {
  readonly side?: 'from' | 'to' | undefined;
  readonly by?: 'copy' | 'wire' | undefined;
};

/** By time. Throws MESSAGING_SEARCH_INVALID. */
export async function findReceived(
  db: Kysely<MessagingTables>,
  query: ReceivedQuery,
): Promise<Page<ReceivedMessage>> {
  const size = pageSize(query.limit);
  const lists = await Promise.all(splitQuery(query).map((part) => search(db, part, size)));
  const rows = new Map(lists.flat().map((row) => [row.id, row]));
  const sign = query.order === 'oldest' ? -1 : 1;
  const sorted = [...rows.values()].toSorted(
    (a, b) => sign * (b.receivedAt.getTime() - a.receivedAt.getTime() || (a.id < b.id ? 1 : -1)),
  );
  return toPage(sorted, size, positionOf);
}

const positionOf = ({ receivedAt, id }: ReceivedMessage) => ({ at: receivedAt.getTime(), id });

/**
 * All copies of a message, by the API's id of one copy or by the sender's Message-ID; empty if there are
 * none.
 */
export async function findCopies(
  db: Kysely<MessagingTables>,
  name: string,
  owned: Owned = everything,
): Promise<readonly ReceivedMessage[]> {
  const { items } = await findReceived(db, { id: name, limit: 1, owned });
  const [first] = items;
  if (first === undefined) return [];
  return (await findReceived(db, { id: first.wireId, limit: 200, owned })).items.filter(
    ({ from }) => from === first.from,
  );
}

/** Each part is served by one index. */
function splitQuery(query: ReceivedQuery): readonly Part[] {
  if (query.id !== undefined) return [{ ...query, by: findUuid(query.id) === undefined ? 'wire' : 'copy' }];
  if (query.address === undefined && query.domain === undefined)
    return splitOwned(query.owned ?? everything, 'domains').map((owned) => ({ ...query, owned }));
  return [
    { ...query, side: 'to' },
    { ...query, side: 'from' },
  ];
}

async function search(db: Kysely<MessagingTables>, part: Part, size: number): Promise<ReceivedMessage[]> {
  const { id = '', address, domain, state, since, until, side, by, order = 'newest' } = part;
  const { otherAddresses = [], owned = everything, idStart } = part;
  const after = readCursor(part.cursor);
  const isNewest = order === 'newest';
  const isBySender = side === 'from' || by === 'wire';
  const time = isBySender ? 'm.received_at' : 'c.received_at';
  const rows = await joinTables(db, isBySender)
    .select(['c.id', 'c.address', 'c.received_at', 'c.acknowledged_at', 'c.delivered_to'])
    .select(['m.sender', 'm.wire_id'])
    .where(whereOwned(owned, 'domains', sql.ref('c.domain')))
    .$if(by === 'copy', (query) => query.where('c.id', '=', findUuid(id) ?? ''))
    .$if(idStart !== undefined, (query) =>
      query.where('c.id', 'in', (eb) =>
        eb
          .selectFrom('inbox_copy')
          .select('id')
          .where('id', '>=', idStart ?? '')
          .where('id', '<', `${idStart}g`)
          .orderBy('id')
          .limit(20),
      ),
    )
    .$if(by === 'wire', (query) => query.where('m.wire_id', 'in', wireNames(id)))
    .$if(side === 'to' && address !== undefined, (query) =>
      query.where('c.address_key', '=', addressKey((address ?? '') as DirectAddress)),
    )
    .$if(side === 'to' && domain !== undefined, (query) =>
      query.where('c.domain', '=', (domain ?? '').toLowerCase()),
    )
    .$if(side === 'from' && address !== undefined, (query) =>
      query.where(isSentBy((address ?? '').toLowerCase())),
    )
    .$if(side === 'from' && domain !== undefined, (query) =>
      query.where(isSentBy(`@${(domain ?? '').toLowerCase()}`)),
    )
    .$if(otherAddresses.length > 0, (query) =>
      query.where((eb) =>
        eb.and(otherAddresses.map((address) => eb.or([isOf('c.address_key', address), isSentBy(address)]))),
      ),
    )
    .$if(state !== undefined, (query) =>
      query.where('c.acknowledged_at', state === 'received' ? 'is' : 'is not', null),
    )
    .$if(since !== undefined, (query) => query.where(time, '>=', since?.getTime() ?? 0))
    .$if(until !== undefined, (query) => query.where(time, '<', until?.getTime() ?? 0))
    .$if(after !== undefined, (query) =>
      query
        .where(time, isNewest ? '<=' : '>=', after?.at ?? 0)
        .where((eb) =>
          eb.or([
            eb(time, isNewest ? '<' : '>', after?.at ?? 0),
            eb('c.id', isNewest ? '<' : '>', after?.id ?? ''),
          ]),
        ),
    )
    .orderBy(time, isNewest ? 'desc' : 'asc')
    .orderBy('c.id', isNewest ? 'desc' : 'asc')
    .limit(size + 1)
    .execute();
  return rows.map((row) => ({
    id: row.id,
    messageId: `urn:uuid:${row.id}`,
    wireId: row.wire_id,
    from: row.sender,
    to: row.address,
    receivedAt: new Date(row.received_at),
    acknowledgedAt: row.acknowledged_at === null ? undefined : new Date(row.acknowledged_at),
    isOthersOnly: row.delivered_to !== '' && row.acknowledged_at === row.received_at,
  }));
}

const isOf = (column: 'c.address_key', address: string) => matchesAddress(sql.ref(column), address);
const isSentBy = (address: string) => matchesAddress(sql`lower(${sql.ref('m.sender')})`, address);

/** Stored as the sender wrote it, with or without brackets. */
const wireNames = (name: string): string[] => {
  const inner = name.replaceAll(/^<|>$/g, '');
  return [inner, `<${inner}>`];
};

// SQLite keeps the order of a cross join, so it scans the first table first.
function joinTables(db: Kysely<MessagingTables>, isBySender: boolean) {
  const joined = isBySender
    ? db.selectFrom('inbox_message as m').crossJoin('inbox_copy as c')
    : db.selectFrom('inbox_copy as c').crossJoin('inbox_message as m');
  return joined.whereRef('m.id', '=', 'c.message_id');
}
