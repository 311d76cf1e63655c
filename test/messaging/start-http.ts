/** The messaging service behind real HTTP on loopback, with real tokens. */
import { createHttpApp } from '../../src/app/http/index.ts';
import { messagingRoutes } from '../../src/app/http/messaging/index.ts';
import { createLog, createMetrics, loadConfig } from '../../src/platform/index.ts';
import { createDocumentCheck } from '../support/document-check.ts';
import { startTestMessaging, type StartOptions, type TestMessaging } from './start-messaging.ts';

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly bytes: Buffer;
  // Tests look into answers of every shape.
  readonly body: Record<string, never> & { errors?: { field: string; reason: string; detail: string }[] };
}

export interface TestHttp extends TestMessaging {
  readonly baseUrl: string;
  readonly tokens: { readonly clinic: string; readonly otherClient: string };
  /** A request with the clinic's token unless another, or none, is named. A body that is not text is sent as JSON. */
  call(
    method: string,
    path: string,
    options?: { body?: unknown; token?: string | null; headers?: Record<string, string> },
  ): Promise<Reply>;
  faults(reply: Reply): string[];
}

export async function startTestHttp(options: StartOptions = {}): Promise<TestHttp> {
  const settings = { sendsPerSecond: 1000, sendsBurst: 1000, ...options.settings };
  const world = await startTestMessaging({ ...options, settings });
  const log = createLog({ level: 'debug', isReadable: false, write: (line) => world.logLines.push(line) });
  const app = await createHttpApp({
    config: loadConfig({}).http,
    log,
    oauth: world.oauth,
    audit: world.audit,
    metrics: createMetrics(),
    routes: [
      messagingRoutes({
        messaging: world.messaging,
        webhooks: world.webhooks,
      }),
    ],
  });
  const baseUrl = await app.listen({ host: '127.0.0.1', port: 0 });
  const checkAnswer = createDocumentCheck(app.swagger());
  const tokens = { clinic: await getToken(baseUrl, 'clinic'), otherClient: await getToken(baseUrl, 'other') };
  return {
    ...world,
    baseUrl,
    tokens,
    async call(method, path, { body, token = tokens.clinic, headers = {} } = {}) {
      const isJson = body !== undefined && typeof body !== 'string';
      const response = await fetch(baseUrl + path, {
        method,
        redirect: 'manual',
        headers: {
          ...(token === null ? {} : { authorization: `Bearer ${token}` }),
          ...(isJson ? { 'content-type': 'application/json' } : {}),
          ...headers,
        },
        ...(body === undefined ? {} : { body: isJson ? JSON.stringify(body) : body }),
      });
      const bytes = Buffer.from(await response.arrayBuffer());
      checkAnswer({ method, path, status: response.status, headers: response.headers, bytes });
      const isAnswerJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
      return {
        status: response.status,
        headers: response.headers,
        bytes,
        text: bytes.toString(),
        body: (isAnswerJson ? JSON.parse(bytes.toString()) : {}) as Reply['body'],
      };
    },
    faults: ({ body }) => (body.errors ?? []).map(({ field, reason }) => `${field} ${reason}`),
    async close() {
      await app.close();
      await world.close();
    },
  };
}

async function getToken(baseUrl: string, clientId: string): Promise<string> {
  const response = await fetch(`${baseUrl}/oauth2/direct/v1/token`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`${clientId}:${clientId}-secret-0123456789`).toString('base64')}`,
    },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'messaging.api' }),
  });
  const { access_token: token } = (await response.json()) as { access_token?: string };
  if (token === undefined) throw new Error(`no token: ${response.status}`);
  return token;
}
