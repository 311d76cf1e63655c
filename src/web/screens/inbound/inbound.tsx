import { useQuery } from '@tanstack/react-query';
import { useCallback, useMemo, useState, type ReactNode } from 'react';
import { useParams, useSearchParams } from 'wouter';
import type {
  InboundCounts,
  InboundPage,
  InboundRow,
  InboundState,
} from '../../../app/console/contract/index.ts';
import { get, type ApiError } from '../../api/client.ts';
import { usePagedRows } from '../../api/pages.ts';
import { useMay } from '../../api/session.ts';
import { Address } from '../../components/address.tsx';
import { DataTable, type Column } from '../../components/data-table.tsx';
import { ExportCsv, type CsvColumn } from '../../components/export-csv.tsx';
import { FilterSelect } from '../../components/fields.tsx';
import { Screen, Tabs } from '../../components/screen.tsx';
import { periodOf, RangeControl, type Range } from '../../components/range-control.tsx';
import { SearchBox } from '../../components/search-box.tsx';
import { EmptyState, StateMark } from '../../components/states.tsx';
import { formatNumber, Time, useNow } from '../../components/time.tsx';
import { messagePath } from '../messages/message-path.ts';
import { ConfirmRetry } from './confirm-retry.tsx';
import { InboundView } from './inbound-view.tsx';

interface View {
  readonly state: InboundState;
  readonly name: string;
  readonly lead: string;
  readonly empty: string;
  readonly count: (counts: InboundCounts) => string;
}

/** The API counts mail of a kind up to here. */
const maxInboundCount = 1000;
const upTo = (count: number): string => `${formatNumber(count)}${count < maxInboundCount ? '' : '+'}`;

const views: readonly View[] = [
  {
    state: 'received',
    name: 'Received',
    lead: 'Mail that was opened, verified and stored for its recipient. Newest first; the number is of the last 24 hours.',
    empty: 'No mail was received',
    count: ({ received }) => upTo(received),
  },
  {
    state: 'refused',
    name: 'Refused',
    lead: 'Mail that was not accepted, with the code that the other side got. Newest first; the number is of the last 24 hours.',
    empty: 'No mail was refused',
    count: ({ refused }) => upTo(refused),
  },
  {
    state: 'dead-lettered',
    name: 'Dead-lettered',
    lead: 'Mail that was accepted but could not be opened or stored. It is stored and can be retried.',
    empty: 'No dead letters',
    count: ({ deadLettered }) => formatNumber(deadLettered),
  },
  {
    state: 'unacknowledged',
    name: 'Unacknowledged',
    lead: 'Messages in the inbox that no client has acknowledged. Oldest first.',
    empty: 'All messages are acknowledged',
    count: ({ unacknowledged }) => formatNumber(unacknowledged),
  },
];

const idOf = (row: InboundRow): string => row.id;
const hrefOf = ({ id, state, wireId }: InboundRow): string | undefined => {
  if (state === 'refused' || state === 'dead-lettered') return `/inbound/${encodeURIComponent(id)}`;
  if (state === 'unacknowledged') return messagePath(id);
  return wireId === '' ? undefined : messagePath(wireId);
};

const csvColumns: readonly CsvColumn<InboundRow>[] = [
  { name: 'time (UTC)', value: ({ at }) => at },
  { name: 'state', value: ({ state }) => state },
  { name: 'from', value: ({ from }) => from },
  { name: 'to', value: ({ to }) => to.join(' ') },
  { name: 'code', value: ({ code }) => code },
  { name: 'text', value: ({ text }) => text },
  { name: 'what to do', value: ({ whatToDo }) => whatToDo },
  { name: 'peer', value: ({ remoteAddress }) => remoteAddress },
  { name: 'wire id', value: ({ wireId }) => wireId },
];

const filterNames = ['from', 'to', 'code', 'when', 'after', 'before'] as const;
type Filters = Readonly<Record<(typeof filterNames)[number], string>>;
const tickMs = 60_000;

/** Mail from other HISPs by outcome, or one refused mail or dead letter. */
export function InboundScreen(): ReactNode {
  const { id } = useParams<{ id?: string }>();
  return id === undefined ? <InboundList /> : <InboundView key={id} id={decodeURIComponent(id)} />;
}

