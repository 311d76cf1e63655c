import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { HispFastify } from './types.ts';

/** Values that are safe to repeat in answers, logs and audit rows. */
const idForm = /^[A-Za-z0-9._:-]{1,128}$/;

/** The caller's own id if it is harmless, else a new one. */
export function chooseRequestId(request: IncomingMessage): string {
  const header = request.headers['x-request-id'];
  return typeof header === 'string' && idForm.test(header) ? header : randomUUID();
}

/** Adds `request.requestId` and returns it with every answer. */
export function addRequestId(app: HispFastify): void {
  app.decorateRequest('requestId', {
    getter() {
      return this.id;
    },
  });
  app.addHook('onRequest', async (request, reply) => {
    reply.header('X-Request-Id', request.id);
  });
}
