import { createClientError } from './edge-error.ts';

export interface EdgeCredentials {
  readonly baseUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** An edge system that talks to a HISP by its REST API and nothing else. */
export interface EdgeClient {
  get(path: string): Promise<unknown>;
  post(path: string, body?: unknown): Promise<unknown>;
}

// Tokens are valid for an hour; a new one is requested some minutes before that.
const tokenLifetimeMs = 50 * 60_000;

/**
 * Creates a client that fetches its token when it needs one. Throws an Error with the status for any answer
 * but 2xx.
 */
export function createEdgeClient(
  credentials: EdgeCredentials,
  scope = 'messaging.api provider-directory',
): EdgeClient {
  let token = '';
  let takenAtMs = Number.NEGATIVE_INFINITY;

  async function findToken(): Promise<string> {
    if (Date.now() - takenAtMs < tokenLifetimeMs) return token;
    const basic = Buffer.from(`${credentials.clientId}:${credentials.clientSecret}`).toString('base64');
    const response = await fetch(`${credentials.baseUrl}/oauth2/direct/v1/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${basic}`, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ grant_type: 'client_credentials', scope }).toString(),
    });
    const answer = (await response.json()) as { access_token?: string };
    if (answer.access_token === undefined) throw createClientError('POST', 'token', response.status, answer);
    token = answer.access_token;
    takenAtMs = Date.now();
    return token;
  }

  const ask = async (method: string, path: string, body: unknown): Promise<Response> =>
    fetch(`${credentials.baseUrl}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${await findToken()}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });

  async function call(method: 'GET' | 'POST', path: string, body?: unknown): Promise<unknown> {
    let response = await ask(method, path, body);
    // The token was ended before its time, as when the client is disabled and enabled again.
    if (response.status === 401) {
      await response.body?.cancel();
      takenAtMs = Number.NEGATIVE_INFINITY;
      response = await ask(method, path, body);
    }
    const answer: unknown = await response.json().catch(() => undefined);
    if (!response.ok) throw createClientError(method, path, response.status, answer);
    return answer;
  }

  return { get: (path) => call('GET', path), post: (path, body) => call('POST', path, body) };
}
