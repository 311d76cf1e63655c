import { operatorName } from '../../../core/index.ts';
import { isQualifiedDomain } from '../../../lib/values/index.ts';
import {
  adviceFor,
  waitingText,
  type MessagingOperator,
  type QueuedDestination,
  type SelectedDestination,
} from '../../../service/messaging/index.ts';
import {
  deliveryPage,
  paging,
  queueActionAnswer,
  queueActionRequest,
  queuePage,
  queueQuery,
  type QueueActionAnswer,
  type QueueActionRequest,
  type QueueDestination,
  type QueuedDelivery,
  queryOf,
} from '../contract/index.ts';
import { maxSelected, type HeldDestination } from '../../../service/delivery/index.ts';
import { invalidField } from '../errors.ts';
import { route } from '../route.ts';
import type { ConsoleRoutes, ConsoleServices } from '../types.ts';
import { isRefresh, type Acting } from './acting.ts';
import { cursorsOf, rowId } from './cursors.ts';
import { countOf, isoOrNull, isoTime, readTime } from './formats.ts';

const idleHoldAdvice = 'Release it when mail may be sent there again.';
const holdAdvice =
  'Release it when mail may be sent there again; waiting messages still expire in the meantime.';

const destinationCursors = cursorsOf('queue', rowId);
const deliveryCursors = cursorsOf('deliveries', rowId);

/** Routes of the delivery queue, by destination, and its actions. */
export function queueRoutes({ clock }: Pick<ConsoleServices, 'clock'>, acting: Acting): ConsoleRoutes {
  return (app) => {
    route(app, 'get', '/queue', {
      needs: 'messages.read',
      about: [
        'queue',
        'List the destinations of waiting mail',
        'The longest wait first. A destination whose oldest delivery is settled between two pages can be on both; the later one is current.',
      ],
      query: queueQuery,
      answer: queuePage,
      handle: async (request) => {
        const { domain, limit = 50, cursor } = request.query;
        const { messaging } = acting(request);
        const page = await messaging.listDestinations(
          { domain, limit, cursor: destinationCursors.read(cursor) },
          { isRefresh: isRefresh(request) },
        );
        const holds = new Map(page.holds.map((hold) => [hold.domain, hold]));
        const result = page.items.map((item): QueueDestination => {
          const hold = holds.get(item.domain);
          return {
            domain: item.domain,
            messages: item.messages,
            reports: item.reports,
            running: item.running,
            oldestAt: isoTime(item.oldestAt),
            attempts: item.attempts,
            reason: item.reason ?? '',
            level: hold !== undefined || item.reason !== undefined ? 'warning' : 'waiting',
            text: waitingText({
              ...(item.reason !== undefined && { lastReason: item.reason }),
              isRunning: item.running > 0,
              isOnHold: hold !== undefined,
              isBackingOff: false,
            }),
            whatToDo:
              hold !== undefined
                ? holdAdvice
                : item.reason === undefined
                  ? ''
                  : adviceFor(item.reason, false),
            lastError: item.lastError,
            nextAttemptAt: hold === undefined ? isoOrNull(item.nextAttemptAt) : null,
            hold: hold === undefined ? null : toHold(hold),
          };
        });
        if (page.next !== undefined) return { result, next: destinationCursors.write(page.next) };
        // Destinations on hold without waiting deliveries are listed once, on the last page.
        const held = [...holds.values()].filter(
          (hold) => domain === undefined || hold.domain === domain.toLowerCase(),
        );
        // Parts of the same view.
        const found = await Promise.all(
          held.map((hold) =>
            messaging.listDestinations({ domain: hold.domain, limit: 1 }, { isRefresh: true }),
          ),
        );
        const idle = held.filter((_hold, index) => found[index]?.items.length === 0);
        return {
          result: [
            ...result,
            ...idle.map((hold): QueueDestination => ({
              domain: hold.domain,
              messages: 0,
              reports: 0,
              running: 0,
              oldestAt: isoTime(hold.since),
              attempts: 0,
              reason: '',
              level: 'warning',
              text: 'On hold; nothing is waiting.',
              whatToDo: idleHoldAdvice,
              lastError: '',
              nextAttemptAt: null,
              hold: toHold(hold),
            })),
          ],
          next: null,
        };
      },
    });
    route(app, 'get', '/queue/:destination', {
      needs: 'messages.read',
      about: ['queue', 'List the waiting deliveries of a destination', 'Oldest first.'],
      query: queryOf(paging),
      answer: deliveryPage,
      handle: async (request) => {
        const { limit = 50 } = request.query;
        const cursor = deliveryCursors.read(request.query.cursor);
        const page = await acting(request).messaging.listQueue(
          { domain: request.params.destination, limit, ...(cursor !== undefined && { cursor }) },
          { isRefresh: isRefresh(request) },
        );
        return { result: page.items.map(toDelivery), next: deliveryCursors.write(page.next) };
      },
    });
    route(app, 'post', '/queue/actions', {
      needs: 'messages.change',
      about: [
        'queue',
        'Retry, hold, release or fail waiting deliveries',
        'For whole destinations or single deliveries. A preview changes nothing. At most 10,000 deliveries per request.',
      ],
      body: queueActionRequest,
      answer: queueActionAnswer,
      handle: async (request) => actOnQueue(acting(request).messaging, clock.now(), request.body),
    });
  };
}

