import type { FastifyRequest } from 'fastify';
import type { DirectoryCaller } from '../../service/directory/index.ts';

/** The parameters in the order and number in which they were sent. */
export function readParameters(request: FastifyRequest): [string, string][] {
  const at = request.url.indexOf('?');
  const parameters: [string, string][] = [];
  if (at >= 0)
    new URLSearchParams(request.url.slice(at + 1)).forEach((value, name) => parameters.push([name, value]));
  return parameters;
}

export function callerOf(request: FastifyRequest): DirectoryCaller {
  return { client: request.client, requestId: request.requestId, remoteAddress: request.ip };
}
