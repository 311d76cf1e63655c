import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { Suspense, useEffect, useState, type ReactNode } from 'react';
import { Redirect, Route, Switch, useLocation } from 'wouter';
import { ApiError, setSignedOutHandler } from '../api/client.ts';
import type { Session } from '../../app/console/contract/index.ts';
import { readKept } from '../api/drafts.ts';
import { takeEntryToken } from '../api/entry-token.ts';
import { connectLive } from '../api/live.ts';
import {
  hasSessionEnded,
  leaveSession,
  SessionContext,
  sessionKey,
  useSessionQuery,
} from '../api/session.ts';
import { Announcer, useDismissAtEnd } from '../components/announce.tsx';
import { ErrorState, LoadingState } from '../components/states.tsx';
import { ErrorBoundary } from './error-boundary.tsx';
import { EntryScreen, NotFoundScreen, listScreens, SessionsScreen, SignInScreen } from './screens.tsx';
import { Shell } from './shell.tsx';

/** Time that an answer stays current without a live event about it. */
const staleAfterMs = 30_000;
const maxRetries = 2;

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: staleAfterMs,
      gcTime: staleAfterMs,
      retry: (count, error) => count < maxRetries && (!(error instanceof ApiError) || error.status >= 500),
    },
  },
});
// Only for a session that existed: the sign-in page has none.
setSignedOutHandler(() => {
  if (client.getQueryData(sessionKey)) leaveSession(client, 'ended');
});

export function App(): ReactNode {
  return (
    <QueryClientProvider client={client}>
      <ErrorBoundary>
        <Announcer>
          <Suspense fallback={<LoadingState />}>
            <Entrance />
          </Suspense>
        </Announcer>
      </ErrorBoundary>
    </QueryClientProvider>
  );
}

const entryToken = takeEntryToken();

function Entrance(): ReactNode {
  const [token, setToken] = useState(entryToken);
  useEffect(() => {
    // A link that is opened in a tab that shows the console already changes the fragment and loads nothing.
    const onFragment = (): void => {
      const next = takeEntryToken();
      if (next !== undefined) setToken(next);
    };
    addEventListener('hashchange', onFragment);
    return () => removeEventListener('hashchange', onFragment);
  }, []);
  if (token !== undefined)
    return <EntryScreen key={token} token={token} onDone={() => setToken(undefined)} />;
  return (
    <Switch>
      <Route path="/sign-in" component={SignInScreen} />
      <Route>
        <SignedIn />
      </Route>
    </Switch>
  );
}

function SignedIn(): ReactNode {
  const session = useSessionQuery();
  // What is shown and typed stays while the server is away; `StaleNote` says so.
  if (session.data === undefined)
    return session.error === null ? (
      <LoadingState label="Opening the console" />
    ) : (
      <ErrorState error={session.error} onRetry={() => void session.refetch()} />
    );
  if (session.data === null) {
    const { pathname, search } = window.location;
    const path = pathname + search;
    const query = new URLSearchParams({
      ...(path !== '/' && { after: path }),
      ...(hasSessionEnded(client) && { problem: 'CONSOLE_SESSION_ENDED' }),
    });
    return <Redirect to={`/sign-in${query.size === 0 ? '' : `?${query.toString()}`}`} replace />;
  }
  return <Screens session={session.data} />;
}

function Screens({ session }: { readonly session: Session }): ReactNode {
  const [location] = useLocation();
  useEffect(() => connectLive(client), []);
  // Kept text of another operator is dropped at once, whichever screen this one looks at.
  useEffect(() => void readKept(session.operator.id), [session.operator.id]);
  useDismissAtEnd();
  return (
    <SessionContext value={session}>
      <Shell>
        <ErrorBoundary key={location}>
          <Suspense fallback={<LoadingState />}>
            <Switch>
              {listScreens(session).flatMap(({ paths, component }) =>
                paths.map((path) => <Route key={path} path={path} component={component} />),
              )}
              <Route path="/sessions" component={SessionsScreen} />
              <Route component={NotFoundScreen} />
            </Switch>
          </Suspense>
        </ErrorBoundary>
      </Shell>
    </SessionContext>
  );
}
