import { useQueryClient, type Query } from '@tanstack/react-query';
import { useCallback, useSyncExternalStore, type ReactNode } from 'react';
import { useSession } from '../api/session.ts';
import { StateMark } from '../components/states.tsx';

/**
 * Shown, and older than it could be: its last refresh failed. A list says itself that a further page was not
 * read.
 */
const isStale = (query: Query): boolean =>
  query.isActive() &&
  query.state.status === 'error' &&
  query.state.data !== undefined &&
  query.queryKey[0] !== 'shown';

/** The version of the server when this page was loaded. */
let loadedVersion: string | undefined;

/**
 * Says that what the screen shows could not be refreshed, and why; what is shown stays, with forms and
 * dialogs. And that the server was updated: this page still runs the code of before.
 */
export function StaleNote(): ReactNode {
  const { version } = useSession();
  loadedVersion ??= version;
  const client = useQueryClient();
  const cache = client.getQueryCache();
  const subscribe = useCallback((listener: () => void) => cache.subscribe(listener), [cache]);
  const text = useSyncExternalStore(subscribe, () => cache.getAll().find(isStale)?.state.error?.message);
  return (
    <div role="status">
      {version !== loadedVersion && (
        <p className="stale">
          <StateMark tone="warning">The console was updated to {version} while this page was open.</StateMark>{' '}
          <button type="button" className="link" onClick={() => location.reload()}>
            Reload the page
          </button>
        </p>
      )}
      {text !== undefined && (
        <p className="stale">
          <StateMark tone="warning">This screen could not be refreshed. {text}</StateMark>{' '}
          <button
            type="button"
            className="link"
            onClick={() => void client.refetchQueries({ predicate: isStale })}
          >
            Refresh
          </button>
        </p>
      )}
    </div>
  );
}
