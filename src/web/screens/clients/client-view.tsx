import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { Link } from 'wouter';
import type {
  Client,
  ClientDetails,
  ClientLimits,
  DoneAnswer,
  IssuedSecret,
  WebhookList,
} from '../../../app/console/contract/index.ts';
import { post, remove, type ApiError } from '../../api/client.ts';
import { readView } from '../../api/pages.ts';
import { useMay } from '../../api/session.ts';
import { useAnnounce } from '../../components/announce.tsx';
import { Copy, CopyValue } from '../../components/copy.tsx';
import { Confirm, Dialog } from '../../components/dialog.tsx';
import { Facts, Screen, Section } from '../../components/screen.tsx';
import { EmptyState, ErrorState, LoadingState, StateMark } from '../../components/states.tsx';
import { formatNumber, Time } from '../../components/time.tsx';
import { EditClientDialog } from './edit-client.tsx';
import { SecretOnce } from './secret-once.tsx';

const up = { name: 'Clients', href: '/clients' } as const;
/** Two, so that a client can change from one secret to the other without downtime. */
const maxSecrets = 2;

export function ClientView({ id }: { readonly id: string }): ReactNode {
  const path = `/clients/${encodeURIComponent(id)}`;
  const mayChange = useMay('settings.change');
  // Chosen with the button: another operator may switch the client while the dialog is open.
  const [change, setChange] = useState<'disable' | 'enable'>();
  const [isEditing, setEditing] = useState(false);
  const query = useQuery<ClientDetails, ApiError>({
    queryKey: ['clients', 'one', id],
    queryFn: readView(path),
  });
  if (query.data === undefined)
    return (
      <Screen title="Client" up={up}>
        {query.error === null ? (
          <LoadingState />
        ) : (
          <ErrorState error={query.error} onRetry={() => void query.refetch()} />
        )}
      </Screen>
    );
  const { client, firstRequests } = query.data;
  return (
    <Screen
      title={client.name}
      up={up}
      lead={
        <>
          <StateMark tone={client.level}>{client.text}</StateMark>{' '}
          <span className="faint">
            {client.lastSeenAt === null ? (
              'Not used yet.'
            ) : (
              <>
                Last used <Time at={client.lastSeenAt} />
              </>
            )}
          </span>
        </>
      }
      actions={
        mayChange && (
          <>
            <button type="button" onClick={() => setEditing(true)}>
              Edit
            </button>
            <button type="button" onClick={() => setChange(client.isEnabled ? 'disable' : 'enable')}>
              {client.isEnabled ? 'Disable' : 'Enable'}
            </button>
          </>
        )
      }
    >
      <Facts
        facts={[
          ['Client id', <CopyValue key="id" value={client.clientId} label="client id" />],
          ['Scopes', client.scopes.join(', ')],
          ['Addresses', <Addresses key="addresses" addresses={client.directAddresses} />],
          [
            'Requests dispatched MDNs',
            client.requestFinalDelivery ? 'yes, unless a send overrides it' : 'no',
          ],
          [
            'Data use',
            client.dataUseAcceptedAt === null ? (
              'not accepted'
            ) : (
              <>
                accepted <Time at={client.dataUseAcceptedAt} as="day" />
              </>
            ),
          ],
          ['Created', <Time key="created" at={client.createdAt} as="day" />],
        ]}
      />
      <Usage client={client} />
      <Secrets client={client} path={path} mayChange={mayChange} />
      <FirstRequests requests={firstRequests} />
      <Hooks clientId={client.clientId} />
      {isEditing && <EditClientDialog client={client} path={path} onClose={() => setEditing(false)} />}
      {change !== undefined && (
        <Switch client={client} path={path} change={change} onClose={() => setChange(undefined)} />
      )}
    </Screen>
  );
}

function Addresses({ addresses }: { readonly addresses: readonly string[] }): ReactNode {
  if (addresses.length === 0) return 'none: the client cannot send';
  return (
    <ul>
      {addresses.map((address) => (
        <li key={address}>
          <code>{address}</code>
          {address.startsWith('@') && <span className="faint"> every address of the domain</span>}
        </li>
      ))}
    </ul>
  );
}

const limitTexts: readonly (readonly [name: keyof ClientLimits, text: string])[] = [
  ['sendsPerSecond', 'sends per second'],
  ['sendsBurst', 'burst of sends'],
  ['directoryRequestsPerSecond', 'searches per second'],
  ['directoryRequestsBurst', 'burst of searches'],
];

function Usage({ client }: { readonly client: Client }): ReactNode {
  const { usage, limits, own } = client;
  const share = Math.min(1, usage.directoryRecords / Math.max(1, limits.directoryRecordsPerDay));
  const isOwn = (name: string): ReactNode => own.includes(name) && <span className="faint"> (its own)</span>;
  return (
    <Section title="Limits and usage" note="today, UTC">
      <div className="usage">
        <p>
          <b>{formatNumber(usage.messages)}</b> messages accepted
        </p>
        <div>
          <p>
            <b>{formatNumber(usage.directoryRecords)}</b> of {formatNumber(limits.directoryRecordsPerDay)}{' '}
            directory records{isOwn('directoryRecordsPerDay')}
          </p>
          <meter
            min={0}
            max={1}
            high={0.9}
            optimum={0}
            value={share}
            aria-label="Directory records used today"
          />
        </div>
        <ul className="limits">
          {limitTexts.map(([name, text]) => (
            <li key={name}>
              <b>{formatNumber(limits[name] ?? 0)}</b> {text}
              {isOwn(name)}
            </li>
          ))}
        </ul>
      </div>
    </Section>
  );
}

