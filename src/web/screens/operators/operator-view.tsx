import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import type {
  DoneAnswer,
  OperatorDetails,
  OperatorEntry,
  OperatorToken,
  OwnPasskey,
  SessionEntry,
} from '../../../app/console/contract/index.ts';
import { get, post, remove, type ApiError } from '../../api/client.ts';
import { useMay } from '../../api/session.ts';
import { useAnnounce } from '../../components/announce.tsx';
import { Command } from '../../components/command.tsx';
import { Table, type Column } from '../../components/data-table.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { Facts, Screen, Section } from '../../components/screen.tsx';
import { ErrorState, LoadingState, StateMark } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { browserName, methodWords } from '../sessions/session-words.ts';
import { EnableDialog, LinkDialog, operatorPath, RoleDialog } from './operator-forms.tsx';

const up = { name: 'Operators', href: '/operators' } as const;

/** Something that ends: what is asked, what is sent, and the command that does the same. */
interface Ending {
  readonly title: string;
  readonly action: string;
  readonly effect: string;
  readonly command: readonly string[];
  readonly send: () => Promise<DoneAnswer>;
}

/** One operator: role, sessions, passkeys and tokens, and what ends each. */
export function OperatorView({ name }: { readonly name: string }): ReactNode {
  const path = operatorPath(name);
  const mayChange = useMay('operators.change');
  const [form, setForm] = useState<'role' | 'link' | 'enable'>();
  const [ending, setEnding] = useState<Ending>();
  const details = useQuery<OperatorDetails, ApiError>({
    queryKey: ['operators', 'one', name],
    queryFn: ({ signal }) => get<OperatorDetails>(path, {}, signal),
  });
  if (details.data === undefined)
    return (
      <Screen title="Operator" up={up}>
        {details.error === null ? (
          <LoadingState />
        ) : (
          <ErrorState error={details.error} onRetry={() => void details.refetch()} />
        )}
      </Screen>
    );
  const { operator, sessions, tokens, passkeys } = details.data;
  const close = (): void => setForm(undefined);
  const onEnd = mayChange ? setEnding : undefined;
  return (
    <Screen
      title={operator.name}
      up={up}
      lead={<StateMark tone={operator.level}>{operator.text}</StateMark>}
      actions={mayChange && <Actions operator={operator} onForm={setForm} onEnd={setEnding} />}
    >
      <Facts
        facts={[
          ['Role', operator.role],
          ['Sees', operator.organization === null ? undefined : `only ${operator.organization}`],
          ['Signs in by', operator.isExternal ? 'OpenID Connect, which decides the role' : 'passkey'],
          ['Created', <Time key="created" at={operator.createdAt} as="day" />],
          [
            'Disabled',
            operator.disabledAt === null ? undefined : (
              <Time key="disabled" at={operator.disabledAt} as="zoned" />
            ),
          ],
          ['Access', operator.isCaller ? 'yours: another operator changes it' : undefined],
        ]}
      />
      <Sessions operator={operator} sessions={sessions} onEnd={onEnd} />
      {!operator.isExternal && <Passkeys operator={operator} passkeys={passkeys} onEnd={onEnd} />}
      {!operator.isExternal && <Tokens operator={operator} tokens={tokens} onEnd={onEnd} />}
      {form === 'role' && <RoleDialog operator={operator} onClose={close} />}
      {form === 'link' && <LinkDialog operator={operator} onClose={close} />}
      {form === 'enable' && <EnableDialog operator={operator} onClose={close} />}
      {ending !== undefined && <EndDialog ending={ending} onClose={() => setEnding(undefined)} />}
    </Screen>
  );
}

function Actions({
  operator,
  onForm,
  onEnd,
}: {
  readonly operator: OperatorEntry;
  readonly onForm: (form: 'role' | 'link' | 'enable') => void;
  readonly onEnd: (ending: Ending) => void;
}): ReactNode {
  const { name, isExternal, isCaller, isEnabled } = operator;
  return (
    <>
      {!isExternal && !isCaller && isEnabled && (
        <button type="button" onClick={() => onForm('link')}>
          New link
        </button>
      )}
      {!isExternal && !isCaller && (
        <button type="button" onClick={() => onForm('role')}>
          Change role
        </button>
      )}
      {!isCaller && !isEnabled && (
        <button type="button" onClick={() => onForm('enable')}>
          Enable
        </button>
      )}
      {!isCaller && isEnabled && (
        <button
          type="button"
          onClick={() =>
            onEnd({
              title: `Disable ${name}`,
              action: 'Disable',
              effect:
                'Sessions, bearer tokens and links end at once, and nobody signs in under this name. Passkeys are kept, in case the operator is enabled again.',
              command: ['operator', 'disable', name],
              send: () => post<DoneAnswer>(`${operatorPath(name)}/disable`),
            })
          }
        >
          Disable
        </button>
      )}
    </>
  );
}

interface Part {
  readonly operator: OperatorEntry;
  /** Undefined if the reader may not end anything. */
  readonly onEnd: ((ending: Ending) => void) | undefined;
}

