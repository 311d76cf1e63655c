import type { FastifyRequest } from 'fastify';
import { HttpError } from './errors.ts';
import type { HispFastify } from './types.ts';

/** Refuses requests that a proxy in front may read differently, and query text that would be changed when it is read. */
export function refuseAmbiguousRequests(app: HispFastify): void {
  app.addHook('onRequest', async (request) => {
    if (countHeader(request, 'host') > 1)
      throw invalid('Host', 'duplicate', 'The Host header is there more than once (RFC 9112 §3.2).');
    const name = findNotUtf8(request.url);
    if (name !== undefined) throw invalid(name, 'not_utf8', `${name} is not percent-encoded UTF-8.`);
  });
}

function invalid(field: string, reason: string, detail: string): HttpError {
  return new HttpError('HTTP_REQUEST_INVALID', `${field} ${reason}`, {
    problems: [{ field, reason, detail }],
  });
}

function countHeader({ raw }: FastifyRequest, name: string): number {
  return raw.rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === name).length;
}

/** The parameter, `query` if its name is at fault, or undefined. A lone % is taken literally, as in HTML forms. */
function findNotUtf8(url: string): string | undefined {
  const at = url.indexOf('?');
  if (at < 0 || !url.includes('%', at)) return undefined;
  for (const parameter of url.slice(at + 1).split('&')) {
    const [name = '', ...value] = parameter.split('=');
    if (!isUtf8Encoded(name)) return 'query';
    if (!isUtf8Encoded(value.join('='))) return decodeURIComponent(escapeLonePercent(name)).slice(0, 100);
  }
  return undefined;
}

function isUtf8Encoded(text: string): boolean {
  try {
    decodeURIComponent(escapeLonePercent(text));
    return true;
  } catch {
    return false;
  }
}

function escapeLonePercent(text: string): string {
  return text.replaceAll(/%(?![0-9A-Fa-f]{2})/g, '%25');
}
