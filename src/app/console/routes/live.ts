import type { ServerResponse } from 'node:http';
import { errorCode } from '../../../core/index.ts';
import { findLastAttempt } from '../../../service/delivery/index.ts';
import type { ChangedEvent, LoadEvent, Topic } from '../contract/index.ts';
import { ConsoleError } from '../errors.ts';
import { apiPrefix } from '../guard.ts';
import type { ConsoleRoutes, ConsoleServices } from '../types.ts';
import { describe, refusals } from './describe.ts';

/** What an area of audit actions is shown by. */
const topicsOfArea: Readonly<Record<string, readonly Topic[]>> = {
  message: ['messages', 'queue', 'inbound'],
  mdn: ['queue'],
  dsn: ['queue'],
  queue: ['queue', 'messages'],
  inbound: ['inbound'],
  webhook: ['webhooks'],
  directory: ['directory'],
  address: ['directory', 'trust'],
  client: ['clients'],
  token: ['clients'],
  domain: ['trust'],
  key: ['trust'],
  anchor: ['trust'],
  bundle: ['trust'],
};

/** What somebody has only looked at. */
const isView = (action: string): boolean => /\.(?:list|find|show|holds|search|evidence|fetch)$/.test(action);

const lookMs = 1_000;
const heartbeatMs = 15_000;
/** Streams of one operator, and of all. */
const maxPerOperator = 6;
const maxStreams = 300;
/** A browser that does not read is let go. */
const maxUnsentBytes = 256 * 1024;

/** What changes, told to browsers as it does. */
export interface Live {
  /** Tells all streams of this node how a directory load goes on. */
  tellLoad(event: LoadEvent): void;
}

interface Stream {
  readonly operator: string;
  readonly response: ServerResponse;
}

/**
 * Server-sent events of what changes, on whichever node: each node with streams looks once a second at what the audit trail and the attempts
 * have grown by, since everything that changes leaves a row there.
 */
export function createLive(services: ConsoleServices): {
  readonly live: Live;
  readonly routes: ConsoleRoutes;
} {
  const { audit, storage, clock, log } = services;
  const streams = new Set<Stream>();
  let timer: NodeJS.Timeout | undefined;
  let seen: { sequence: number; attempt: string } | undefined;
  let isLooking = false;

  function write(stream: Stream, text: string): void {
    if (stream.response.writableLength > maxUnsentBytes) stream.response.destroy();
    else stream.response.write(text);
  }

  function tell(event: string, data: ChangedEvent | LoadEvent): void {
    const text = `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
    for (const stream of streams) write(stream, text);
  }

  async function look(): Promise<void> {
    const [trail, attempt] = await Promise.all([
      audit.listActionsAfter(seen?.sequence),
      findLastAttempt(storage),
    ]);
    const topics = new Set<Topic>();
    if (seen !== undefined) {
      if (attempt !== seen.attempt) topics.add('queue').add('messages');
      for (const action of trail.actions.filter((one) => !isView(one))) {
        topics.add('audit');
        for (const topic of topicsOfArea[action.split('.')[0] ?? ''] ?? []) topics.add(topic);
      }
    }
    seen = { sequence: trail.lastSequence, attempt };
    if (topics.size > 0) tell('changed', { topics: [...topics], at: clock.now().toISOString() });
  }

  function lookAgain(): void {
    if (isLooking) return;
    isLooking = true;
    look()
      .catch((error: unknown) => log.warn({ code: errorCode(error) }, 'what has changed could not be read'))
      .finally(() => {
        isLooking = false;
      });
  }

  function add(stream: Stream): void {
    streams.add(stream);
    timer ??= setInterval(lookAgain, lookMs).unref();
    lookAgain();
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
    app.get(
      `${apiPrefix}/live`,
      {
        config: { permission: 'signed-in' },
        schema: {
          ...describe(
            'now',
            'Hear what changes',
            'Server-sent events: changed (topics), load. Ends with the session. At most six streams per operator.',
          ),
          response: refusals(429) as Record<number, unknown>,
        },
      },
      async (request, reply) => {
        const { actor } = request.operator;
        const own = [...streams].filter(({ operator }) => operator === actor).length;
        if (own >= maxPerOperator || streams.size >= maxStreams)
          throw new ConsoleError('CONSOLE_BUSY', 'too many streams of live events');
        reply.hijack();
        const response = reply.raw;
        for (const [name, value] of Object.entries(reply.getHeaders())) {
          if (value !== undefined) response.setHeader(name, value);
        }
        response.writeHead(200, {
          'content-type': 'text/event-stream; charset=utf-8',
          'cache-control': 'no-store',
          // A proxy in between must not wait for more.
          'x-accel-buffering': 'no',
        });
        const stream: Stream = { operator: actor, response };
        write(stream, ': welcome\n\n');
        const heartbeat = setInterval(() => write(stream, ': still here\n\n'), heartbeatMs).unref();
        response.on('close', () => {
          clearInterval(heartbeat);
          remove(stream);
        });
        add(stream);
      },
    );
  };
  return { live: { tellLoad: (event) => tell('load', event) }, routes };
}
