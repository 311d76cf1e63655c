import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../../core/index.ts';
import { sendRefusal } from './error-map.ts';
import { HttpError } from './errors.ts';
import { sendRefusalBody } from './refusal-body.ts';
import type { HispFastify } from './types.ts';

/**
 * Answers requests that no route accepts: 405 with `Allow` if the address exists for another method, else
 * 404.
 */
export function addUnknownAddress(app: HispFastify, log: Log): void {
  const known: { readonly form: RegExp; readonly methods: readonly string[] }[] = [];
  app.addHook('onRoute', ({ url, method, config }) => {
    if (config?.refusesMethods !== true) known.push({ form: toForm(url), methods: [method].flat() });
  });
  const answer = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const path = request.url.split('?', 1)[0] ?? '';
    const methods = new Set(known.filter(({ form }) => form.test(path)).flatMap((route) => route.methods));
    if (methods.size > 0) return refuseMethod(request, reply, [...methods].sort());
    return sendRefusal(new HttpError('HTTP_ROUTE_UNKNOWN', 'no such route'), request, reply, log);
  };
  // Nothing is read of a body that has no route.
  app.addHook('preParsing', async (request, reply, payload) => {
    if (request.is404) await answer(request, reply);
    return payload;
  });
  app.setNotFoundHandler(answer);
}

function refuseMethod(
  request: FastifyRequest,
  reply: FastifyReply,
  methods: readonly string[],
): FastifyReply {
  const allow = methods.join(', ');
  const problem = { field: '', reason: 'method_not_allowed', detail: `This path accepts ${allow}.` };
  return sendRefusalBody(request, reply.header('Allow', allow), 405, [problem]);
}

function toForm(url: string): RegExp {
  const source = url
    .split('/')
    .map((part) =>
      part.startsWith(':') ? '[^/]+' : part === '*' ? '.*' : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'),
    )
    .join('/');
  return new RegExp(`^${source}/?$`);
}