interface ChangeProps {
  readonly client: Client;
  readonly path: string;
}

function Secrets({ client, path, mayChange }: ChangeProps & { readonly mayChange: boolean }): ReactNode {
  const [ending, setEnding] = useState<string>();
  const announce = useAnnounce();
  const queries = useQueryClient();
  const refresh = (): Promise<void> => queries.invalidateQueries({ queryKey: ['clients'] });
  const issue = useMutation<IssuedSecret, ApiError>({
    mutationFn: () => post<IssuedSecret>(`${path}/secrets`),
    // The secret does not wait for it.
    onSuccess: () => void refresh(),
  });
  const { secrets } = client;
  const isOnly = secrets.every(({ secretId }) => secretId === ending);
  return (
    <Section
      title="Secrets"
      note="At most two, so that the client can change over without downtime."
      actions={
        mayChange && (
          <button
            type="button"
            disabled={issue.isPending || secrets.length >= maxSecrets}
            onClick={() => issue.mutate()}
          >
            Issue another
          </button>
        )
      }
    >
      {issue.error !== null && <ErrorState error={issue.error} />}
      <ul className="secrets">
        {secrets.map(({ secretId, createdAt }) => (
          <li key={secretId}>
            <code>{secretId}</code>
            <span className="faint">
              issued <Time at={createdAt} as="clock" />
            </span>
            {mayChange && (
              <button
                type="button"
                onClick={() => setEnding(secretId)}
                aria-label={`Revoke secret ${secretId}`}
              >
                Revoke
              </button>
            )}
          </li>
        ))}
      </ul>
      {issue.data !== undefined && (
        <Dialog title="A new secret" onClose={() => issue.reset()}>
          <SecretOnce issued={issue.data} onDone={() => issue.reset()} />
        </Dialog>
      )}
      {ending !== undefined && (
        <Confirm
          title="Revoke this secret"
          action="Revoke"
          isDangerous
          preview={async () => ending}
          render={() => (
            <p>
              The secret and the tokens issued with it are revoked at once.{' '}
              {isOnly
                ? 'It is the only secret: the client is locked out until another is issued.'
                : 'The other secret stays valid.'}
            </p>
          )}
          onConfirm={async () => {
            const done = await remove<DoneAnswer>(`${path}/secrets/${encodeURIComponent(ending)}`, {
              ...(isOnly && { isForced: 'true' }),
            });
            announce({ text: done.sentence });
            await refresh();
          }}
          onClose={() => setEnding(undefined)}
        />
      )}
    </Section>
  );
}

function FirstRequests({ requests }: { readonly requests: ClientDetails['firstRequests'] }): ReactNode {
  return (
    <Section title="First requests" note="Shell commands; they read the secret from CLIENT_SECRET">
      {requests.length === 0 && <EmptyState title="The client has no scope for a request" />}
      <ol className="first-requests">
        {requests.map(({ title, command }) => (
          <li key={title}>
            <div className="row">
              <h3>{title}</h3>
              <Copy text={command} label={`Copy: ${title}`} isIcon />
            </div>
            <pre>{command}</pre>
          </li>
        ))}
      </ol>
    </Section>
  );
}

function Hooks({ clientId }: { readonly clientId: string }): ReactNode {
  const hooks = useQuery<WebhookList, ApiError>({
    queryKey: ['webhooks', 'client', clientId],
    queryFn: readView('/webhooks', { client: clientId }),
  });
  if (hooks.data === undefined || hooks.data.result.length === 0) return null;
  return (
    <Section title="Webhooks">
      <ul className="client-hooks">
        {hooks.data.result.map((hook) => (
          <li key={hook.id}>
            <Link href={`/webhooks/${encodeURIComponent(hook.id)}`} data-row="">
              {hook.url}
            </Link>
            <StateMark tone={hook.level}>{hook.text}</StateMark>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Switch({
  client,
  path,
  change,
  onClose,
}: ChangeProps & { readonly change: 'disable' | 'enable'; onClose(): void }): ReactNode {
  const announce = useAnnounce();
  const queries = useQueryClient();
  const action = change === 'disable' ? 'Disable' : 'Enable';
  return (
    <Confirm
      title={`${action} ${client.name}`}
      action={action}
      isDangerous={change === 'disable'}
      preview={async () => change}
      render={(shown) => (
        <p>
          {shown === 'disable'
            ? 'Its tokens are revoked at once, and it gets no new ones. Messages that it has sent are still delivered.'
            : 'It can get tokens again with its secrets.'}
        </p>
      )}
      onConfirm={async () => {
        const done = await post<DoneAnswer>(`${path}/${change}`);
        announce({ text: done.sentence });
        await queries.invalidateQueries({ queryKey: ['clients'] });
      }}
      onClose={onClose}
    />
  );
}
