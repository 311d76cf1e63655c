import { useState, type ReactNode } from 'react';
import { Link, useSearchParams } from 'wouter';
import type { QueueDestination, QueuePage } from '../../../app/console/contract/index.ts';
import { get } from '../../api/client.ts';
import { usePagedRows } from '../../api/pages.ts';
import { useMay } from '../../api/session.ts';
import { Address } from '../../components/address.tsx';
import { DataTable, type Column } from '../../components/data-table.tsx';
import { ExportCsv, type CsvColumn } from '../../components/export-csv.tsx';
import { Screen } from '../../components/screen.tsx';
import { SearchBox } from '../../components/search-box.tsx';
import { EmptyState, StateMark } from '../../components/states.tsx';
import { formatNumber, Time } from '../../components/time.tsx';
import { QueueActions } from './queue-actions.tsx';

const columns: readonly Column<QueueDestination>[] = [
  {
    name: 'Destination',
    cell: ({ domain }) => <Address of={domain} />,
    sortBy: ({ domain }) => domain,
  },
  {
    name: 'Waiting',
    align: 'end',
    cell: ({ messages, reports }) => (
      <>
        {formatNumber(messages)}{' '}
        {reports > 0 && (
          <span className="sub">
            + {formatNumber(reports)} {reports === 1 ? 'MDN or DSN' : 'MDNs, DSNs'}
          </span>
        )}
      </>
    ),
  },
  {
    name: 'Why',
    isFlexible: true,
    cell: ({ level, text, whatToDo, hold }) => (
      <>
        <StateMark tone={hold === null ? level : 'warning'}>
          {hold === null ? (
            text || 'waiting for the first attempt'
          ) : (
            <span className="breakable">on hold: {hold.reason}</span>
          )}
        </StateMark>{' '}
        {whatToDo !== '' && <span className="sub">{whatToDo}</span>}
      </>
    ),
  },
  {
    name: 'Oldest',
    from: 'medium',
    align: 'end',
    cell: ({ oldestAt }) => <Time at={oldestAt} />,
    sortBy: ({ oldestAt }) => oldestAt,
  },
  {
    name: 'Attempts',
    from: 'wide',
    align: 'end',
    cell: ({ attempts }) => formatNumber(attempts),
    sortBy: ({ attempts }) => attempts,
  },
  {
    name: 'Next attempt',
    align: 'end',
    from: 'medium',
    cell: ({ nextAttemptAt, running }) =>
      running > 0 ? 'in progress' : nextAttemptAt === null ? '–' : <Time at={nextAttemptAt} as="due" />,
  },
];

const csvColumns: readonly CsvColumn<QueueDestination>[] = [
  { name: 'destination', value: ({ domain }) => domain },
  { name: 'messages', value: ({ messages }) => messages },
  { name: 'MDNs and DSNs', value: ({ reports }) => reports },
  { name: 'reason', value: ({ reason }) => reason },
  { name: 'text', value: ({ text }) => text },
  { name: 'what to do', value: ({ whatToDo }) => whatToDo },
  { name: 'oldest (UTC)', value: ({ oldestAt }) => oldestAt },
  { name: 'attempts', value: ({ attempts }) => attempts },
  { name: 'next attempt (UTC)', value: ({ nextAttemptAt }) => nextAttemptAt },
  { name: 'on hold', value: ({ hold }) => hold?.reason ?? null },
  { name: 'hold by', value: ({ hold }) => hold?.author ?? null },
  { name: 'hold until (UTC)', value: ({ hold }) => hold?.until ?? null },
];

const idOf = (row: QueueDestination): string => row.domain;

/** Waiting deliveries by destination, oldest first. */
export function QueueList(): ReactNode {
  const mayChange = useMay('messages.change');
  const [parameters, setParameters] = useSearchParams();
  const domain = parameters.get('domain') ?? '';
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const page = usePagedRows<QueueDestination>({
    queryKey: ['queue', 'destinations', domain],
    fetchPage: (cursor, signal) => get<QueuePage>('/queue', { domain, cursor }, signal),
    idOf,
    isReplaced: true,
  });
  const rows = page.rows ?? [];
  const chosen = rows.filter((row) => picked.has(row.domain));
  return (
    <Screen
      title="Queue"
      lead="Waiting deliveries by destination, oldest first."
      actions={
        <ExportCsv
          file="queue"
          columns={csvColumns}
          readPage={(cursor) => get<QueuePage>('/queue', { domain, cursor, limit: 200 })}
        />
      }
    >
      <div className="filters">
        <SearchBox
          label="Destination"
          placeholder="Destination domain"
          value={domain}
          onSearch={(text) => setParameters(text === '' ? {} : { domain: text.trim() }, { replace: true })}
        />
        {chosen.length > 0 && (
          <QueueActions
            actions={
              chosen.some(({ hold }) => hold !== null) ? ['release', 'fail'] : ['retry', 'hold', 'fail']
            }
            target={{ destinations: chosen.map((row) => row.domain) }}
            selected={chosen.length}
            onDone={() => setPicked(new Set())}
          />
        )}
      </div>
      <DataTable
        caption="Destinations with waiting deliveries, oldest first"
        columns={columns}
        page={page}
        idOf={idOf}
        hrefOf={(row) => `/queue/${encodeURIComponent(row.domain)}`}
        {...(mayChange ? { selection: { ids: picked, change: setPicked } } : {})}
        noun={['destination', 'destinations']}
        isFiltered={domain !== ''}
        empty={
          domain === '' ? (
            <EmptyState title="Nothing is waiting">
              <p>All messages were delivered or have failed. Any destination can be found and held.</p>
            </EmptyState>
          ) : (
            <EmptyState title={`No waiting deliveries to ${domain}`}>
              {mayChange && (
                <Link href={`/queue/${encodeURIComponent(domain.toLowerCase())}`}>
                  Hold it before its maintenance
                </Link>
              )}
            </EmptyState>
          )
        }
      />
    </Screen>
  );
}
