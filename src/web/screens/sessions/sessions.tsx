import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { SessionEntry, SessionList } from '../../../app/console/contract/index.ts';
import { get, remove, type ApiError } from '../../api/client.ts';
import { leaveSession, useSession } from '../../api/session.ts';
import { useAnnounce } from '../../components/announce.tsx';
import { Table, type Column } from '../../components/data-table.tsx';
import { Screen } from '../../components/screen.tsx';
import { ErrorState, LoadingState } from '../../components/states.tsx';
import { formatDuration, Time } from '../../components/time.tsx';
import { PasskeySection } from './passkeys.tsx';
import { browserName, methodWords } from './session-words.ts';

/** The sessions of this operator, with actions that end them. */
export function SessionsScreen(): ReactNode {
  const { operator, idleMinutes } = useSession();
  const client = useQueryClient();
  const announce = useAnnounce();
  const sessions = useQuery<SessionList, ApiError>({
    queryKey: ['sessions'],
    queryFn: ({ signal }) => get<SessionList>('/sessions', {}, signal),
  });
  const endOne = useMutation<void, Error, SessionEntry>({
    mutationFn: ({ id }) => remove(`/sessions/${encodeURIComponent(id)}`),
    onSuccess: async (_, { isCurrent }) => {
      announce({ text: 'The session has ended.' });
      if (isCurrent) leaveSession(client, 'signed-out');
      else await client.invalidateQueries({ queryKey: ['sessions'] });
    },
    onError: ({ message }) => announce({ text: message, tone: 'failed' }),
  });
  const endAll = useMutation<void, Error>({
    mutationFn: () => remove('/sessions'),
    onSuccess: () => leaveSession(client, 'signed-out'),
    onError: ({ message }) => announce({ text: message, tone: 'failed' }),
  });
  const columns: readonly Column<SessionEntry>[] = [
    {
      name: 'Signed in',
      cell: ({ startedAt, isCurrent, userAgent }) => (
        <>
          <Time at={startedAt} as="zoned" /> {isCurrent && <span className="tag">this browser</span>}{' '}
          <span className="sub">{browserName(userAgent)}</span>
        </>
      ),
    },
    { name: 'By', from: 'medium', cell: ({ method }) => methodWords[method] ?? method },
    { name: 'From', from: 'medium', cell: ({ remoteAddress }) => <code>{remoteAddress}</code> },
    { name: 'Last used', cell: ({ lastSeenAt }) => <Time at={lastSeenAt} /> },
    { name: 'Ends', from: 'medium', cell: ({ endsAt }) => <Time at={endsAt} /> },
    {
      name: 'Action',
      isPlain: true,
      align: 'end',
      cell: (session) => (
        <button type="button" data-row="" disabled={endOne.isPending} onClick={() => endOne.mutate(session)}>
          End
        </button>
      ),
    },
  ];
  return (
    <Screen
      title="Sessions"
      lead={`Where ${operator.name} is signed in. A session ends after ${formatDuration(idleMinutes * 60_000)} without activity.`}
      actions={
        <button type="button" disabled={endAll.isPending} onClick={() => endAll.mutate()}>
          Sign out everywhere
        </button>
      }
    >
      {sessions.isPending && <LoadingState lines={3} />}
      {sessions.data === undefined && sessions.isError && (
        <ErrorState error={sessions.error} onRetry={() => void sessions.refetch()} />
      )}
      {sessions.data && (
        <Table
          caption="Sessions of this operator"
          columns={columns}
          rows={sessions.data.result}
          idOf={({ id }) => id}
        />
      )}
      <PasskeySection suggestedName={browserName(navigator.userAgent)} />
    </Screen>
  );
}
