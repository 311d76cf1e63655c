/**
 * The screen of the nodes over one database.
 * Used by `web/app/screens.tsx`.
 * Begin with this file.
 */
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Node, NodeList } from '../../../app/console/contract/index.ts';
import { get, type ApiError } from '../../api/client.ts';
import { readView } from '../../api/pages.ts';
import { Command } from '../../components/command.tsx';
import { Table } from '../../components/data-table.tsx';
import { ExportCsv, wholeList, type CsvColumn } from '../../components/export-csv.tsx';
import { Screen } from '../../components/screen.tsx';
import { ErrorState, LoadingState, StateMark } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';

/** Nodes write a heartbeat each ten seconds. */
const refreshMs = 10_000;

const serviceWords: Readonly<Record<string, string>> = {
  api: 'API',
  mail: 'mail',
  console: 'console',
  edge: 'edges',
  dns: 'DNS',
  ldap: 'LDAP',
};

const csvColumns: readonly CsvColumn<Node>[] = [
  { name: 'host', value: ({ host }) => host },
  { name: 'id', value: ({ id }) => id },
  { name: 'state', value: ({ text }) => text },
  { name: 'version', value: ({ version }) => version },
  { name: 'serves', value: ({ serves }) => serves.join(' ') },
  { name: 'directory load', value: ({ directory }) => directory.generation },
  { name: 'heartbeat (UTC)', value: ({ heartbeatAt }) => heartbeatAt },
  { name: 'started (UTC)', value: ({ startedAt }) => startedAt },
];

/** All nodes: `/nodes`. */
export function NodesScreen(): ReactNode {
  const nodes = useQuery<NodeList, ApiError>({
    queryKey: ['nodes'],
    queryFn: readView('/nodes'),
    refetchInterval: ({ state }) => (state.data === undefined ? false : refreshMs),
  });
  return (
    <Screen
      title="Nodes"
      lead="The processes that serve from this database. None of them leads: each does what is due."
      actions={
        <ExportCsv file="nodes" columns={csvColumns} readPage={wholeList(() => get<NodeList>('/nodes'))} />
      }
    >
      {nodes.data === undefined && nodes.error !== null && (
        <ErrorState error={nodes.error} onRetry={() => void nodes.refetch()} />
      )}
      {nodes.isPending && <LoadingState lines={2} />}
      {nodes.data !== undefined && (
        <>
          <Table
            caption="Nodes"
            isLines
            rows={nodes.data.result}
            idOf={({ id }) => id}
            columns={[
              { name: 'Node', isFlexible: true, cell: (node) => <Name node={node} /> },
              {
                name: 'State',
                cell: ({ level, text }) => <StateMark tone={level}>{text}</StateMark>,
              },
              { name: 'Version', cell: ({ version }) => <code>{version}</code> },
              {
                name: 'Serves',
                from: 'wide',
                cell: ({ serves }) => serves.map((one) => serviceWords[one] ?? one).join(', '),
              },
              { name: 'Directory', from: 'medium', cell: (node) => <Generation node={node} /> },
              { name: 'Heartbeat', cell: ({ heartbeatAt }) => <Time at={heartbeatAt} /> },
              { name: 'Started', from: 'wide', cell: ({ startedAt }) => <Time at={startedAt} as="zoned" /> },
            ]}
          />
          <Command words={['node', 'list']} />
        </>
      )}
    </Screen>
  );
}

function Name({ node: { host, id, isThis } }: { readonly node: Node }): ReactNode {
  return (
    <>
      {host} {isThis && <span className="tag">this node</span>} <span className="sub mono">{id}</span>
    </>
  );
}

function Generation({ node: { directory } }: { readonly node: Node }): ReactNode {
  if (directory.generation === null) return <span className="faint">none</span>;
  return (
    <>
      load {directory.generation} {!directory.isActive && <span className="sub">not the active one</span>}
    </>
  );
}
