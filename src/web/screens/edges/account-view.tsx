import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { Link } from 'wouter';
import type { DoneAnswer, EdgeAccount, IssuedPassword } from '../../../app/console/contract/index.ts';
import { post, remove, type ApiError } from '../../api/client.ts';
import { readView } from '../../api/pages.ts';
import { useMay, useMayWhole } from '../../api/session.ts';
import { useAnnounce } from '../../components/announce.tsx';
import { Command } from '../../components/command.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { Facts, Screen } from '../../components/screen.tsx';
import { SecretSection } from '../../components/secrets.tsx';
import { ErrorState, LoadingState, StateMark } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import {
  acknowledgedWords,
  EdgeAccountDialog,
  inboundWords,
  outboundWords,
  PasswordOnce,
} from './account-form.tsx';

const up = { name: 'Edge accounts', href: '/edge-accounts' } as const;

export function EdgeAccountView({ id }: { readonly id: string }): ReactNode {
  const path = `/edge-accounts/${encodeURIComponent(id)}`;
  const mayChange = useMay('settings.change');
  const mayEnable = useMayWhole('settings.change');
  const [isEditing, setEditing] = useState(false);
  const [change, setChange] = useState<'disable' | 'enable'>();
  const query = useQuery<EdgeAccount, ApiError>({
    queryKey: ['clients', 'edges', id],
    queryFn: readView(path),
  });
  const account = query.data;
  if (account === undefined)
    return (
      <Screen title="Edge account" up={up}>
        {query.error === null ? (
          <LoadingState />
        ) : (
          <ErrorState error={query.error} onRetry={() => void query.refetch()} />
        )}
      </Screen>
    );
  return (
    <Screen
      title={account.username}
      up={up}
      lead={<StateMark tone={account.level}>{account.text}</StateMark>}
      actions={
        mayChange && (
          <>
            <button type="button" onClick={() => setEditing(true)}>
              Edit
            </button>
            {(account.isEnabled || mayEnable) && (
              <button type="button" onClick={() => setChange(account.isEnabled ? 'disable' : 'enable')}>
                {account.isEnabled ? 'Disable' : 'Enable'}
              </button>
            )}
          </>
        )
      }
    >
      <Facts
        facts={[
          [
            'Client',
            <Link key="client" href={`/clients/${encodeURIComponent(account.clientId)}`}>
              {account.clientName || account.clientId}
            </Link>,
          ],
          ['Addresses', account.addresses.join(', ')],
          ['Protocols', account.protocols.join(', ')],
          ['Final delivery', account.policies.requestsFinalDelivery ? 'requested' : 'not requested'],
          ['Outcomes', account.policies.noticesInMailbox ? 'come into its mailbox' : 'do not come as mail'],
          ['Packages', inboundWords[account.policies.inbound]],
          ['Documents that it sends', outboundWords[account.policies.outbound]],
          ['Acknowledged by', acknowledgedWords[account.policies.acknowledgedBy]],
          ['Created', <Time key="created" at={account.createdAt} as="day" />],
        ]}
      />
      <Passwords account={account} path={path} mayChange={mayChange} />
      {isEditing && <EdgeAccountDialog before={account} onClose={() => setEditing(false)} />}
      {change !== undefined && (
        <Switch account={account} path={path} change={change} onClose={() => setChange(undefined)} />
      )}
    </Screen>
  );
}

interface OfAccount {
  readonly account: EdgeAccount;
  readonly path: string;
}

function Passwords({ account, path, mayChange }: OfAccount & { readonly mayChange: boolean }): ReactNode {
  const queries = useQueryClient();
  return (
    <SecretSection<IssuedPassword>
      noun="password"
      entries={account.passwords.map(({ passwordId, createdAt }) => ({ id: passwordId, createdAt }))}
      mayChange={mayChange}
      isLastKept
      issue={() => post<IssuedPassword>(`${path}/passwords`)}
      issueCommand={['edge', 'rotate-password', account.username]}
      once={(issued, onDone) => <PasswordOnce issued={issued} onDone={onDone} />}
      revoke={async (id) =>
        (await remove<DoneAnswer>(`${path}/passwords/${encodeURIComponent(id)}`)).sentence
      }
      revokeCommand={(id) => ['edge', 'revoke-password', account.username, id]}
      describeRevoking={() => 'Programs that still use it cannot sign in. The other password stays valid.'}
      onChange={() => queries.invalidateQueries({ queryKey: ['clients', 'edges'] })}
    />
  );
}

function Switch({
  account,
  path,
  change,
  onClose,
}: OfAccount & { readonly change: 'disable' | 'enable'; onClose(): void }): ReactNode {
  const announce = useAnnounce();
  const queries = useQueryClient();
  const action = change === 'disable' ? 'Disable' : 'Enable';
  return (
    <Confirm
      title={`${action} ${account.username}`}
      action={action}
      isDangerous={change === 'disable'}
      preview={async () => change}
      render={(shown) => (
        <>
          <p>
            {shown === 'disable'
              ? 'Its sessions end at their next command, and it cannot sign in. Its mailbox is kept.'
              : 'It can sign in again with its passwords.'}
          </p>
          <Command words={['edge', shown, account.username]} />
        </>
      )}
      onConfirm={async (shown) => {
        const done = await post<DoneAnswer>(`${path}/${shown}`);
        announce({ text: done.sentence });
        await queries.invalidateQueries({ queryKey: ['clients', 'edges'] });
      }}
      onClose={onClose}
    />
  );
}
