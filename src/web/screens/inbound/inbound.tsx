import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useState, type ReactNode } from 'react';
import { useSearchParams } from 'wouter';
import type {
  DoneAnswer,
  InboundCounts,
  InboundPage,
  InboundRow,
  InboundState,
} from '../../../app/console/contract/index.ts';
import { get, post, type ApiError } from '../../api/client.ts';
import { usePagedRows } from '../../api/pages.ts';
import { useMay } from '../../api/session.ts';
import { useAnnounce } from '../../components/announce.tsx';
import { Address } from '../../components/address.tsx';
import { DataTable, type Column } from '../../components/data-table.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { FilterSelect } from '../../components/fields.tsx';
import { Screen, Tabs } from '../../components/screen.tsx';
import { SearchBox } from '../../components/search-box.tsx';
import { EmptyState, StateMark } from '../../components/states.tsx';
import { formatNumber, Time } from '../../components/time.tsx';
import { messagePath } from '../messages/message-path.ts';

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
const hrefOf = ({ state, wireId }: InboundRow): string | undefined =>
  wireId === '' || state === 'refused' || state === 'dead-lettered' ? undefined : messagePath(wireId);

/** Mail from other HISPs by outcome. */
export function InboundScreen(): ReactNode {
  const [parameters, setParameters] = useSearchParams();
  const view = views.find(({ state }) => state === parameters.get('state')) ?? views[0];
  const from = parameters.get('from') ?? '';
  const code = parameters.get('code') ?? '';
  const counts = useQuery<InboundCounts, ApiError>({
    queryKey: ['inbound', 'counts'],
    queryFn: ({ signal }) => get<InboundCounts>('/inbound/counts', {}, signal),
  });
  const setFilter = useCallback(
    (name: string, value: string) =>
      setParameters(
        (before) => {
          const next = new URLSearchParams(before);
          if (value === '') next.delete(name);
          else next.set(name, value);
          return next;
        },
        { replace: true },
      ),
    [setParameters],
  );
  const searchFrom = useCallback((text: string) => setFilter('from', text.trim()), [setFilter]);
  if (view === undefined) return null;
  return (
    <Screen title="Inbound" lead={view.lead}>
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
        {code !== '' && (
          <FilterSelect
            label="Code"
            value={code}
            onValue={(value) => setFilter('code', value)}
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
        from={from}
        code={code}
        onCode={(value) => setFilter('code', value)}
      />
    </Screen>
  );
}

function Rows({
  view,
  from,
  code,
  onCode,
}: {
  readonly view: View;
  readonly from: string;
  readonly code: string;
  readonly onCode: (code: string) => void;
}): ReactNode {
  const mayChange = useMay('messages.change');
  const [retried, setRetried] = useState<InboundRow>();
  const query = { state: view.state, from, code };
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
                <button type="button" data-row="" onClick={() => setRetried(row)}>
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
        empty={
          <EmptyState title={from === '' && code === '' ? view.empty : 'No matching mail'}>
            {(from !== '' || code !== '') && <p>Remove the sender or the code to see more.</p>}
          </EmptyState>
        }
      />
      {retried !== undefined && <ConfirmRetry row={retried} onClose={() => setRetried(undefined)} />}
    </>
  );
}

function ConfirmRetry({
  row,
  onClose,
}: {
  readonly row: InboundRow;
  readonly onClose: () => void;
}): ReactNode {
  const announce = useAnnounce();
  const client = useQueryClient();
  return (
    <Confirm
      title="Retry this mail?"
      action="Retry"
      preview={() => Promise.resolve(row)}
      render={({ from, to, text }) => (
        <>
          <p>
            From {from === '' ? 'the null sender' : from} to {to.join(', ')}.
          </p>
          <p className="muted">{text}</p>
          <p>It is decrypted and verified again, as if it had just arrived.</p>
        </>
      )}
      onConfirm={async () => {
        const { sentence } = await post<DoneAnswer>(`/inbound/${encodeURIComponent(row.id)}/retry`);
        announce({ text: sentence });
        await client.invalidateQueries({ queryKey: ['inbound'] });
      }}
      onClose={onClose}
    />
  );
}
