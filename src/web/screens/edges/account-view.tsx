import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { Link } from 'wouter';
import type { DoneAnswer, EdgeAccount, IssuedPassword } from '../../../app/console/contract/index.ts';
import { post, remove, type ApiError } from '../../api/client.ts';
import { readView } from '../../api/pages.ts';
import { useMay } from '../../api/session.ts';
import { useAnnounce } from '../../components/announce.tsx';
import { Command } from '../../components/command.tsx';
import { Confirm, Dialog } from '../../components/dialog.tsx';
import { Facts, Screen, Section } from '../../components/screen.tsx';
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
/** Two, so that a program can change from one to the other without a gap. */
const maxPasswords = 2;

export function EdgeAccountView({ id }: { readonly id: string }): ReactNode {
  const path = `/edge-accounts/${encodeURIComponent(id)}`;
  const mayChange = useMay('settings.change');
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
            <button type="button" onClick={() => setChange(account.isEnabled ? 'disable' : 'enable')}>
              {account.isEnabled ? 'Disable' : 'Enable'}
            </button>
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
  const [ending, setEnding] = useState<string>();
  const announce = useAnnounce();
  const queries = useQueryClient();
  const refresh = (): Promise<void> => queries.invalidateQueries({ queryKey: ['clients', 'edges'] });
  const issue = useMutation<IssuedPassword, ApiError>({
    mutationFn: () => post<IssuedPassword>(`${path}/passwords`),
    // The password does not wait for it.
    onSuccess: () => void refresh(),
  });
  const { passwords } = account;
  return (
    <Section
      title="Passwords"
      note="At most two, so that a program can change over without a gap."
      actions={
        mayChange && (
          <button
            type="button"
            disabled={issue.isPending || passwords.length >= maxPasswords}
            onClick={() => issue.mutate()}
          >
            Issue another
          </button>
        )
      }
    >
      {issue.error !== null && <ErrorState error={issue.error} />}
      <ul className="secrets">
        {passwords.map(({ passwordId, createdAt }) => (
          <li key={passwordId}>
            <code>{passwordId}</code>
            <span className="faint">
              issued <Time at={createdAt} as="clock" />
            </span>
            {mayChange && passwords.length > 1 && (
              <button
                type="button"
                onClick={() => setEnding(passwordId)}
                aria-label={`Revoke password ${passwordId}`}
              >
                Revoke
              </button>
            )}
          </li>
        ))}
      </ul>
      {mayChange && <Command words={['edge', 'rotate-password', account.username]} />}
      {issue.data !== undefined && (
        <Dialog title="A new password" onClose={() => issue.reset()}>
          <PasswordOnce issued={issue.data} onDone={() => issue.reset()} />
        </Dialog>
      )}
      {ending !== undefined && (
        <Confirm
          title="Revoke this password"
          action="Revoke"
          isDangerous
          preview={async () => ending}
          render={(shown) => (
            <>
              <p>Programs that still use it cannot sign in. The other password stays valid.</p>
              <Command words={['edge', 'revoke-password', account.username, shown]} />
            </>
          )}
          onConfirm={async (shown) => {
            const done = await remove<DoneAnswer>(`${path}/passwords/${encodeURIComponent(shown)}`);
            announce({ text: done.sentence });
            await refresh();
          }}
          onClose={() => setEnding(undefined)}
        />
      )}
    </Section>
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
