import type { Closable, Log } from '../../core/index.ts';
import { isFailedState } from '../../lib/recipient-states/index.ts';
import { createMetrics, createEmit, type Metrics, type Emit, type Storage } from '../../platform/index.ts';
import { messagingEvents } from './events.ts';
import { createTraffic } from './traffic.ts';

/** Where the events of messages are counted: metrics, the log, and the charts of the console. */
export interface EventCounts extends Closable {
  readonly emit: Emit<typeof messagingEvents>;
}

/** `close` stores what the charts still lack. A command, whose metrics nobody reads, gives no registry. */
export function createEventCounts(options: {
  readonly storage: Storage;
  readonly log: Log;
  readonly metrics?: Metrics;
}): EventCounts {
  const traffic = createTraffic(options);
  const emit = createEmit(messagingEvents, {
    metrics: options.metrics ?? createMetrics(),
    log: options.log,
  });
  return {
    emit(event, labels, fields = {}) {
      emit(event, labels, fields);
      if (event === 'accepted' || event === 'received') traffic.note(event);
      if (event !== 'changed') return;
      const { state } = labels as { readonly state: string };
      if (isFailedState(state)) traffic.note('failed');
      if (state === 'processed') traffic.note('processed', Number(fields['seconds']));
    },
    close: () => traffic.close(),
  };
}
