/**
 * The screen of API clients.
 * Used by `web/app/screens.tsx`.
 * Begin with this file.
 */
import { useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { useParams } from 'wouter';
import type { Client, ClientList } from '../../../app/console/contract/index.ts';
import { get, type ApiError } from '../../api/client.ts';
import { useHasDraft } from '../../api/use-draft.ts';
import { readView } from '../../api/pages.ts';
import { useMayWhole } from '../../api/session.ts';
import { Table } from '../../components/data-table.tsx';
import { ExportCsv, wholeList, type CsvColumn } from '../../components/export-csv.tsx';
import { Screen } from '../../components/screen.tsx';
import { EmptyState, ErrorState, LoadingState, StateMark } from '../../components/states.tsx';
import { formatNumber, Time } from '../../components/time.tsx';
import { ClientView } from './client-view.tsx';
import { NewClientDialog, newClientForm } from './new-client.tsx';

const csvColumns: readonly CsvColumn<Client>[] = [
  { name: 'client id', value: ({ clientId }) => clientId },
  { name: 'name', value: ({ name }) => name },
  { name: 'state', value: ({ text }) => text },
  { name: 'scopes', value: ({ scopes }) => scopes.join(' ') },
  { name: 'addresses', value: ({ directAddresses }) => directAddresses.join(' ') },
  { name: 'messages today', value: ({ usage }) => usage.messages },
  { name: 'records today', value: ({ usage }) => usage.directoryRecords },
  { name: 'created (UTC)', value: ({ createdAt }) => createdAt },
  { name: 'last used (UTC)', value: ({ lastSeenAt }) => lastSeenAt },
];

/** All API clients, and one client: `/clients`, `/clients/:id`. */
export function ClientsScreen(): ReactNode {
  const { id } = useParams<{ id?: string }>();
  return id === undefined ? <ClientOverview /> : <ClientView key={id} id={id} />;
}

function ClientOverview(): ReactNode {
  const mayChange = useMayWhole('settings.change');
  const [isAdding, setAdding] = useState(useHasDraft(newClientForm));
  const clients = useQuery<ClientList, ApiError>({
    queryKey: ['clients', 'list'],
    queryFn: readView('/clients'),
  });
  return (
    <Screen
      title="Clients"
      lead="Systems that may use the API, their addresses and their limits."
      actions={
        <>
          <ExportCsv
            file="clients"
            columns={csvColumns}
            readPage={wholeList(() => get<ClientList>('/clients'))}
          />
          {mayChange && (
            <button type="button" className="primary" onClick={() => setAdding(true)}>
              New client
            </button>
          )}
        </>
      }
    >
      {clients.data === undefined && clients.error !== null && (
        <ErrorState error={clients.error} onRetry={() => void clients.refetch()} />
      )}
      {clients.error === null && clients.data === undefined && <LoadingState />}
      {clients.data?.result.length === 0 && (
        <EmptyState title="No client yet">
          <p>A client is one edge system, such as an EHR, with its own secret and its own addresses.</p>
        </EmptyState>
      )}
      {clients.data !== undefined && clients.data.result.length > 0 && (
        <Table
          caption="Clients"
          rows={clients.data.result}
          idOf={({ clientId }) => clientId}
          hrefOf={({ clientId }) => `/clients/${encodeURIComponent(clientId)}`}
          columns={[
            {
              name: 'Client',
              cell: (client) => <Name client={client} />,
              isFlexible: true,
              sortBy: ({ name }) => name.toLowerCase(),
            },
            {
              name: 'State',
              cell: ({ level, text }) => <StateMark tone={level}>{text}</StateMark>,
              sortBy: ({ text }) => text,
            },
            {
              name: 'Addresses',
              from: 'medium',
              cell: ({ directAddresses }) => listSome(directAddresses),
              sortBy: ({ directAddresses }) => directAddresses.length,
            },
            {
              name: 'Messages today',
              align: 'end',
              from: 'wide',
              cell: ({ usage }) => formatNumber(usage.messages),
              sortBy: ({ usage }) => usage.messages,
            },
            {
              name: 'Records today',
              align: 'end',
              from: 'wide',
              cell: ({ usage }) => formatNumber(usage.directoryRecords),
              sortBy: ({ usage }) => usage.directoryRecords,
            },
            {
              name: 'Last used',
              from: 'medium',
              cell: ({ lastSeenAt }) =>
                lastSeenAt === null ? <span className="faint">never</span> : <Time at={lastSeenAt} />,
              sortBy: ({ lastSeenAt }) => lastSeenAt ?? undefined,
            },
          ]}
        />
      )}
      {isAdding && <NewClientDialog onClose={() => setAdding(false)} />}
    </Screen>
  );
}

function Name({ client }: { readonly client: Client }): ReactNode {
  return (
    <>
      {client.name} <span className="sub mono">{client.clientId}</span>
    </>
  );
}

function listSome(addresses: readonly string[]): ReactNode {
  if (addresses.length === 0) return <span className="faint">none: cannot send</span>;
  const more = addresses.length - 2;
  return `${addresses.slice(0, 2).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
