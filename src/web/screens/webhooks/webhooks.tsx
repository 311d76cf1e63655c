import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link, useParams } from 'wouter';
import type { Webhook, WebhookList } from '../../../app/console/contract/index.ts';
import type { ApiError } from '../../api/client.ts';
import { readView } from '../../api/pages.ts';
import { Screen, Section } from '../../components/screen.tsx';
import { EmptyState, ErrorState, LoadingState, StateMark } from '../../components/states.tsx';
import { formatNumber, Time } from '../../components/time.tsx';
import { WebhookDetails } from './webhook-details.tsx';

/** All webhooks by client, and one webhook: `/webhooks`, `/webhooks/:id`. */
export function WebhooksScreen(): ReactNode {
  const { id } = useParams<{ id?: string }>();
  return id === undefined ? <WebhookOverview /> : <WebhookDetails key={id} id={id} />;
}

function WebhookOverview(): ReactNode {
  const hooks = useQuery<WebhookList, ApiError>({
    queryKey: ['webhooks', 'list'],
    queryFn: readView('/webhooks'),
  });
  return (
    <Screen title="Webhooks" lead={hooks.data === undefined ? undefined : describe(hooks.data.result)}>
      {hooks.error !== null && <ErrorState error={hooks.error} onRetry={() => void hooks.refetch()} />}
      {hooks.error === null && hooks.data === undefined && <LoadingState />}
      {hooks.data?.result.length === 0 && (
        <EmptyState title="No webhook is registered">
          <p>
            A client registers one with <code>POST /messaging/webhooks</code>. Its first request is ready to
            copy under <Link href="/clients">Clients</Link>.
          </p>
        </EmptyState>
      )}
      {hooks.data !== undefined &&
        [...Map.groupBy(hooks.data.result, ({ clientId }) => clientId)].map(([clientId, own]) => (
          <ClientHooks key={clientId} clientId={clientId} hooks={own} />
        ))}
    </Screen>
  );
}

function describe(hooks: readonly Webhook[]): string | undefined {
  if (hooks.length === 0) return undefined;
  const failing = hooks.filter(({ level }) => level === 'failed' || level === 'warning').length;
  const dead = hooks.reduce((sum, hook) => sum + hook.dead, 0);
  const first = `${hooks.length === 1 ? '1 hook' : `${formatNumber(hooks.length)} hooks`}`;
  const second =
    failing === 0 ? 'all of them accept their events' : `${formatNumber(failing)} need attention`;
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
      <div className="table-frame">
        <table className="hooks">
          <thead>
            <tr>
              <th scope="col">Endpoint</th>
              <th scope="col">State</th>
              <th scope="col" data-align="end">
                Waiting
              </th>
              <th scope="col" data-align="end">
                Dead
              </th>
              <th scope="col" data-from="medium">
                Last success
              </th>
            </tr>
          </thead>
          <tbody>
            {hooks.map((hook) => (
              <tr key={hook.id}>
                <td>
                  <Link href={`/webhooks/${encodeURIComponent(hook.id)}`} className="row-link" data-row="">
                    {hook.url}
                  </Link>
                  <span className="sub">
                    {hook.kind === 'inbound' ? 'received messages' : hook.eventTypes.join(', ')}
                    {hook.description !== '' && ` · ${hook.description}`}
                  </span>
                </td>
                <td>
                  <StateMark tone={hook.level}>{hook.text}</StateMark>
                </td>
                <td data-align="end">{formatNumber(hook.waiting + hook.held)}</td>
                <td data-align="end">{formatNumber(hook.dead)}</td>
                <td data-from="medium">
                  {hook.lastSuccessAt === null ? (
                    <span className="faint">never</span>
                  ) : (
                    <Time at={hook.lastSuccessAt} />
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  );
}
