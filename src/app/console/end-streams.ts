import type { FastifyReply, FastifyRequest } from 'fastify';
import { CodedError } from '../../core/index.ts';
import { isApiRoute, recheckCaller, type GuardParts } from './guard.ts';
import type { ConsoleApp } from './types.ts';

/** How often the callers of answers that go on are asked for again. */
const usualEveryMs = 5000;

/**
 * Ends answers that go on, such as streams of live events, when whoever asked for them may not any more: signed out, idle, disabled, or
 * of another role. The guard alone sees only when they begin.
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
      // A database that does not answer at this moment ends nothing.
      if (error instanceof CodedError && error.kind !== 'unavailable') reply.raw.destroy();
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
