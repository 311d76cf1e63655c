import { useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import type {
  DeliveryPage,
  QueuedDelivery,
  QueueDestination,
  QueuePage,
} from '../../../app/console/contract/index.ts';
import { get, type ApiError } from '../../api/client.ts';
import { usePagedRows } from '../../api/pages.ts';
import { useMay } from '../../api/session.ts';
import { Address } from '../../components/address.tsx';
import { DataTable, type Column } from '../../components/data-table.tsx';
import { ExportCsv, type CsvColumn } from '../../components/export-csv.tsx';
import { Screen } from '../../components/screen.tsx';
import { EmptyState, StateMark } from '../../components/states.tsx';
import { formatNumber, Time } from '../../components/time.tsx';
import { messagePath } from '../messages/message-path.ts';
import { QueueActions } from './queue-actions.tsx';

const columns: readonly Column<QueuedDelivery>[] = [
  {
    name: 'To',
    cell: ({ to, from, kind }) => (
      <>
        <Address of={to.join(', ')} />{' '}
        <span className="sub">{kind === 'message' ? `from ${from}` : kind.toUpperCase()}</span>
      </>
    ),
  },
  {
    name: 'Why',
    isFlexible: true,
    cell: ({ level, text, lastError, isOnHold }) => (
      <>
        <StateMark tone={isOnHold ? 'warning' : level}>
          {isOnHold ? 'on hold' : text || 'waiting for the first attempt'}
        </StateMark>
        {lastError !== '' && <code className="sub breakable">{lastError}</code>}
      </>
    ),
  },
  { name: 'Since', from: 'medium', align: 'end', cell: ({ createdAt }) => <Time at={createdAt} /> },
  { name: 'Attempts', from: 'wide', align: 'end', cell: ({ attempts }) => formatNumber(attempts) },
  {
    name: 'Next attempt',
    align: 'end',
    cell: ({ nextAttemptAt, isRunning }) =>
      isRunning ? 'in progress' : nextAttemptAt === null ? '–' : <Time at={nextAttemptAt} as="due" />,
  },
  { name: 'Expires', from: 'wide', align: 'end', cell: ({ givesUpAt }) => <Time at={givesUpAt} /> },
];

const csvColumns: readonly CsvColumn<QueuedDelivery>[] = [
  { name: 'since (UTC)', value: ({ createdAt }) => createdAt },
  { name: 'kind', value: ({ kind }) => kind },
  { name: 'from', value: ({ from }) => from },
  { name: 'to', value: ({ to }) => to.join(' ') },
  { name: 'reason', value: ({ reason }) => reason },
  { name: 'text', value: ({ text }) => text },
  { name: 'attempts', value: ({ attempts }) => attempts },
  { name: 'last answer', value: ({ lastError }) => lastError },
  { name: 'next attempt (UTC)', value: ({ nextAttemptAt }) => nextAttemptAt },
  { name: 'expires (UTC)', value: ({ givesUpAt }) => givesUpAt },
  { name: 'wire id', value: ({ messageId }) => messageId },
];

const idOf = (row: QueuedDelivery): string => row.id;
const hrefOf = ({ kind, deliveryId }: QueuedDelivery): string | undefined =>
  kind === 'message' ? messagePath(deliveryId) : undefined;

/** The waiting deliveries of one destination, and the reason. */
export function DestinationView({ domain }: { readonly domain: string }): ReactNode {
  const mayChange = useMay('messages.change');
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const destination = useQuery<QueuePage, ApiError>({
    queryKey: ['queue', 'destination', domain],
    queryFn: ({ signal }) => get<QueuePage>('/queue', { domain }, signal),
  });
  const path = `/queue/${encodeURIComponent(domain)}`;
  const page = usePagedRows<QueuedDelivery>({
    queryKey: ['queue', 'deliveries', domain],
    fetchPage: (cursor, signal) => get<DeliveryPage>(path, { cursor }, signal),
    idOf,
    isReplaced: true,
  });
  const about = destination.data?.result.find((row) => row.domain === domain);
  const chosen = (page.rows ?? []).filter((row) => picked.has(row.id));
  return (
    <Screen
      title={domain}
      up={{ href: '/queue', name: 'Queue' }}
      {...(about === undefined ? {} : { lead: <About about={about} /> })}
      actions={
        <>
          <ExportCsv
            file={`queue-${domain}`}
            columns={csvColumns}
            readPage={(cursor) => get<DeliveryPage>(path, { cursor, limit: 200 })}
          />
          {destination.data !== undefined && (
            <QueueActions
              actions={
                about === undefined
                  ? ['hold']
                  : about.hold === null
                    ? ['retry', 'hold', 'fail']
                    : ['release', 'fail']
              }
              target={{ destinations: [domain] }}
              onDone={() => setPicked(new Set())}
            />
          )}
        </>
      }
    >
      {chosen.length > 0 && (
        <div className="filters">
          <QueueActions
            // An attempt on hold is not made.
            actions={about?.hold === null ? ['retry', 'fail'] : ['fail']}
            target={{
              deliveries: chosen.map((row) => row.id),
              messageIds: [
                ...new Set(chosen.flatMap((row) => (row.kind === 'message' ? [row.deliveryId] : []))),
              ],
            }}
            selected={chosen.length}
            onDone={() => setPicked(new Set())}
          />
        </div>
      )}
      <DataTable
        caption={`Waiting deliveries to ${domain}, oldest first`}
        columns={columns}
        page={page}
        idOf={idOf}
        hrefOf={hrefOf}
        {...(mayChange ? { selection: { ids: picked, change: setPicked } } : {})}
        noun={['delivery', 'deliveries']}
        empty={
          <EmptyState title={`No waiting deliveries to ${domain}`}>
            <p>All messages to it were delivered or have failed. It can be held before its maintenance.</p>
          </EmptyState>
        }
      />
    </Screen>
  );
}

function About({ about }: { readonly about: QueueDestination }): ReactNode {
  const { hold, level, text, whatToDo, lastError } = about;
  return (
    <>
      <p>
        <StateMark tone={hold === null ? level : 'warning'}>
          {hold === null ? text || 'Waiting for the first attempt.' : `On hold: ${hold.reason}`}
        </StateMark>
        {hold !== null && (
          <>
            {' '}
            since <Time at={hold.since} /> by {hold.author}
            {hold.until !== null && (
              <>
                {' '}
                until <Time at={hold.until} />
              </>
            )}
            {hold.expiresAt !== null && (
              <>
                ; the first delivery fails <Time at={hold.expiresAt} />
              </>
            )}
          </>
        )}
      </p>
      {whatToDo !== '' && (
        <p>
          <b>What to do:</b> {whatToDo}
        </p>
      )}
      {lastError !== '' && (
        <p>
          Last answer: <code>{lastError}</code>
        </p>
      )}
    </>
  );
}
