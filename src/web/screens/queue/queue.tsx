/**
 * The screen of the delivery queue, by destination.
 * Used by `web/app/screens.tsx`.
 * Begin with this file.
 */
import type { ReactNode } from 'react';
import { useParams } from 'wouter';
import { DestinationView } from './destination-view.tsx';
import { QueueList } from './queue-list.tsx';

/** All destinations, or the waiting deliveries of one. */
export function QueueScreen(): ReactNode {
  const { destination } = useParams<{ destination?: string }>();
  return destination === undefined ? (
    <QueueList />
  ) : (
    <DestinationView key={destination} domain={destination} />
  );
}
