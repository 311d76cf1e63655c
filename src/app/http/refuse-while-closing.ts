import { HttpError } from './errors.ts';
import type { HispFastify } from './types.ts';

/**
 * Of a connection that is in use when closing begins. With `return503OnClosing` Fastify would answer, in
 * another form.
 */
export function refuseWhileClosing(app: HispFastify): void {
  let isClosing = false;
  app.addHook('preClose', async () => {
    isClosing = true;
  });
  app.addHook('onRequest', async () => {
    if (isClosing) throw new HttpError('HTTP_CLOSING', 'the server is closing', { retryAfterSeconds: 5 });
  });
}
