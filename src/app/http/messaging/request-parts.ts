import type { FastifyRequest } from 'fastify';
import type { RequestOrigin } from '../../../service/messaging/index.ts';

/**
 * The service checks these bodies itself, from the table that the schema is made of, so that all faults come
 * at once.
 */
export const acceptAnyBody = (): (() => true) => () => true;

/** For the audit trail. */
export function originOf(request: FastifyRequest): RequestOrigin {
  return { requestId: request.requestId, remoteAddress: request.ip };
}
