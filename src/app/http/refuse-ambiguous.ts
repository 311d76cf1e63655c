import type { FastifyRequest } from 'fastify';
import { HttpError } from './errors.ts';
import type { HispFastify } from './types.ts';

/**
 * Refuses requests that a proxy in front may read differently, expectations that cannot be met, query text
 * that would be changed when it is read or cannot be stored, and control characters in a path.
 */
export function refuseAmbiguousRequests(app: HispFastify): void {
  // Without a listener Node answers 417 without a body.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  app.addHook('onRequest', async (request) => {
    const repeated = findRepeatedHeader(request);
    if (repeated !== undefined)
      throw invalid(repeated, 'duplicate', `The ${repeated} header is there more than once (RFC 9110 §5.3).`);
    const { host, expect, 'transfer-encoding': codings = 'chunked' } = request.headers;
    if (host === undefined && request.raw.httpVersion === '1.1')
      throw invalid('Host', 'required', 'The Host header is missing (RFC 9112 §3.2).');
    if (expect !== undefined && !continueExpectation.test(expect))
      throw invalid('Expect', 'invalid', 'The only expectation that can be met is 100-continue.');
    // Node decodes chunks only, and would take what was compressed for the body.
    if (codings.trim().toLowerCase() !== 'chunked')
      throw invalid('Transfer-Encoding', 'invalid', 'The only transfer coding that is read is chunked.');
    if (encodedControl.test(request.url.split('?', 1)[0] ?? ''))
      throw invalid('path', 'invalid', 'The path has a control character, such as %00.');
    const fault = findQueryFault(request.url);
    if (fault !== undefined) throw invalid(fault.name, fault.reason, `${fault.name} ${fault.detail}`);
  });
}

/** No id, name or file of this service has one. */
const encodedControl = /%(?:[01][0-9A-F]|7F)/i;

/** As Node reads it. */
const continueExpectation = /(?:^|\W)100-continue(?:$|\W)/i;

function invalid(field: string, reason: string, detail: string): HttpError {
  return new HttpError('HTTP_REQUEST_INVALID', `${field} ${reason}`, {
    problems: [{ field, reason, detail }],
  });
}

/** Headers with one value. Node keeps the first line of each; whatever is in front may read the last one. */
const singleHeaders = new Map(
  ['Host', 'Authorization', 'Content-Type'].map((name) => [name.toLowerCase(), name] as const),
);

function findRepeatedHeader({ raw: { rawHeaders } }: FastifyRequest): string | undefined {
  const seen = new Set<string>();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = singleHeaders.get(rawHeaders[at]?.toLowerCase() ?? '');
    if (name === undefined) continue;
    if (seen.has(name)) return name;
    seen.add(name);
  }
  return undefined;
}

const notUtf8 = { reason: 'not_utf8', detail: 'is not percent-encoded UTF-8.' } as const;
const hasNul = { reason: 'invalid', detail: 'has the character NUL (%00).' } as const;

/** The parameter, `query` if its name is at fault. A lone % is taken literally, as in HTML forms. */
function findQueryFault(
  url: string,
): { readonly name: string; readonly reason: string; readonly detail: string } | undefined {
  const at = url.indexOf('?');
  if (at < 0 || !url.includes('%', at)) return undefined;
  for (const parameter of url.slice(at + 1).split('&')) {
    const [name = '', ...value] = parameter.split('=');
    if (!isUtf8Encoded(name)) return { name: 'query', ...notUtf8 };
    const fault = isUtf8Encoded(value.join('=')) ? value.join('=').includes('%00') && hasNul : notUtf8;
    if (fault) return { name: decodeURIComponent(escapeLonePercent(name)).slice(0, 100), ...fault };
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
