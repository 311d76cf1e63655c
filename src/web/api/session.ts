import { useQuery, type QueryClient } from '@tanstack/react-query';
import { createContext, use } from 'react';
import type { Permission, Session } from '../../app/console/contract/index.ts';
import { ApiError, getInTime } from './client.ts';
import { dropDrafts, keepDrafts } from './drafts.ts';

export const sessionKey = ['session'] as const;

/** The session of this browser; null when signed out. */
export function useSessionQuery(): ReturnType<typeof useQuery<Session | null, ApiError>> {
  return useQuery<Session | null, ApiError>({
    queryKey: sessionKey,
    queryFn: async ({ signal }) => {
      try {
        return await getInTime<Session>('/session', signal);
      } catch (error) {
        if (error instanceof ApiError && error.status === 401) return null;
        throw error;
      }
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
}

const endedKey = [...sessionKey, 'ended'];

/**
 * Shows the sign-in page, which says so if the session `ended` without a sign-out. Drops all other answers:
 * the operator who signs in next may be another one, of another role.
 */
export function leaveSession(client: QueryClient, reason: 'signed-out' | 'ended'): void {
  const session = client.getQueryData<Session | null>(sessionKey);
  if (reason === 'ended' && session) keepDrafts(session.operator.id);
  else dropDrafts();
  client.setQueryData(endedKey, reason === 'ended');
  client.setQueryData(sessionKey, null);
  client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionKey[0] });
}

/** True just after the session of this page has ended by itself. */
export const hasSessionEnded = (client: QueryClient): boolean => client.getQueryData(endedKey) === true;

export const SessionContext = createContext<Session | undefined>(undefined);

/** The session, inside the signed-in part of the console. */
export function useSession(): Session {
  const session = use(SessionContext);
  if (session === undefined) throw new Error('useSession: outside of the signed-in part');
  return session;
}

/**
 * True if the operator's role has the permission. The server decides; this only hides actions that it would
 * refuse.
 */
export function useMay(permission: Permission): boolean {
  return useSession().permissions.includes(permission);
}

/** The same for what an operator of one organization never changes: keys, trust, new clients. */
export function useMayWhole(permission: Permission): boolean {
  const { operator } = useSession();
  return useMay(permission) && operator.organization === null;
}
