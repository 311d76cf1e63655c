/**
 * The screen of organizations: whom this HISP serves, what belongs to each, and their limits.
 * Used by `web/app/screens.tsx`.
 * Begin with this file.
 */
import { useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { useParams } from 'wouter';
import type { OrganizationEntry, OrganizationList } from '../../../app/console/contract/index.ts';
import { get, type ApiError } from '../../api/client.ts';
import { readView } from '../../api/pages.ts';
import { useMayWhole } from '../../api/session.ts';
import { Table, type Column } from '../../components/data-table.tsx';
import { ExportCsv, wholeList, type CsvColumn } from '../../components/export-csv.tsx';
import { Screen } from '../../components/screen.tsx';
import { ErrorState, LoadingState, StateMark } from '../../components/states.tsx';
import { formatNumber } from '../../components/time.tsx';
import { OrganizationDialog, organizationPath } from './organization-form.tsx';
import { OrganizationView } from './organization-view.tsx';

/** All organizations, and one: `/organizations`, `/organizations/:id`. */
export function OrganizationsScreen(): ReactNode {
  const { id } = useParams<{ id?: string }>();
  return id === undefined ? <OrganizationOverview /> : <OrganizationView key={id} id={id} />;
}

const columns: readonly Column<OrganizationEntry>[] = [
  {
    name: 'Name',
    isFlexible: true,
    cell: ({ name, id }) => (
      <>
        {name} <span className="sub">{id}</span>
      </>
    ),
    sortBy: ({ name }) => name.toLowerCase(),
  },
  {
    name: 'State',
    cell: ({ level, text }) => <StateMark tone={level}>{text}</StateMark>,
    sortBy: ({ text }) => text,
  },
  countColumn('Domains', ({ domains }) => domains),
  countColumn('Addresses', ({ addresses }) => addresses),
  countColumn('Clients', ({ clients }) => clients),
];

const csvColumns: readonly CsvColumn<OrganizationEntry>[] = [
  { name: 'id', value: ({ id }) => id },
  { name: 'name', value: ({ name }) => name },
  { name: 'state', value: ({ text }) => text },
  { name: 'domains', value: ({ domains }) => domains },
  { name: 'addresses', value: ({ addresses }) => addresses },
  { name: 'clients', value: ({ clients }) => clients },
];

function countColumn(name: string, countOf: (one: OrganizationEntry) => number): Column<OrganizationEntry> {
  return {
    name,
    align: 'end',
    from: 'medium',
    cell: (one) => formatNumber(countOf(one)),
    sortBy: countOf,
  };
}

function OrganizationOverview(): ReactNode {
  const mayChange = useMayWhole('settings.change');
  const [isAdding, setAdding] = useState(false);
  const organizations = useQuery<OrganizationList, ApiError>({
    queryKey: ['clients', 'organizations'],
    queryFn: readView('/organizations'),
  });
  return (
    <Screen
      title="Organizations"
      lead="Whom this HISP serves, and what belongs to each."
      actions={
        <>
          <ExportCsv
            file="organizations"
            columns={csvColumns}
            readPage={wholeList(() => get<OrganizationList>('/organizations'))}
          />
          {mayChange && (
            <button type="button" className="primary" onClick={() => setAdding(true)}>
              Add an organization
            </button>
          )}
        </>
      }
    >
      {organizations.data === undefined && organizations.error !== null && (
        <ErrorState error={organizations.error} onRetry={() => void organizations.refetch()} />
      )}
      {organizations.error === null && organizations.data === undefined && <LoadingState />}
      {organizations.data !== undefined && (
        <Table
          caption="Organizations"
          columns={columns}
          rows={organizations.data.result}
          idOf={({ id }) => id}
          hrefOf={({ id }) => organizationPath(id)}
        />
      )}
      {isAdding && <OrganizationDialog onClose={() => setAdding(false)} />}
    </Screen>
  );
}
