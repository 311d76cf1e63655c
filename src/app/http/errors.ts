import { codedError, type ErrorTable } from '../../core/index.ts';

export const httpErrors = {
  HTTP_REQUEST_INVALID: { kind: 'invalid-input' },
  HTTP_ROUTE_UNKNOWN: { kind: 'not-found', publicMessage: 'Path not found.' },
  HTTP_OVERLOADED: { kind: 'unavailable', publicMessage: 'The service is over capacity; retry later.' },
  HTTP_CLIENT_BUSY: {
    kind: 'rate-limited',
    publicMessage: 'This client has too many or too large concurrent requests; retry later.',
  },
  HTTP_CLOSING: { kind: 'unavailable', publicMessage: 'The service is closing; repeat the request.' },
  HTTP_NOT_READY: {
    kind: 'unavailable',
    publicMessage: 'The service is starting or a dependency is down.',
  },
} as const satisfies ErrorTable;

/** Errors of the HTTP edge. */
export class HttpError extends codedError(httpErrors) {}