function InboundList(): ReactNode {
  const [parameters, setParameters] = useSearchParams();
  const view = views.find(({ state }) => state === parameters.get('state')) ?? views[0];
  const filters = useMemo(
    () => Object.fromEntries(filterNames.map((name) => [name, parameters.get(name) ?? ''])) as Filters,
    [parameters],
  );
  const { from, to, code } = filters;
  const tick = Math.floor(useNow() / tickMs) * tickMs;
  const query = useMemo(
    () => inboundQueryOf(view?.state ?? 'received', filters, tick),
    [view?.state, filters, tick],
  );
  const counts = useQuery<InboundCounts, ApiError>({
    queryKey: ['inbound', 'counts'],
    queryFn: ({ signal }) => get<InboundCounts>('/inbound/counts', {}, signal),
  });
  const setFilters = useCallback(
    (change: Partial<Filters>) =>
      setParameters(
        (before) => {
          const next = new URLSearchParams(before);
          for (const [name, value] of Object.entries(change))
            if (value === '') next.delete(name);
            else next.set(name, value);
          return next;
        },
        { replace: true },
      ),
    [setParameters],
  );
  const searchFrom = useCallback((text: string) => setFilters({ from: text.trim() }), [setFilters]);
  const searchTo = useCallback((text: string) => setFilters({ to: text.trim() }), [setFilters]);
  if (view === undefined) return null;
  return (
    <Screen
      title="Inbound"
      lead={view.lead}
      actions={
        <ExportCsv
          file={`inbound-${view.state}`}
          columns={csvColumns}
          readPage={(cursor) => get<InboundPage>('/inbound', { ...query, cursor, limit: 200 })}
        />
      }
    >
      <Tabs
        label="Inbound mail by outcome"
        tabs={views.map(({ state, name, count }) => ({
          name,
          href: `/inbound?state=${state}`,
          isCurrent: state === view.state,
          count: counts.data && count(counts.data),
        }))}
      />
      <div className="filters">
        <SearchBox
          label="Sender"
          placeholder="Sender's address or domain"
          value={from}
          onSearch={searchFrom}
        />
        <SearchBox label="Recipient" placeholder="Recipient's address" value={to} onSearch={searchTo} />
        <RangeControl range={filters} onRange={setFilters} />
        {code !== '' && (
          <FilterSelect
            label="Code"
            value={code}
            onValue={(value) => setFilters({ code: value })}
            options={[
              ['', 'any'],
              [code, code],
            ]}
          />
        )}
      </div>
      <Rows
        key={view.state}
        view={view}
        query={query}
        isFiltered={filterNames.some((name) => filters[name] !== '')}
        onCode={(value) => setFilters({ code: value })}
      />
    </Screen>
  );
}

type InboundFilters = Readonly<Record<string, string | undefined>>;

function inboundQueryOf(
  state: InboundState,
  { from, to, code, ...range }: Filters & Range,
  atMs: number,
): InboundFilters {
  const { from: since, to: until } = periodOf(range, new Date(atMs));
  return { state, from, to, code, since, until };
}

function Rows({
  view,
  query,
  isFiltered,
  onCode,
}: {
  readonly view: View;
  readonly query: InboundFilters;
  readonly isFiltered: boolean;
  readonly onCode: (code: string) => void;
}): ReactNode {
  const mayChange = useMay('messages.change');
  const [retried, setRetried] = useState<InboundRow>();
  const page = usePagedRows<InboundRow>({
    queryKey: ['inbound', 'rows', query],
    fetchPage: (cursor, signal) => get<InboundPage>('/inbound', { ...query, cursor }, signal),
    idOf,
    isReplaced: view.state === 'dead-lettered' || view.state === 'unacknowledged',
  });
  const columns: readonly Column<InboundRow>[] = [
    {
      name: 'From',
      cell: ({ from: sender, to }) => (
        <>
          {sender === '' ? 'null sender' : <Address of={sender} />}{' '}
          <span className="sub not-wide-only">
            to <Address of={to.join(', ')} />
          </span>
        </>
      ),
    },
    { name: 'To', from: 'wide', cell: ({ to }) => <Address of={to.join(', ')} /> },
    {
      name: 'Outcome',
      isFlexible: true,
      cell: ({ level, state, text, whatToDo, code: rowCode }) => (
        <>
          <StateMark tone={level}>{text === '' ? state : text}</StateMark>{' '}
          {whatToDo !== '' && <span className="sub">{whatToDo}</span>}
          {rowCode !== '' && (
            <button
              type="button"
              className="link sub"
              title="Filter by this code"
              onClick={() => onCode(rowCode)}
            >
              <code>{rowCode}</code>
            </button>
          )}
        </>
      ),
    },
    {
      name: 'Peer',
      from: 'wide',
      cell: ({ remoteAddress }) =>
        remoteAddress === '' ? <span className="faint">unknown</span> : <code>{remoteAddress}</code>,
    },
    { name: 'When', isPlain: true, align: 'end', cell: ({ at }) => <Time at={at} /> },
    ...(mayChange && view.state === 'dead-lettered'
      ? [
          {
            name: 'Action',
            isPlain: true,
            align: 'end' as const,
            cell: (row: InboundRow) =>
              row.canRetry && (
                <button type="button" onClick={() => setRetried(row)}>
                  Retry
                </button>
              ),
          },
        ]
      : []),
  ];
  return (
    <>
      <DataTable
        caption={`${view.name}. ${view.lead}`}
        columns={columns}
        page={page}
        idOf={idOf}
        hrefOf={hrefOf}
        noun={['message', 'messages']}
        isFiltered={isFiltered}
        empty={
          <EmptyState title={isFiltered ? 'No matching mail' : view.empty}>
            {isFiltered && <p>Remove the sender, the recipient, the time or the code to see more.</p>}
          </EmptyState>
        }
      />
      {retried !== undefined && <ConfirmRetry row={retried} onClose={() => setRetried(undefined)} />}
    </>
  );
}
