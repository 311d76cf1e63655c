import { isAlwaysAnswered } from './admission.ts';
import { HttpError } from './errors.ts';
import type { HispFastify } from './types.ts';

/**
 * While writes to the database do not end, a request would hold its connection and its client for a minute,
 * and fail then.
 */
export function refuseWhileStuck(app: HispFastify, isStuck: (() => boolean) | undefined): void {
  if (isStuck === undefined) return;
  app.addHook('onRequest', async (request) => {
    if (isAlwaysAnswered(request) || !isStuck()) return;
    throw new HttpError('HTTP_NOT_READY', 'writes to the database do not end', { retryAfterSeconds: 5 });
  });
}
