import type { Kysely } from 'kysely';
import type { Owned } from '../../organizations/index.ts';
import type { Audit } from '../../audit/index.ts';
import { MessagingError } from '../errors.ts';
import type { DescribedWait } from '../status/find-status.ts';
import { recipientStates, type RecipientState } from '../status/states.ts';
import type { MessagingTables } from '../tables.ts';
import { findAddressesBeginning, findDomainsWith } from './find-addresses.ts';
import { findMessages, type FoundMessage, type MessageQuery, type SearchedStorage } from './find-messages.ts';
import {
  findReceived,
  type ReceivedMessage,
  type ReceivedQuery,
  type ReceivedState,
} from './find-received.ts';
import { maxPage, pageSize, toPage, type Page } from './paging.ts';
import { mayBeginAddress, parseSearch, type ParsedSearch, type SearchTermKind } from './parse-search.ts';

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

export interface SearchPage extends Page<SearchRow>, ParsedSearch {
  /** More addresses begin so than were searched for. */
  readonly hasMoreAddresses: boolean;
  /** All rows that match; null if there are more than 500. On the first page of a search alone. */
  readonly total?: number | null;
}

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
  if (parsed.unread.length > 0) return { ...parsed, hasMoreAddresses: false, items: [] };
  const db = storage.tables();
  const { searches, ...shown } = await withWholeAddresses(db, parsed, query.owned);
  const isCounted = query.cursor === undefined && isNarrowed(query);
  // What is counted is read by the statements of a page, which are as cheap for each row.
  const read = { ...query, limit: isCounted ? maxPage : query.limit };
  const wanted = searches.flatMap((terms) => combine(read, terms) ?? []);
  if (wanted.length === 0) return { ...shown, items: [] };
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
  const total = next === undefined && sorted.length <= maxPage ? sorted.length : null;
  const found = { ...shown, ...page, ...(isCounted && { total }) };
  // One of the lists was truncated and fills the page.
  return page.next !== undefined || next === undefined ? found : { ...found, next };
}

const isNarrowed = ({ text = '', state, reason, clientId, direction, since, until }: SearchQuery): boolean =>
  text !== '' || [state, reason, clientId, direction, since, until].some((one) => one !== undefined);

type Terms = ParsedSearch['terms'];

/**
 * A search for each address that begins as typed, and each domain that has it inside. A name such as
 * `ann.lee`, `smith123` or `abe123` has the form of a domain or an id, too: then it is searched for as both.
 */
async function withWholeAddresses(
  db: Kysely<MessagingTables>,
  parsed: ParsedSearch,
  owned: Owned | undefined,
): Promise<Omit<SearchPage, keyof Page<SearchRow>> & { readonly searches: readonly Terms[] }> {
  const { terms } = parsed;
  const starts = terms.filter(({ kind }) => kind === 'address-start');
  const mayBegin = starts.length > 0 ? starts : terms.filter(mayBeginAddress);
  const hasAddress = terms.some(({ kind }) => kind === 'address');
  const searches = starts.length > 0 ? [] : [terms];
  const shown = [...terms];
  let hasMoreAddresses = false;
  for (const { typed, kind } of hasAddress ? [] : mayBegin) {
    const others = terms.filter((term) => term.typed !== typed);
    const domains = others.filter(({ kind }) => kind === 'domain').map(({ value }) => value);
    const { addresses, hasMore } = await findAddressesBeginning(db, typed, domains, owned);
    for (const value of addresses) searches.push([...others, { kind: 'address', typed, value }]);
    hasMoreAddresses ||= hasMore;
    const mayBeInside = (kind === 'address-start' || kind === 'domain') && typed.length >= leastOfDomain;
    const inside = mayBeInside ? await findDomainsWith(db, typed, owned) : noDomains;
    // What is a whole domain means that one alone.
    if (!inside.domains.includes(typed.toLowerCase())) {
      for (const value of inside.domains) searches.push([...others, { kind: 'domain', typed, value }]);
      hasMoreAddresses ||= inside.hasMore;
    }
    if (starts.length === 0 && searches.length > 1)
      shown.push({ kind: 'address-start', typed, value: typed });
  }
  return { ...parsed, terms: shown, searches, hasMoreAddresses };
}

/** Shorter texts are in most domains. */
const leastOfDomain = 3;
const noDomains = { domains: [], hasMore: false };

function timeOf(row: SearchRow): number {
  return (row.direction === 'out' ? row.acceptedAt : row.receivedAt).getTime();
}

/** Undefined if two terms exclude each other. */
function combine(
  query: SearchQuery,
  terms: Terms,
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
