import { useQuery } from '@tanstack/react-query';
import { useCallback, useMemo, type ReactNode } from 'react';
import { useLocation, useSearchParams } from 'wouter';
import type {
  MessageFilters,
  MessagePage,
  MessageRow,
  SearchTerm,
} from '../../../app/console/contract/index.ts';
import { get, type ApiError, type Query } from '../../api/client.ts';
import { usePagedRows } from '../../api/pages.ts';
import { Address } from '../../components/address.tsx';
import { DataTable, type Column } from '../../components/data-table.tsx';
import { ExportCsv, type CsvColumn } from '../../components/export-csv.tsx';
import { FilterSelect, type Option } from '../../components/fields.tsx';
import { periodOf, RangeControl } from '../../components/range-control.tsx';
import { Screen } from '../../components/screen.tsx';
import { SearchBox } from '../../components/search-box.tsx';
import { EmptyState, StateMark } from '../../components/states.tsx';
import { Time, useNow } from '../../components/time.tsx';
import { messagePath, testerOf } from './message-path.ts';

const filterNames = ['q', 'state', 'reason', 'client', 'direction', 'when', 'after', 'before'] as const;
const tickMs = 300_000;
/** Days that are typed begin at midnight here. */
const { timeZone: zone } = Intl.DateTimeFormat().resolvedOptions();
type FilterName = (typeof filterNames)[number];
const wholeUuid = /^(?:urn:uuid:)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The name of a client, which is shorter than its id. */
const columnsFor = (nameOf: (clientId: string) => string): readonly Column<MessageRow>[] => [
  {
    name: 'To',
    cell: ({ to, from }) => (
      <>
        <Address of={to} />{' '}
        <span className="sub not-wide-only">
          from <Address of={from} />
        </span>
      </>
    ),
  },
  { name: 'From', from: 'wide', cell: ({ from }) => <Address of={from} /> },
  {
    name: 'State',
    isFlexible: true,
    cell: ({ state, level, text, nextAttemptAt }) => (
      <>
        <StateMark tone={level}>{state}</StateMark>
        {level !== 'ok' && level !== 'none' && text !== '' && (
          <span className="sub">
            {text}
            {nextAttemptAt !== null && (
              <>
                {' '}
                Next attempt <Time at={nextAttemptAt} as="due" />.
              </>
            )}
          </span>
        )}
      </>
    ),
  },
  {
    name: 'Client',
    from: 'wide',
    cell: ({ clientId, direction }) => (
      <span className="muted nowrap">{direction === 'in' ? 'inbound' : nameOf(clientId)}</span>
    ),
  },
  {
    name: 'When',
    isPlain: true,
    align: 'end',
    cell: ({ acceptedAt }) => <Time at={acceptedAt} />,
  },
];

const idOf = (row: MessageRow): string => row.id;

const csvColumns: readonly CsvColumn<MessageRow>[] = [
  { name: 'accepted (UTC)', value: ({ acceptedAt }) => acceptedAt },
  { name: 'from', value: ({ from }) => from },
  { name: 'to', value: ({ to }) => to },
  { name: 'state', value: ({ state }) => state },
  { name: 'state since (UTC)', value: ({ stateAt }) => stateAt },
  { name: 'reason', value: ({ reason }) => reason },
  { name: 'text', value: ({ text }) => text },
  { name: 'client', value: ({ clientId }) => clientId },
  { name: 'message id', value: ({ messageId }) => messageId },
];

