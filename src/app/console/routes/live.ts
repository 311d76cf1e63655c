import type { ServerResponse } from 'node:http';
import { errorCode } from '../../../core/index.ts';
import { createRecentViews } from '../../../service/audit/index.ts';
import { findLastAttempt } from '../../../service/delivery/index.ts';
import { readLoadProgress } from '../../../service/directory/index.ts';
import { findLastHookAttempts } from '../../../service/webhook/index.ts';
import type { ChangedEvent, LoadEvent, Topic } from '../contract/index.ts';
import { ConsoleError } from '../errors.ts';
import { route, streamOf } from '../route.ts';
import type { ConsoleRoutes, ConsoleServices } from '../types.ts';

/** The topics that change with an area of audit actions. */
const topicsOfArea: Readonly<Record<string, readonly Topic[]>> = {
  message: ['messages', 'queue', 'inbound'],
  mdn: ['queue'],
  dsn: ['queue'],
  queue: ['queue', 'messages'],
  inbound: ['inbound'],
  webhook: ['webhooks'],
  directory: ['directory', 'loads'],
  address: ['directory', 'trust'],
  client: ['clients'],
  organization: ['clients', 'trust'],
  token: ['clients'],
  domain: ['trust'],
  key: ['trust'],
  anchor: ['trust'],
  bundle: ['trust'],
};

/** True for actions that only read. */
const isView = (action: string): boolean =>
  /\.(?:list|find|show|holds|search|evidence|fetch|live)$/.test(action);

const pollMs = 1_000;
const heartbeatMs = 5_000;
/** An event, since a page sees no comments: it takes the connection for lost without one. */
const beat = 'event: beat\ndata: {}\n\n';
/** Streams of one operator, and of all. */
const maxPerOperator = 6;
const maxStreams = 300;
/** The stream of a browser that does not read is closed. */
const maxUnsentBytes = 256 * 1024;

const eventOf = (event: string, data: ChangedEvent | LoadEvent): string =>
  `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

/** The same each time, whatever has happened. */
const ownTopics = (at: Date): ChangedEvent => ({
  topics: ['messages', 'inbound', 'webhooks', 'clients', 'trust'],
  at: at.toISOString(),
});

/** Events for the open pages of the console. */
export interface Live {
  /** Sends the progress of a directory load to all streams of this node. */
  sendLoad(event: LoadEvent): void;
}

interface Stream {
  readonly operator: string;
  /** Not told when anything happens, since it may be another organization's: its pages ask by the clock. */
  readonly isDelegated: boolean;
  readonly response: ServerResponse;
}

/**
 * Server-sent events about changes on any node: each node with streams polls the audit trail, the attempts of
 * deliveries and webhooks, and the running directory loads once per second, since every change adds a row to
 * one of them or changes it.
 */
export function createLive(services: ConsoleServices): {
  readonly live: Live;
  readonly routes: ConsoleRoutes;
} {
  const { audit, storage, clock, log } = services;
  const views = createRecentViews();
  const streams = new Set<Stream>();
  let timer: NodeJS.Timeout | undefined;
  let seen: { sequence: number; attempt: string; hookAttempts: string; loads: string } | undefined;
  let isPolling = false;

  function write(stream: Stream, text: string): void {
    if (stream.response.writableEnded) return;
    if (stream.response.writableLength > maxUnsentBytes) stream.response.destroy();
    else stream.response.write(text);
  }

  function send(event: string, data: ChangedEvent | LoadEvent): void {
    const text = eventOf(event, data);
    for (const stream of streams) if (!stream.isDelegated) write(stream, text);
  }

  async function poll(): Promise<void> {
    const [trail, attempt, hookAttempts, loads] = await Promise.all([
      audit.listActionsAfter(seen?.sequence),
      findLastAttempt(storage),
      findLastHookAttempts(storage),
      readLoadProgress(storage),
    ]);
    const topics = new Set<Topic>();
    if (seen !== undefined) {
      if (attempt !== seen.attempt) topics.add('queue').add('messages');
      if (hookAttempts !== seen.hookAttempts) topics.add('webhooks');
      if (loads !== seen.loads) topics.add('loads');
      for (const action of trail.actions.filter((one) => !isView(one))) {
        topics.add('audit');
        for (const topic of topicsOfArea[action.split('.')[0] ?? ''] ?? []) topics.add(topic);
      }
    }
    seen = { sequence: trail.lastSequence, attempt, hookAttempts, loads };
    if (topics.size > 0) send('changed', { topics: [...topics], at: clock.now().toISOString() });
  }

  function pollAgain(): void {
    if (isPolling) return;
    isPolling = true;
    poll()
      .catch((error: unknown) =>
        log.warn({ code: errorCode(error) }, 'the changes for the console could not be read'),
      )
      .finally(() => {
        isPolling = false;
      });
  }

  function add(stream: Stream): void {
    streams.add(stream);
    timer ??= setInterval(pollAgain, pollMs).unref();
    pollAgain();
  }

  function remove(stream: Stream): void {
    streams.delete(stream);
    if (streams.size > 0) return;
    clearInterval(timer);
    timer = undefined;
    seen = undefined;
  }

  const routes: ConsoleRoutes = (app) => {
    app.addHook('preClose', async () => {
      for (const { response } of streams) response.end();
    });
    route(app, 'get', '/live', {
      needs: 'signed-in',
      scope: 'filtered',
      about: [
        'now',
        'Stream changes',
        'Server-sent events: changed (topics), load, and beat every 5 seconds. The stream ends with the session. At most six streams per operator.',
      ],
      answer: streamOf('text/event-stream'),
      refuses: [429],
      handle: async (request, reply) => {
        const { actor } = request.operator;
        const own = [...streams].filter(({ operator }) => operator === actor).length;
        if (own >= maxPerOperator || streams.size >= maxStreams)
          throw new ConsoleError('CONSOLE_BUSY', 'too many streams of live events');
        // A browser begins its stream again by itself.
        if (views.note(actor, true))
          await audit.recordNow({
            action: 'console.live',
            actor,
            outcome: 'ok',
            requestId: request.requestId,
          });
        reply.hijack();
        const response = reply.raw;
        for (const [name, value] of Object.entries(reply.getHeaders())) {
          if (value !== undefined) response.setHeader(name, value);
        }
        // Set, so that who ends streams can read it.
        response.setHeader('content-type', 'text/event-stream; charset=utf-8');
        response.setHeader('cache-control', 'no-store');
        // A proxy must not buffer the stream.
        response.setHeader('x-accel-buffering', 'no');
        response.writeHead(200);
        const stream: Stream = {
          operator: actor,
          isDelegated: request.owned.organizationId !== undefined,
          response,
        };
        write(stream, ': welcome\n\n');
        const heartbeat = setInterval(() => {
          write(stream, beat);
          if (stream.isDelegated) write(stream, eventOf('changed', ownTopics(clock.now())));
        }, heartbeatMs).unref();
        response.on('close', () => {
          clearInterval(heartbeat);
          remove(stream);
        });
        add(stream);
      },
    });
  };
  return { live: { sendLoad: (event) => send('load', event) }, routes };
}
