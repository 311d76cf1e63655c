import { useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { Link, useParams } from 'wouter';
import type { Webhook, WebhookList } from '../../../app/console/contract/index.ts';
import { get, type ApiError } from '../../api/client.ts';
import { readView } from '../../api/pages.ts';
import { useMay } from '../../api/session.ts';
import { Table, type Column } from '../../components/data-table.tsx';
import { ExportCsv, wholeList, type CsvColumn } from '../../components/export-csv.tsx';
import { Screen, Section } from '../../components/screen.tsx';
import { EmptyState, ErrorState, LoadingState, StateMark } from '../../components/states.tsx';
import { formatNumber, Time } from '../../components/time.tsx';
import { NewWebhookDialog } from './new-webhook.tsx';
import { WebhookDetails } from './webhook-details.tsx';

/** All webhooks by client, and one webhook: `/webhooks`, `/webhooks/:id`. */
export function WebhooksScreen(): ReactNode {
  const { id } = useParams<{ id?: string }>();
  return id === undefined ? <WebhookOverview /> : <WebhookDetails key={id} id={id} />;
}

function WebhookOverview(): ReactNode {
  const mayChange = useMay('settings.change');
  const [isAdding, setAdding] = useState(false);
  const hooks = useQuery<WebhookList, ApiError>({
    queryKey: ['webhooks', 'list'],
    queryFn: readView('/webhooks'),
  });
  return (
    <Screen
      title="Webhooks"
      lead={hooks.data === undefined ? undefined : describe(hooks.data.result)}
      actions={
        <>
          <ExportCsv
            file="webhooks"
            columns={csvColumns}
            readPage={wholeList(() => get<WebhookList>('/webhooks'))}
          />
          {mayChange && (
            <button type="button" className="primary" onClick={() => setAdding(true)}>
              New webhook
            </button>
          )}
        </>
      }
    >
      {hooks.data === undefined && hooks.error !== null && (
        <ErrorState error={hooks.error} onRetry={() => void hooks.refetch()} />
      )}
      {hooks.error === null && hooks.data === undefined && <LoadingState />}
      {hooks.data?.result.length === 0 && (
        <EmptyState title="No webhook is registered">
          <p>
            An operator registers one here, or the client itself with <code>POST /messaging/webhooks</code>;
            its first request is ready to copy under <Link href="/clients">Clients</Link>.
          </p>
        </EmptyState>
      )}
      {hooks.data !== undefined &&
        [...Map.groupBy(hooks.data.result, ({ clientId }) => clientId)].map(([clientId, own]) => (
          <ClientHooks key={clientId} clientId={clientId} hooks={own} />
        ))}
      {isAdding && <NewWebhookDialog onClose={() => setAdding(false)} />}
    </Screen>
  );
}

const columns: readonly Column<Webhook>[] = [
  {
    name: 'Endpoint',
    cell: ({ url, description }) => (
      <>
        <span className="hook-endpoint">{url}</span>{' '}
        {description !== '' && <span className="sub">{description}</span>}
      </>
    ),
  },
  {
    name: 'State',
    isFlexible: true,
    cell: ({ level, text, failingSince }) => (
      <>
        <StateMark tone={level}>{text}</StateMark>
        {failingSince !== null && (
          <span className="sub">
            first failure <Time at={failingSince} />
          </span>
        )}
      </>
    ),
  },
  {
    name: 'Waiting',
    align: 'end',
    cell: ({ waiting, held }) => formatNumber(waiting + held),
    sortBy: ({ waiting, held }) => waiting + held,
  },
  {
    name: 'Dead letters',
    align: 'end',
    cell: ({ dead }) => formatNumber(dead),
    sortBy: ({ dead }) => dead,
  },
  {
    name: 'Last success',
    from: 'medium',
    cell: ({ lastSuccessAt }) =>
      lastSuccessAt === null ? <span className="faint">never</span> : <Time at={lastSuccessAt} />,
  },
];

const csvColumns: readonly CsvColumn<Webhook>[] = [
  { name: 'client id', value: ({ clientId }) => clientId },
  { name: 'client', value: ({ clientName }) => clientName },
  { name: 'endpoint', value: ({ url }) => url },
  { name: 'description', value: ({ description }) => description },
  { name: 'state', value: ({ text }) => text },
  { name: 'first failure (UTC)', value: ({ failingSince }) => failingSince },
  { name: 'waiting', value: ({ waiting, held }) => waiting + held },
  { name: 'dead letters', value: ({ dead }) => dead },
  { name: 'last success (UTC)', value: ({ lastSuccessAt }) => lastSuccessAt },
];

function describe(hooks: readonly Webhook[]): string | undefined {
  if (hooks.length === 0) return undefined;
  const failing = hooks.filter(({ level }) => level === 'failed' || level === 'warning').length;
  const dead = hooks.reduce((sum, hook) => sum + hook.dead, 0);
  const first = hooks.length === 1 ? '1 webhook' : `${formatNumber(hooks.length)} webhooks`;
  const second =
    failing === 0
      ? 'all of them accept their events'
      : `${formatNumber(failing)} ${failing === 1 ? 'needs' : 'need'} attention`;
  const third =
    dead === 0 ? '' : `; ${formatNumber(dead)} ${dead === 1 ? 'dead letter' : 'dead letters'} to replay`;
  return `${first}, ${second}${third}.`;
}

function ClientHooks({
  clientId,
  hooks,
}: {
  readonly clientId: string;
  readonly hooks: readonly Webhook[];
}): ReactNode {
  return (
    <Section
      title={hooks[0]?.clientName || clientId}
      note={<Link href={`/clients/${encodeURIComponent(clientId)}`}>{clientId}</Link>}
    >
      <Table
        caption={`Webhooks of ${hooks[0]?.clientName || clientId}`}
        columns={columns}
        rows={hooks}
        idOf={({ id }) => id}
        hrefOf={({ id }) => `/webhooks/${encodeURIComponent(id)}`}
      />
    </Section>
  );
}
