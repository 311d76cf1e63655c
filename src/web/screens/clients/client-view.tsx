import { useQuery, useQueryClient } from '@tanstack/react-query';
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
import { useMay, useMayWhole } from '../../api/session.ts';
import { useAnnounce } from '../../components/announce.tsx';
import { Command } from '../../components/command.tsx';
import { Copy, CopyValue } from '../../components/copy.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { SecretSection } from '../../components/secrets.tsx';
import { Facts, Screen, Section } from '../../components/screen.tsx';
import { EmptyState, ErrorState, LoadingState, StateMark } from '../../components/states.tsx';
import { formatNumber, Time } from '../../components/time.tsx';
import { NewWebhookDialog } from '../webhooks/new-webhook.tsx';
import { EditClientDialog } from './edit-client.tsx';
import { SecretOnce } from './secret-once.tsx';

const up = { name: 'Clients', href: '/clients' } as const;

export function ClientView({ id }: { readonly id: string }): ReactNode {
  const path = `/clients/${encodeURIComponent(id)}`;
  const mayChange = useMay('settings.change');
  const mayEdit = useMayWhole('settings.change');
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
            {mayEdit && (
              <button type="button" onClick={() => setEditing(true)}>
                Edit
              </button>
            )}
            {(client.isEnabled || mayEdit) && (
              <button type="button" onClick={() => setChange(client.isEnabled ? 'disable' : 'enable')}>
                {client.isEnabled ? 'Disable' : 'Enable'}
              </button>
            )}
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
            'Final delivery',
            client.requestFinalDelivery ? 'requested, unless a send overrides it' : 'not requested',
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
      <Hooks clientId={client.clientId} mayChange={mayEdit} />
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
  const queries = useQueryClient();
  return (
    <SecretSection<IssuedSecret>
      noun="secret"
      entries={client.secrets.map(({ secretId, createdAt }) => ({ id: secretId, createdAt }))}
      mayChange={mayChange}
      issue={() => post<IssuedSecret>(`${path}/secrets`)}
      issueCommand={['client', 'rotate-secret', client.clientId]}
      once={(issued, onDone) => <SecretOnce issued={issued} onDone={onDone} />}
      revoke={async (id, isOnly) => {
        const query = isOnly ? { isForced: 'true' } : {};
        return (await remove<DoneAnswer>(`${path}/secrets/${encodeURIComponent(id)}`, query)).sentence;
      }}
      revokeCommand={(id, isOnly) => [
        'client',
        'revoke-secret',
        client.clientId,
        id,
        ...(isOnly ? ['--force'] : []),
      ]}
      describeRevoking={(isOnly) =>
        `The secret and the tokens issued with it are revoked at once. ${
          isOnly
            ? 'It is the only secret: the client is locked out until another is issued.'
            : 'The other secret stays valid.'
        }`
      }
      onChange={() => queries.invalidateQueries({ queryKey: ['clients'] })}
    />
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

function Hooks({
  clientId,
  mayChange,
}: {
  readonly clientId: string;
  readonly mayChange: boolean;
}): ReactNode {
  const [isAdding, setAdding] = useState(false);
  const hooks = useQuery<WebhookList, ApiError>({
    queryKey: ['webhooks', 'client', clientId],
    queryFn: readView('/webhooks', { client: clientId }),
  });
  if (hooks.data === undefined || (hooks.data.result.length === 0 && !mayChange)) return null;
  return (
    <Section
      title="Webhooks"
      actions={
        mayChange && (
          <button type="button" onClick={() => setAdding(true)}>
            New webhook
          </button>
        )
      }
    >
      {hooks.data.result.length === 0 && <EmptyState title="No webhook" />}
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
      {isAdding && <NewWebhookDialog clientId={clientId} onClose={() => setAdding(false)} />}
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
        <>
          <p>
            {shown === 'disable'
              ? 'Its tokens are revoked at once, and it gets no new ones. Messages that it has sent are still delivered.'
              : 'It can get tokens again with its secrets.'}
          </p>
          <Command words={['client', shown, client.clientId]} />
        </>
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
