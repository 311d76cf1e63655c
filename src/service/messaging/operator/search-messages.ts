import type { Kysely } from 'kysely';
import type { Owned } from '../../organizations/index.ts';
import type { Audit } from '../../audit/index.ts';
import { MessagingError } from '../errors.ts';
import type { DescribedWait } from '../status/find-status.ts';
import { recipientStates, type RecipientState } from '../status/states.ts';
import type { MessagingTables } from '../tables.ts';
import { findAddressesBeginning } from './find-addresses.ts';
import { findMessages, type FoundMessage, type MessageQuery, type SearchedStorage } from './find-messages.ts';
import {
  findReceived,
  type ReceivedMessage,
  type ReceivedQuery,
  type ReceivedState,
} from './find-received.ts';
import { pageSize, toPage, type Page } from './paging.ts';
import { parseSearch, type ParsedSearch, type SearchTermKind } from './parse-search.ts';

/** The text of the search box and the filters; all must match. */
export interface SearchQuery {
  readonly text?: string | undefined;
  /** The IANA zone in which days of the text begin; UTC by default. */
  readonly zone?: string | undefined;
  readonly state?: RecipientState | ReceivedState | undefined;
  readonly reason?: string | undefined;
  readonly clientId?: string | undefined;
  /** `out`: from our clients; `in`: from other HISPs. Default: both. */
  readonly direction?: 'in' | 'out' | undefined;
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
  readonly owned?: Owned;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

export type SearchRow =
  | ({ readonly direction: 'out'; readonly waiting?: DescribedWait } & FoundMessage)
  | ({ readonly direction: 'in' } & ReceivedMessage);

export interface SearchPage extends Page<SearchRow>, ParsedSearch {}

/**
 * Newest first; a term that cannot be interpreted matches nothing, so that it never widens a search. Throws
 * MESSAGING_SEARCH_INVALID.
 */
export async function searchMessages(
  storage: SearchedStorage,
  audit: Pick<Audit, 'find'>,
  query: SearchQuery,
  now: Date,
): Promise<SearchPage> {
  const parsed = parseSearch(query.text ?? '', now, query.zone);
  if (parsed.unread.length > 0) return { ...parsed, items: [] };
  const db = storage.tables();
  const wanted = (await withWholeAddresses(db, parsed)).flatMap((one) => combine(query, one) ?? []);
  if (wanted.length === 0) return { ...parsed, items: [] };
  const size = pageSize(query.limit);
  const sent = await Promise.all(
    wanted.flatMap((one) => (one.sent ? [findMessages(storage, audit, one.sent)] : [])),
  );
  const received = await Promise.all(
    wanted.flatMap((one) => (one.received ? [findReceived(db, one.received)] : [])),
  );
  // A message may be from one of the addresses and to another.
  const rows = new Map<string, SearchRow>();
  for (const row of sent.flatMap(({ items }) => items)) rows.set(row.id, { direction: 'out', ...row });
  for (const row of received.flatMap(({ items }) => items)) rows.set(row.id, { direction: 'in', ...row });
  const sorted = [...rows.values()].toSorted((a, b) => timeOf(b) - timeOf(a) || (a.id < b.id ? 1 : -1));
  const next = [...sent, ...received].find((page) => page.next !== undefined)?.next;
  const page = toPage(sorted, size, (row) => ({ at: timeOf(row), id: row.id }));
  // One of the lists was truncated and fills the page.
  return page.next !== undefined || next === undefined
    ? { ...parsed, ...page }
    : { ...parsed, ...page, next };
}

/** A search for each address that begins as typed; a name such as `ann.lee` has the form of a domain, too. */
async function withWholeAddresses(
  db: Kysely<MessagingTables>,
  parsed: ParsedSearch,
): Promise<readonly ParsedSearch[]> {
  const start = parsed.terms.find(
    ({ kind, typed }) => kind === 'address-start' || (kind === 'domain' && !typed.startsWith('@')),
  );
  if (start === undefined || parsed.terms.some(({ kind }) => kind === 'address')) return [parsed];
  const others = parsed.terms.filter((term) => term !== start);
  const addresses = await findAddressesBeginning(db, start.value);
  return [
    ...(start.kind === 'domain' ? [parsed] : []),
    ...addresses.map((value) => ({
      ...parsed,
      terms: [...others, { ...start, kind: 'address' as const, value }],
    })),
  ];
}

function timeOf(row: SearchRow): number {
  return (row.direction === 'out' ? row.acceptedAt : row.receivedAt).getTime();
}

/** Undefined if two terms exclude each other. */
function combine(
  query: SearchQuery,
  { terms }: ParsedSearch,
): { readonly sent?: MessageQuery; readonly received?: ReceivedQuery } | undefined {
  const valuesOf = (...kinds: SearchTermKind[]): string[] => [
    ...new Set(terms.filter(({ kind }) => kinds.includes(kind)).map(({ value }) => value)),
  ];
  const ids = valuesOf('message-id', 'wire-id');
  const idStarts = valuesOf('id-start');
  const requestIds = valuesOf('request-id');
  const states = [...new Set([...valuesOf('state'), ...((query.state ?? '') ? [query.state ?? ''] : [])])];
  const reasons = [
    ...new Set([...valuesOf('reason'), ...(query.reason === undefined ? [] : [query.reason])]),
  ];
  const clients = [
    ...new Set([...valuesOf('client'), ...(query.clientId === undefined ? [] : [query.clientId])]),
  ];
  if ([[...ids, ...idStarts], requestIds, states, reasons, clients].some((list) => list.length > 1))
    return undefined;
  const [address, ...addresses] = valuesOf('address');
  const [domain, ...domains] = valuesOf('domain');
  const otherAddresses = [
    ...addresses,
    ...domains.map((one) => `@${one}`),
    ...(address !== undefined && domain !== undefined ? [`@${domain}`] : []),
  ].map((one) => one.toLowerCase());
  const [state] = states;
  const since = latest([
    ...valuesOf('since').map((text) => new Date(text)),
    ...(query.since ? [query.since] : []),
  ]);
  const until = earliest([
    ...valuesOf('until').map((text) => new Date(text)),
    ...(query.until ? [query.until] : []),
  ]);
  const common = {
    id: ids[0],
    idStart: idStarts[0],
    address,
    domain: address === undefined ? domain : undefined,
    otherAddresses,
    since,
    until,
    ...(query.owned !== undefined && { owned: query.owned }),
    limit: query.limit,
    cursor: query.cursor,
  };
  const isSentState = state === undefined || recipientStates.some((known) => known === state);
  const isReceivedState = state === undefined || state === 'received' || state === 'acknowledged';
  if (!isSentState && !isReceivedState)
    throw new MessagingError('MESSAGING_SEARCH_INVALID', `state: unknown state ${state}.`);
  const isSentOnly = requestIds.length + reasons.length + clients.length > 0;
  return {
    ...(query.direction !== 'in' &&
      isSentState && {
        sent: { ...common, requestId: requestIds[0], state, reason: reasons[0], clientId: clients[0] },
      }),
    ...(query.direction !== 'out' &&
      isReceivedState &&
      !isSentOnly && { received: { ...common, state: state as ReceivedState | undefined } }),
  };
}

const latest = (times: readonly Date[]): Date | undefined =>
  times.length === 0 ? undefined : new Date(Math.max(...times.map(Number)));
const earliest = (times: readonly Date[]): Date | undefined =>
  times.length === 0 ? undefined : new Date(Math.min(...times.map(Number)));
