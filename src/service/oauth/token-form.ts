import { invalidRequest } from './errors.ts';

/** The parameters of a request to the token or revocation endpoint, each at most once. */
export type TokenForm = ReadonlyMap<string, string>;

const maxParameters = 50;

/**
 * Reads a form body. A parameter that comes twice is refused; one without a value counts as left out
 * (RFC 6749 §3.2); unknown ones are ignored.
 */
export function readTokenForm(contentType: string | undefined, body: Uint8Array): TokenForm {
  if (!isForm(contentType)) {
    throw invalidRequest('The body must be application/x-www-form-urlencoded');
  }
  return collect(new URLSearchParams(Buffer.from(body).toString('utf8')));
}

/** Reads the same parameters from a query string, for the tolerant switch of Decision 0006. */
export function readTokenQuery(query: string): TokenForm {
  return collect(new URLSearchParams(query));
}

function collect(parameters: URLSearchParams): TokenForm {
  const form = new Map<string, string>();
  const seen = new Set<string>();
  for (const [name, value] of parameters) {
    if (seen.has(name) || seen.size >= maxParameters) {
      throw invalidRequest(`A parameter is given twice, or there are more than ${maxParameters}`);
    }
    seen.add(name);
    if (value !== '') form.set(name, value);
  }
  return form;
}

function isForm(contentType: string | undefined): boolean {
  return /^application\/x-www-form-urlencoded\s*(;|$)/i.test(contentType?.trim() ?? '');
}