function Sessions({ operator, sessions, onEnd }: Part & { readonly sessions: SessionEntry[] }): ReactNode {
  const { name } = operator;
  return (
    <Section
      title="Sessions"
      actions={
        onEnd !== undefined &&
        sessions.length > 0 && (
          <button
            type="button"
            onClick={() =>
              onEnd({
                title: `End all sessions of ${name}`,
                action: 'End them',
                effect: operator.isCaller
                  ? 'You are signed out everywhere, here too.'
                  : `${name} is signed out everywhere, and can sign in again.`,
                command: ['operator', 'sessions', name, '--end'],
                send: () => remove<DoneAnswer>(`${operatorPath(name)}/sessions`),
              })
            }
          >
            End all
          </button>
        )
      }
    >
      <Rows
        caption="Sessions"
        none="No session."
        rows={sessions}
        columns={[
          {
            name: 'Signed in',
            cell: ({ startedAt, isCurrent, userAgent }) => (
              <>
                <Time at={startedAt} as="zoned" />{' '}
                {isCurrent && <StateMark tone="ok">this browser</StateMark>}{' '}
                <span className="sub">{browserName(userAgent)}</span>
              </>
            ),
          },
          { name: 'By', from: 'medium', cell: ({ method }) => methodWords[method] ?? method },
          { name: 'From', from: 'medium', cell: ({ remoteAddress }) => <code>{remoteAddress}</code> },
          { name: 'Last used', cell: ({ lastSeenAt }) => <Time at={lastSeenAt} /> },
          { name: 'Ends', from: 'wide', cell: ({ endsAt }) => <Time at={endsAt} /> },
        ]}
        onEnd={onEnd}
        endWord="End"
        toEnding={({ id, isCurrent }) => ({
          title: 'End this session',
          action: 'End it',
          effect: isCurrent ? 'You are signed out here.' : 'The browser is signed out at its next request.',
          command: ['operator', 'sessions', name, '--end', id],
          send: () => remove<DoneAnswer>(`${operatorPath(name)}/sessions/${encodeURIComponent(id)}`),
        })}
      />
    </Section>
  );
}

function Passkeys({ operator, passkeys, onEnd }: Part & { readonly passkeys: OwnPasskey[] }): ReactNode {
  const { name } = operator;
  return (
    <Section title="Passkeys">
      <Rows
        caption="Passkeys"
        none="No passkey: a link registers the first one."
        rows={passkeys}
        columns={[
          {
            name: 'Name',
            cell: (passkey) => (
              <>
                {passkey.name || 'Unnamed'}{' '}
                <span className="sub">{passkey.isBackedUp ? 'synchronized' : 'on one device'}</span>
              </>
            ),
          },
          { name: 'Added', from: 'medium', cell: ({ createdAt }) => <Time at={createdAt} as="day" /> },
          {
            name: 'Last used',
            cell: ({ lastUsedAt }) => (lastUsedAt === null ? 'never' : <Time at={lastUsedAt} />),
          },
        ]}
        // Whoever looks at themselves removes theirs on their own page.
        onEnd={operator.isCaller ? undefined : onEnd}
        endWord="Remove"
        toEnding={({ id }) => ({
          title: 'Remove this passkey',
          action: 'Remove',
          effect: 'It no longer signs in, and the sessions that began with it end, as for a lost device.',
          command: ['operator', 'remove-passkey', name, id],
          send: () => remove<DoneAnswer>(`${operatorPath(name)}/passkeys/${encodeURIComponent(id)}`),
        })}
      />
    </Section>
  );
}

function Tokens({ operator, tokens, onEnd }: Part & { readonly tokens: OperatorToken[] }): ReactNode {
  const { name } = operator;
  return (
    <Section title="Bearer tokens" note="of scripts; they are made by a command only">
      <Rows
        caption="Bearer tokens"
        none="No token."
        rows={tokens}
        columns={[
          { name: 'Purpose', cell: ({ label }) => label },
          { name: 'Created', from: 'medium', cell: ({ createdAt }) => <Time at={createdAt} as="day" /> },
          { name: 'Ends', cell: ({ endsAt }) => <Time at={endsAt} as="day" /> },
        ]}
        onEnd={onEnd}
        endWord="Revoke"
        toEnding={({ id, label }) => ({
          title: `Revoke the token ${label}`,
          action: 'Revoke',
          effect: 'The script that uses it is refused at its next request.',
          command: ['operator', 'revoke-token', name, id],
          send: () => remove<DoneAnswer>(`${operatorPath(name)}/tokens/${encodeURIComponent(id)}`),
        })}
      />
      {onEnd !== undefined && operator.isEnabled && (
        <Command label="Makes another token, and shows it once" words={['operator', 'token', name]} />
      )}
    </Section>
  );
}

function Rows<Row extends { readonly id: string }>({
  caption,
  none,
  rows,
  columns,
  onEnd,
  endWord,
  toEnding,
}: {
  readonly caption: string;
  readonly none: string;
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly onEnd: Part['onEnd'];
  /** The word on the button. */
  readonly endWord: string;
  readonly toEnding: (row: Row) => Ending;
}): ReactNode {
  if (rows.length === 0) return <p className="muted">{none}</p>;
  const action: Column<Row> = {
    name: 'Action',
    isPlain: true,
    align: 'end',
    cell: (row) => (
      <button type="button" data-row="" onClick={() => onEnd?.(toEnding(row))}>
        {endWord}
        <span className="visually-hidden"> {row.id}</span>
      </button>
    ),
  };
  return (
    <Table
      caption={caption}
      columns={onEnd === undefined ? columns : [...columns, action]}
      rows={rows}
      idOf={({ id }) => id}
    />
  );
}

function EndDialog({
  ending,
  onClose,
}: {
  readonly ending: Ending;
  readonly onClose: () => void;
}): ReactNode {
  const announce = useAnnounce();
  const queries = useQueryClient();
  return (
    <Confirm
      title={ending.title}
      action={ending.action}
      isDangerous
      preview={async () => ending}
      render={({ effect, command }) => (
        <>
          <p>{effect}</p>
          <Command words={command} />
        </>
      )}
      onConfirm={async ({ send }) => {
        const { sentence } = await send();
        announce({ text: sentence });
        await queries.invalidateQueries({ queryKey: ['operators'] });
      }}
      onClose={onClose}
    />
  );
}
