/**
 * The screen of edge accounts: mail programs and EHR software that speak no REST.
 * Used by `web/app/screens.tsx`.
 * Begin with this file.
 */
import { useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { useParams } from 'wouter';
import type { EdgeAccount, EdgeAccountList } from '../../../app/console/contract/index.ts';
import { get, type ApiError } from '../../api/client.ts';
import { readView } from '../../api/pages.ts';
import { useMay } from '../../api/session.ts';
import { Table, type Column } from '../../components/data-table.tsx';
import { ExportCsv, wholeList, type CsvColumn } from '../../components/export-csv.tsx';
import { Screen } from '../../components/screen.tsx';
import { EmptyState, ErrorState, LoadingState, StateMark } from '../../components/states.tsx';
import { EdgeAccountDialog } from './account-form.tsx';
import { EdgeAccountView } from './account-view.tsx';

/** All edge accounts, and one: `/edge-accounts`, `/edge-accounts/:id`. */
export function EdgesScreen(): ReactNode {
  const { id } = useParams<{ id?: string }>();
  return id === undefined ? <EdgeOverview /> : <EdgeAccountView key={id} id={id} />;
}

const columns: readonly Column<EdgeAccount>[] = [
  {
    name: 'User name',
    cell: ({ username }) => username,
    sortBy: ({ username }) => username.toLowerCase(),
  },
  {
    name: 'State',
    cell: ({ level, text }) => <StateMark tone={level}>{text}</StateMark>,
    sortBy: ({ text }) => text,
  },
  {
    name: 'Client',
    cell: ({ clientId, clientName }) => clientName || clientId,
    sortBy: (one) => one.clientName,
  },
  { name: 'Protocols', from: 'medium', cell: ({ protocols }) => protocols.join(', ') },
  {
    name: 'Addresses',
    from: 'wide',
    isFlexible: true,
    cell: ({ addresses }) => addresses.join(', '),
    sortBy: ({ addresses }) => addresses.length,
  },
];

const csvColumns: readonly CsvColumn<EdgeAccount>[] = [
  { name: 'user name', value: ({ username }) => username },
  { name: 'state', value: ({ text }) => text },
  { name: 'client', value: ({ clientName }) => clientName },
  { name: 'client id', value: ({ clientId }) => clientId },
  { name: 'protocols', value: ({ protocols }) => protocols.join(' ') },
  { name: 'addresses', value: ({ addresses }) => addresses.join(' ') },
];

function EdgeOverview(): ReactNode {
  const mayChange = useMay('settings.change');
  const [isAdding, setAdding] = useState(false);
  const accounts = useQuery<EdgeAccountList, ApiError>({
    queryKey: ['clients', 'edges'],
    queryFn: readView('/edge-accounts'),
  });
  return (
    <Screen
      title="Edge accounts"
      lead="Mail programs and EHR software that speak no REST: by IMAP, POP3, submission or the line edge."
      actions={
        <>
          <ExportCsv
            file="edge-accounts"
            columns={csvColumns}
            readPage={wholeList(() => get<EdgeAccountList>('/edge-accounts'))}
          />
          {mayChange && (
            <button type="button" className="primary" onClick={() => setAdding(true)}>
              New account
            </button>
          )}
        </>
      }
    >
      {accounts.data === undefined && accounts.error !== null && (
        <ErrorState error={accounts.error} onRetry={() => void accounts.refetch()} />
      )}
      {accounts.error === null && accounts.data === undefined && <LoadingState />}
      {accounts.data?.result.length === 0 && (
        <EmptyState title="No edge account yet">
          <p>An account is one mailbox of a client, with its own password.</p>
        </EmptyState>
      )}
      {accounts.data !== undefined && accounts.data.result.length > 0 && (
        <Table
          caption="Edge accounts"
          columns={columns}
          rows={accounts.data.result}
          idOf={({ accountId }) => accountId}
          hrefOf={({ accountId }) => `/edge-accounts/${encodeURIComponent(accountId)}`}
        />
      )}
      {isAdding && <EdgeAccountDialog onClose={() => setAdding(false)} />}
    </Screen>
  );
}