/** A search box, filters, and a list whose new rows are shown on request. */
export function MessageList(): ReactNode {
  const [parameters, setParameters] = useSearchParams();
  const [, open] = useLocation();
  const filters = useMemo(
    () => Object.fromEntries(filterNames.map((name) => [name, parameters.get(name) ?? ''])),
    [parameters],
  ) as Readonly<Record<FilterName, string>>;
  const setFilters = useCallback(
    (change: Partial<Record<FilterName, string>>) => {
      setParameters(
        (before) => {
          const next = new URLSearchParams(before);
          for (const [name, value] of Object.entries(change))
            if (value === '') next.delete(name);
            else next.set(name, value);
          return next;
        },
        { replace: true },
      );
    },
    [setParameters],
  );
  const setFilter = useCallback(
    (name: FilterName, value: string) => setFilters({ [name]: value }),
    [setFilters],
  );
  // A period that ended with each second would be another search each time.
  const tick = Math.floor(useNow() / tickMs) * tickMs;
  const query = useMemo(() => {
    const { when, after, before, ...asked } = filters;
    const isDated = asked.q !== '';
    return { ...asked, ...periodOf({ when, after, before }, new Date(tick)), ...(isDated && { zone }) };
  }, [filters, tick]);
  const search = useCallback(
    (text: string, isEntered: boolean) => {
      // A complete message id identifies one message, so it is opened directly.
      if (isEntered && wholeUuid.test(text.trim())) open(messagePath(text.trim().toLowerCase()));
      else setFilter('q', text);
    },
    [open, setFilter],
  );
  const page = usePagedRows<MessageRow>({
    queryKey: ['messages', 'list', query],
    fetchPage: (cursor, signal, read) => read<MessagePage>('/messages', { ...query, cursor }, signal),
    idOf,
  });
  const words = useFilterWords();
  const clients = words?.clients;
  const columns = useMemo(
    () =>
      columnsFor(
        (id) =>
          clients?.find(({ clientId }) => clientId === id)?.name || testerOf(id) || `${id.slice(0, 12)}…`,
      ),
    [clients],
  );
  const isFiltered = filterNames.some((name) => filters[name] !== '');
  return (
    <Screen
      title="Messages"
      actions={
        <ExportCsv
          file="messages"
          columns={csvColumns}
          readPage={(cursor) => get<MessagePage>('/messages', { ...query, cursor, limit: 200 })}
        />
      }
    >
      <div className="filters">
        <SearchBox
          label="Search messages"
          placeholder="Address or its beginning, domain, id, 11/20, yesterday, not trusted"
          value={filters.q}
          onSearch={search}
        />
        <RangeControl range={filters} onRange={setFilters} />
        <Filters filters={filters} onFilter={setFilter} />
        {isFiltered && (
          <button type="button" className="link" onClick={() => setParameters({}, { replace: true })}>
            Clear
          </button>
        )}
      </div>
      {filters.q !== '' && <Terms query={query} />}
      <DataTable
        caption="Messages, one row per recipient, newest first"
        columns={columns}
        page={page}
        idOf={idOf}
        hrefOf={({ messageId }) => messagePath(messageId)}
        noun={['message', 'messages']}
        isFiltered={isFiltered}
        empty={
          isFiltered ? (
            <EmptyState title="No matching message">
              <p>
                All terms must match. Try only the address or its beginning, a part of the domain, or a longer
                period such as <code>&lt;-7d</code>.
              </p>
            </EmptyState>
          ) : (
            <EmptyState title="No messages yet">
              <p>Sent and received messages appear here.</p>
            </EmptyState>
          )
        }
      />
    </Screen>
  );
}

function useFilterWords(): MessageFilters | undefined {
  const { data } = useQuery<MessageFilters, ApiError>({
    queryKey: ['message-filters'],
    queryFn: ({ signal }) => get<MessageFilters>('/message-filters', {}, signal),
    staleTime: 5 * 60_000,
  });
  return data;
}

function Filters({
  filters,
  onFilter,
}: {
  readonly filters: Readonly<Record<FilterName, string>>;
  readonly onFilter: (name: FilterName, value: string) => void;
}): ReactNode {
  const words = useFilterWords();
  const any: Option = ['', 'any'];
  return (
    <>
      <FilterSelect
        label="State"
        value={filters.state}
        onValue={(value) => onFilter('state', value)}
        options={[any, ...(words?.states ?? []).map(({ state }): Option => [state, state])]}
      />
      <FilterSelect
        label="Reason"
        value={filters.reason}
        onValue={(value) => onFilter('reason', value)}
        options={[
          any,
          ...(words?.reasons ?? []).map(({ reason, text }): Option => [reason, text.replace(/\.$/, '')]),
        ]}
      />
      <FilterSelect
        label="Client"
        value={filters.client}
        onValue={(value) => onFilter('client', value)}
        options={[
          any,
          ...(words?.clients ?? []).map(({ clientId, name }): Option => [clientId, name || clientId]),
        ]}
      />
      <FilterSelect
        label="Direction"
        value={filters.direction}
        onValue={(value) => onFilter('direction', value)}
        options={[any, ['out', 'sent'], ['in', 'received']]}
      />
    </>
  );
}

const termWords: Readonly<Record<SearchTerm['kind'], string>> = {
  'message-id': 'message id',
  'id-start': 'id begins with',
  'wire-id': 'wire id',
  'request-id': 'request id',
  address: 'address',
  'address-start': 'address begins with, or domain has',
  domain: 'domain',
  client: 'client',
  state: 'state',
  reason: 'reason',
  since: 'since',
  until: 'until',
};

/** The interpretation of the search box, so that a mistyped id does not look like a missing message. */
function Terms({ query }: { readonly query: Query }): ReactNode {
  const { data } = useQuery<MessagePage, ApiError>({
    queryKey: ['messages', 'list', query],
    queryFn: ({ signal }) => get<MessagePage>('/messages', query, signal),
    enabled: false,
  });
  if (data === undefined) return null;
  return (
    <p className="terms">
      {data.terms.map(({ kind, typed, value }) => (
        <span key={`${kind}:${typed}`}>
          {termWords[kind]}{' '}
          <b>{kind === 'since' || kind === 'until' ? <Time at={value} as="zoned" /> : value}</b>
        </span>
      ))}
      {data.unread.map((word) => (
        <StateMark key={word} tone="warning">
          <b>{word}</b> is no id, address, domain, time, state or reason
        </StateMark>
      ))}
      {data.hasMoreAddresses && (
        <StateMark tone="warning">more addresses or domains fit; type more of it</StateMark>
      )}
    </p>
  );
}
