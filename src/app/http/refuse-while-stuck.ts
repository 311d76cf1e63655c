import type { FastifyRequest } from 'fastify';
import { isAlwaysAnswered } from './admission.ts';
import { HttpError } from './errors.ts';
import type { HispFastify } from './types.ts';

const unanswered = 'The database does not answer; repeat the request in a few seconds.';

/**
 * While writes to the database do not end, a request would hold its connection and its client for a minute,
 * and fail then.
 * @param needsNone True of a request that needs no database.
 */
export function refuseWhileStuck(
  app: HispFastify,
  isStuck: (() => boolean) | undefined,
  needsNone: (request: FastifyRequest) => boolean = isAlwaysAnswered,
): void {
  if (isStuck === undefined) return;
  app.addHook('onRequest', async (request) => {
    if (needsNone(request) || !isStuck()) return;
    throw new HttpError('HTTP_NOT_READY', 'writes to the database do not end', {
      retryAfterSeconds: 5,
      problems: [{ field: '', reason: 'not_ready', detail: unanswered }],
    });
  });
}
