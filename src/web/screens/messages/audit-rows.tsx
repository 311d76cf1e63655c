import { testerOf } from './message-path.ts';
import type { ReactNode } from 'react';
import type { AuditEntry } from '../../../app/console/contract/index.ts';
import { Table, type Column } from '../../components/data-table.tsx';
import { EmptyState, StateMark } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';

const columns: readonly Column<AuditEntry>[] = [
  { name: 'When', cell: ({ at }) => <Time at={at} as="exact" /> },
  { name: 'Action', isPlain: true, cell: ({ action }) => <code className="nowrap">{action}</code> },
  {
    name: 'By',
    cell: ({ actor }) => <span className="breakable">{(testerOf(actor) ?? actor) || 'unknown'}</span>,
  },
  {
    name: 'Outcome',
    isPlain: true,
    cell: ({ outcome }) => <StateMark tone={outcome === 'ok' ? 'ok' : 'failed'}>{outcome}</StateMark>,
  },
  {
    name: 'What',
    isPlain: true,
    isFlexible: true,
    from: 'medium',
    cell: ({ objects }) => (
      <span className="muted small breakable">
        {Object.entries(objects)
          .filter(([name, value]) => value !== '' && !innerIds.has(name))
          .map(([name, value]) => `${name} ${value}`)
          .join(' · ')}
      </span>
    ),
  },
];

/** Objects that repeat the data of the message, so they are hidden. */
const innerIds = new Set(['messageId', 'deliveryId', 'mailId']);

/** Rows of the audit trail. */
export function AuditRows({ entries }: { readonly entries: readonly AuditEntry[] }): ReactNode {
  if (entries.length === 0) return <EmptyState title="No rows in the audit trail" />;
  return (
    <Table
      caption="Audit rows of this message"
      columns={columns}
      rows={entries}
      idOf={({ sequence }) => String(sequence)}
    />
  );
}
