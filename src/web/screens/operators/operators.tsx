/**
 * The screen of the people who may use the console.
 * Used by `web/app/screens.tsx`.
 * Begin with this file.
 */
import { useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { useParams } from 'wouter';
import type { OperatorEntry, OperatorList } from '../../../app/console/contract/index.ts';
import { get, type ApiError } from '../../api/client.ts';
import { useMay } from '../../api/session.ts';
import { Table } from '../../components/data-table.tsx';
import { ExportCsv, wholeList, type CsvColumn } from '../../components/export-csv.tsx';
import { Screen } from '../../components/screen.tsx';
import { ErrorState, LoadingState, StateMark } from '../../components/states.tsx';
import { formatNumber, Time } from '../../components/time.tsx';
import { NewOperatorDialog } from './operator-forms.tsx';
import { OperatorView } from './operator-view.tsx';

/** All operators, and one: `/operators`, `/operators/:name`. */
export function OperatorsScreen(): ReactNode {
  const { name } = useParams<{ name?: string }>();
  return name === undefined ? <Overview /> : <OperatorView key={name} name={decodeURIComponent(name)} />;
}

const csvColumns: readonly CsvColumn<OperatorEntry>[] = [
  { name: 'name', value: ({ name }) => name },
  { name: 'role', value: ({ role }) => role },
  { name: 'state', value: ({ text }) => text },
  { name: 'passkeys', value: ({ passkeys }) => passkeys },
  { name: 'sessions', value: ({ sessions }) => sessions },
  { name: 'created (UTC)', value: ({ createdAt }) => createdAt },
];

function Overview(): ReactNode {
  const mayChange = useMay('operators.change');
  const [isAdding, setAdding] = useState(false);
  const list = useQuery<OperatorList, ApiError>({
    queryKey: ['operators', 'list'],
    queryFn: ({ signal }) => get<OperatorList>('/operators', {}, signal),
  });
  return (
    <Screen
      title="Operators"
      lead="The people who may use this console, and what lets them in."
      actions={
        <>
          <ExportCsv
            file="operators"
            columns={csvColumns}
            readPage={wholeList(() => get<OperatorList>('/operators'))}
          />
          {mayChange && (
            <button type="button" className="primary" onClick={() => setAdding(true)}>
              New operator
            </button>
          )}
        </>
      }
    >
      {list.data === undefined && list.error !== null && (
        <ErrorState error={list.error} onRetry={() => void list.refetch()} />
      )}
      {list.isPending && <LoadingState />}
      {list.data !== undefined && (
        <Table
          caption="Operators"
          rows={list.data.result.toSorted((one, other) => one.name.localeCompare(other.name))}
          idOf={({ name }) => name}
          hrefOf={({ name }) => `/operators/${encodeURIComponent(name)}`}
          columns={[
            {
              name: 'Name',
              cell: (one) => <Name operator={one} />,
              isFlexible: true,
              sortBy: ({ name }) => name.toLowerCase(),
            },
            { name: 'Role', isPlain: true, cell: ({ role }) => role, sortBy: ({ role }) => role },
            {
              name: 'State',
              cell: ({ level, text }) => <StateMark tone={level}>{text}</StateMark>,
              sortBy: ({ text }) => text,
            },
            {
              name: 'Passkeys',
              align: 'end',
              from: 'medium',
              cell: ({ passkeys, isExternal }) =>
                isExternal ? <span className="faint">none</span> : formatNumber(passkeys),
              sortBy: ({ passkeys }) => passkeys,
            },
            {
              name: 'Sessions',
              align: 'end',
              from: 'medium',
              cell: ({ sessions }) => formatNumber(sessions),
              sortBy: ({ sessions }) => sessions,
            },
            {
              name: 'Created',
              from: 'wide',
              cell: ({ createdAt }) => <Time at={createdAt} as="day" />,
              sortBy: ({ createdAt }) => createdAt,
            },
          ]}
        />
      )}
      {isAdding && <NewOperatorDialog onClose={() => setAdding(false)} />}
    </Screen>
  );
}

function Name({ operator }: { readonly operator: OperatorEntry }): ReactNode {
  return (
    <>
      {operator.name} {operator.isCaller && <span className="sub">you</span>}
    </>
  );
}