function toHold({ reason, since, author, endsAt, expiresAt }: HeldDestination): QueueDestination['hold'] {
  return {
    reason,
    since: isoTime(since),
    author: operatorName(author) ?? author,
    until: isoOrNull(endsAt),
    expiresAt: isoOrNull(expiresAt),
  };
}

function toDelivery(one: QueuedDestination): QueuedDelivery {
  const { lastReason } = one;
  return {
    id: one.id,
    deliveryId: one.deliveryId,
    messageId: one.messageId,
    kind: one.kind,
    from: one.sender,
    to: [...one.recipients],
    createdAt: isoTime(one.createdAt),
    attempts: one.attempts,
    reason: lastReason ?? '',
    level: one.isOnHold || lastReason !== undefined ? 'warning' : 'waiting',
    text: waitingText(one),
    whatToDo: one.isOnHold ? holdAdvice : lastReason === undefined ? '' : adviceFor(lastReason, false),
    lastError: one.lastError ?? '',
    nextAttemptAt: one.isOnHold || one.isRunning ? null : isoTime(one.nextAttemptAt),
    givesUpAt: isoTime(one.givesUpAt),
    isRunning: one.isRunning,
    isOnHold: one.isOnHold,
  };
}

async function actOnQueue(
  messaging: MessagingOperator,
  now: Date,
  { action, destinations = [], deliveries = [], reason, until, upTo, preview }: QueueActionRequest,
): Promise<QueueActionAnswer> {
  const isHold = action === 'hold' || action === 'release';
  if (isHold && (deliveries.length > 0 || destinations.length === 0))
    throw invalidField(
      deliveries.length > 0 ? 'deliveries' : 'destinations',
      `${action} takes destinations only.`,
    );
  if (action === 'hold' && reason === undefined)
    throw invalidField('reason', 'Give a reason for the hold; other operators see it.');
  const endsAt = readTime('until', until);
  if (endsAt !== undefined && (action !== 'hold' || !(endsAt > now)))
    throw invalidField('until', action === 'hold' ? 'It is not in the future.' : 'Only a hold has an end.');
  if (destinations.length + deliveries.length === 0)
    throw invalidField('destinations', 'Name destinations or deliveries.');
  const domains = destinations.map((one) => one.toLowerCase());
  const wrong = action === 'hold' ? domains.find((one) => !isQualifiedDomain(one)) : undefined;
  if (wrong !== undefined) throw invalidField('destinations', `${wrong}: not a domain (direct.example.org).`);
  const found = await messaging.selectQueued({ domains, ids: deliveries }, { isPreview: preview });
  // Their ids grow with time. A preview without deliveries is one of none.
  const selected = upTo === undefined ? found : found.filter(({ id }) => id <= upTo);
  const isFull = (action === 'retry' || action === 'fail') && found.length === maxSelected;
  const running = selected.filter(({ isRunning }) => isRunning).length;
  let done = '';
  if (!preview) {
    if (action === 'retry') await messaging.retrySelected(selected);
    else if (action === 'fail') await messaging.failSelected(selected);
    else
      for (const domain of domains)
        await (action === 'hold' ? messaging.hold(domain, reason ?? '', endsAt) : messaging.release(domain));
    done = 'done';
  }
  return {
    action,
    preview,
    sentence: `${describeAction({ action, isDone: done !== '', domains, selected, running })}${
      isFull
        ? ` These are the first ${maxSelected.toLocaleString('en-US')}; repeat it for those that wait behind them.`
        : ''
    }`,
    destinations: isHold ? domains.length : new Set(selected.map(({ domain }) => domain)).size,
    deliveries: selected.length,
    recipients: selected.reduce((sum, one) => sum + one.recipients, 0),
    running,
    upTo: selected.at(-1)?.id ?? '',
    items: [...Map.groupBy(selected, ({ domain }) => domain)].slice(0, 200).map(([domain, some]) => ({
      domain,
      deliveries: some.length,
      recipients: some.reduce((sum, one) => sum + one.recipients, 0),
      running: some.filter(({ isRunning }) => isRunning).length,
    })),
  };
}

interface ActionResult {
  readonly action: QueueActionRequest['action'];
  readonly isDone: boolean;
  readonly domains: readonly string[];
  readonly selected: readonly SelectedDestination[];
  readonly running: number;
}

function describeAction({ action, isDone, domains, selected, running }: ActionResult): string {
  const free = selected.length - running;
  const left =
    running === 0
      ? ''
      : ` ${countOf(running, 'delivery', 'deliveries')} with an attempt in progress will be skipped.`;
  const what = countOf(free, 'delivery', 'deliveries');
  switch (action) {
    case 'retry':
      return `${what} will be retried now.${left}`;
    case 'fail':
      return isDone
        ? `${what} cancelled; the clients are notified.${left}`
        : `${what} will be cancelled, and the clients notified. This cannot be undone.${left}`;
    case 'hold':
      return isDone
        ? `${countOf(domains.length, 'destination')} on hold; ${what} waiting.`
        : `Nothing will be sent to ${countOf(domains.length, 'destination')} until released; ${what} waiting.`;
    case 'release':
      return isDone
        ? `${countOf(domains.length, 'destination')} released.`
        : `Mail will be sent to ${countOf(domains.length, 'destination')} again; ${what} waiting.`;
  }
}
