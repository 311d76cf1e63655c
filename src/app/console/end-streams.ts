import type { FastifyReply, FastifyRequest } from 'fastify';
import { CodedError } from '../../core/index.ts';
import { isApiRoute, recheckCaller, type GuardParts } from './guard.ts';
import type { ConsoleApp } from './types.ts';

/** Interval of the checks of callers with open streams: two reads by key for each. */
const usualEveryMs = 1000;

/** Live events have no end that could be missed; a file that is cut must be known as cut. */
const isWholeAtAnyEnd = (reply: FastifyReply): boolean =>
  String(reply.raw.getHeader('content-type')).startsWith('text/event-stream');

/**
 * Ends streaming responses, such as live events, when their caller loses access: signed out, idle, disabled,
 * or moved to another role. The guard checks only the start of a request.
 */
export function endStreams(app: ConsoleApp, parts: GuardParts, everyMs = usualEveryMs): void {
  const open = new Map<FastifyRequest, FastifyReply>();
  app.addHook('preHandler', async (request, reply) => {
    if (!isApiRoute(request)) return;
    open.set(request, reply);
    reply.raw.once('close', () => open.delete(request));
  });

  async function check(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    try {
      await recheckCaller(request, parts);
    } catch (error) {
      // An unavailable database does not end streams.
      if (!(error instanceof CodedError) || error.kind === 'unavailable') return;
      // Who does not read what is left is cut off by the next check.
      if (isWholeAtAnyEnd(reply) && !reply.raw.writableEnded) reply.raw.end();
      else reply.raw.destroy();
    }
  }

  let isRunning = false;
  const timer = setInterval(() => {
    if (isRunning) return;
    isRunning = true;
    void Promise.all([...open].map(([request, reply]) => check(request, reply))).finally(() => {
      isRunning = false;
    });
  }, everyMs).unref();
  app.addHook('onClose', async () => clearInterval(timer));
}
