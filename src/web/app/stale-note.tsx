import { useQueryClient, type Query } from '@tanstack/react-query';
import { useCallback, useSyncExternalStore, type ReactNode } from 'react';
import { StateMark } from '../components/states.tsx';

/** Shown, and older than it could be: its last refresh failed. A list says itself that a further page was not read. */
const isStale = (query: Query): boolean =>
  query.isActive() &&
  query.state.status === 'error' &&
  query.state.data !== undefined &&
  query.queryKey[0] !== 'shown';

/** Says that what the screen shows could not be refreshed, and why. What is shown stays, with forms and dialogs. */
export function StaleNote(): ReactNode {
  const client = useQueryClient();
  const cache = client.getQueryCache();
  const subscribe = useCallback((listener: () => void) => cache.subscribe(listener), [cache]);
  const text = useSyncExternalStore(subscribe, () => cache.getAll().find(isStale)?.state.error?.message);
  return (
    <div role="status">
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
