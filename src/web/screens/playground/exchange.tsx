import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useState, type ReactNode } from 'react';
import { Link } from 'wouter';
import type { Exchange as ExchangeAnswer, Level, WireEvent } from '../../../app/console/contract/index.ts';
import { get, type ApiError } from '../../api/client.ts';
import { ErrorState, LoadingState, StateMark } from '../../components/states.tsx';
import { messagePath } from '../messages/message-path.ts';
import { ExchangeView } from './exchange-view.tsx';

const tones: Readonly<Record<string, Level>> = {
  processed: 'ok',
  dispatched: 'ok',
  failed: 'failed',
  expired: 'warning',
};

const askAgainMs = 400;

/** The events of one message on the wire, polled until complete. */
export function Exchange({ messageId }: { readonly messageId: string }): ReactNode {
  const [events, setEvents] = useState<readonly WireEvent[]>([]);
  const last = events.at(-1)?.id;
  const seen = useQuery<ExchangeAnswer, ApiError>({
    queryKey: ['exchange', messageId],
    queryFn: ({ signal }) =>
      get(
        `/playground/exchange/${encodeURIComponent(messageId)}`,
        last === undefined ? {} : { after: last },
        signal,
      ),
    refetchInterval: ({ state }) => (state.data?.isComplete === true ? false : askAgainMs),
    gcTime: 0,
  });
  const fresh = seen.data?.events;
  useEffect(() => {
    if (fresh === undefined || fresh.length === 0) return;
    setEvents((before) => {
      const known = new Set(before.map(({ id }) => id));
      const added = fresh.filter(({ id }) => !known.has(id));
      return added.length === 0 ? before : [...before, ...added];
    });
  }, [fresh]);
  const isRunning = seen.data?.isComplete !== true;
  const counts = useMemo(() => countKinds(events), [events]);
  if (seen.data === undefined)
    return seen.error === null ? (
      <LoadingState />
    ) : (
      <ErrorState error={seen.error} onRetry={() => void seen.refetch()} />
    );
  return (
    <>
      <p className="exchange-state" role="status">
        <StateMark tone={tones[seen.data.state] ?? 'waiting'}>{seen.data.sentence}</StateMark>{' '}
        <Link href={messagePath(messageId)}>Open the message</Link>
      </p>
      <p className="faint">{counts}</p>
      <ExchangeView events={events} isRunning={isRunning} />
    </>
  );
}

const kindNames: readonly (readonly [kind: WireEvent['kind'], one: string, many: string])[] = [
  ['dns', 'DNS query', 'DNS queries'],
  ['smtp', 'SMTP line', 'SMTP lines'],
  ['mdn', 'MDN', 'MDNs'],
  ['webhook', 'webhook call', 'webhook calls'],
];

/** `4 DNS queries, 12 SMTP lines, 1 MDN, 2 webhook calls`. */
function countKinds(events: readonly WireEvent[]): string {
  return kindNames
    .flatMap(([kind, one, many]) => {
      const count = events.filter((event) => event.kind === kind && event.from !== 'DNS').length;
      return count === 0 ? [] : [`${count} ${count === 1 ? one : many}`];
    })
    .join(', ');
}
