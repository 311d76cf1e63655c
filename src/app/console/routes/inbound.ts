import { Type } from 'typebox';
import {
  inboundTextOf,
  listDeadLetters,
  measureInboundMail,
  measureUnacknowledged,
  type InboundEntry,
} from '../../../service/messaging/index.ts';
import {
  doneAnswer,
  inboundCounts,
  inboundPage,
  inboundQuery,
  type InboundPage,
  type InboundQuery,
  type InboundRow,
  type InboundState,
} from '../contract/index.ts';
import { apiPrefix } from '../guard.ts';
import type { ConsoleRoutes, ConsoleServices } from '../types.ts';
import type { ActingServices, createActing } from './acting.ts';
import { describe, refusals } from './describe.ts';
import { isoTime } from './formats.ts';

const dayMs = 86_400_000;
const maxCounted = 1000;

/** Mail from other HISPs: received, refused, dead-lettered, and not acknowledged. */
export function inboundRoutes(
  services: ConsoleServices,
  acting: ReturnType<typeof createActing>,
): ConsoleRoutes {
  const { storage, clock, audit } = services;
  return (app) => {
    app.get(
      `${apiPrefix}/inbound`,
      {
        config: { permission: 'messages.read' },
        schema: {
          ...describe(
            'inbound',
            'List mail from other HISPs',
            'Refused and received: newest first; dead letters and what is unacknowledged: oldest first. A page may be short and still have a next one.',
          ),
          querystring: inboundQuery,
          response: { 200: inboundPage, ...refusals(400) },
        },
      },
      async (request) => list(services, acting(request), request.query),
    );
    app.get(
      `${apiPrefix}/inbound/counts`,
      {
        config: { permission: 'messages.read' },
        schema: {
          ...describe('inbound', 'Count mail from other HISPs'),
          response: { 200: inboundCounts, ...refusals() },
        },
      },
      async () => {
        const since = new Date(clock.now().getTime() - dayMs);
        const count = async (action: string): Promise<number> =>
          (await audit.find({ action, since, limit: maxCounted })).length;
        const [received, rejected, discarded, dead, open, waiting] = await Promise.all([
          count('message.receive'),
          count('message.reject'),
          count('message.discard'),
          listDeadLetters(storage),
          measureUnacknowledged(storage, clock),
          measureInboundMail(storage, clock),
        ]);
        return {
          received,
          refused: rejected + discarded,
          deadLettered: dead.length,
          unacknowledged: open.count,
          oldestUnacknowledgedSeconds: open.oldestSeconds,
          waiting: waiting.reduce((sum, one) => sum + one.count, 0),
        };
      },
    );
    app.post(
      `${apiPrefix}/inbound/:id/retry`,
      {
        config: { permission: 'messages.change' },
        schema: {
          ...describe('inbound', 'Try a dead letter again'),
          params: Type.Object({ id: Type.String({ maxLength: 100 }) }),
          response: { 200: doneAnswer, ...refusals(404) },
        },
      },
      async (request) => {
        const count = await acting(request).messaging.retryInbound(request.params.id);
        return { count, sentence: 'The dead letter will be tried again now.' };
      },
    );
  };
}

async function list(
  { storage }: ConsoleServices,
  { messaging }: ActingServices,
  query: InboundQuery,
): Promise<InboundPage> {
  const { state = 'refused', from, to, code, since, until, limit = 50, cursor } = query;
  if (state === 'unacknowledged') {
    const page = await messaging.listUnacknowledged({ limit, cursor });
    return {
      result: page.items.map((row) => ({
        ...blank,
        id: row.id,
        state,
        at: isoTime(row.receivedAt),
        level: 'waiting',
        from: row.from,
        to: [row.to],
        text: 'In the inbox; no client has acknowledged it.',
        whatToDo: 'Look at the client of this address: it has not fetched the message, or its webhook fails.',
        wireId: row.wireId,
      })),
      next: page.next ?? null,
    };
  }
  if (state === 'dead-lettered') {
    const all = await listDeadLetters(storage);
    const start = cursor === undefined ? 0 : all.findIndex(({ id }) => id === cursor) + 1;
    const some = all.slice(start, start + limit);
    return {
      result: some.map((row) => ({
        ...blank,
        id: row.id,
        state,
        at: isoTime(row.receivedAt),
        level: 'failed',
        from: row.mailFrom,
        to: [...row.recipients],
        code: row.reason,
        text: inboundTextOf(row.reason).text,
        whatToDo: inboundTextOf(row.reason).advice,
        canRetry: true,
      })),
      next: start + limit < all.length ? (some.at(-1)?.id ?? null) : null,
    };
  }
  const page = await messaging.listInbound({
    kinds: state === 'received' ? ['received'] : ['rejected', 'discarded'],
    from,
    to,
    reason: code,
    since: since === undefined ? undefined : new Date(since),
    until: until === undefined ? undefined : new Date(until),
    limit,
    cursor,
  });
  return { result: page.items.map((entry) => toRow(entry, state)), next: page.next ?? null };
}

const blank = {
  code: '',
  text: '',
  whatToDo: '',
  wireId: '',
  remoteAddress: '',
  attempts: 0,
  canRetry: false,
} as const;

function toRow(entry: InboundEntry, state: InboundState): InboundRow {
  const refusal = state === 'refused' ? inboundTextOf(entry.reason) : undefined;
  return {
    ...blank,
    id: entry.id,
    state,
    at: isoTime(entry.at),
    level: refusal === undefined ? 'ok' : 'failed',
    from: entry.from,
    to: [...entry.to],
    code: entry.reason,
    text: refusal?.text ?? 'Opened, trusted and stored for its recipients.',
    whatToDo: refusal?.advice ?? '',
    wireId: entry.messageId,
    remoteAddress: entry.remoteAddress,
  };
}
