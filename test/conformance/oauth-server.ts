import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after } from 'node:test';
import { createManualClock, silentLog, type ManualClock } from '../../src/core/index.ts';
import { createHttpApp, type HispFastify, type ReadinessChecks } from '../../src/app/http/index.ts';
import { createLog, createMetrics, createVault, loadConfig, type Storage } from '../../src/platform/index.ts';
import { createDocumentCheck } from '../support/document-check.ts';
import { openTestStorage } from '../support/storage.ts';
import { createAudit, type Audit } from '../../src/service/audit/index.ts';
import {
  createOauth,
  type AttemptLimits,
  type IssuedCredentials,
  type NewClient,
  type Oauth,
} from '../../src/service/oauth/index.ts';

/** An answer, read whole. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Record<string, unknown>;
}

/** The HTTP shell with the authorization server over a real socket and a real database, and one route per scope. */
export interface OauthServer {
  readonly url: string;
  readonly dataDir: string;
  readonly clock: ManualClock;
  readonly storage: Storage;
  readonly audit: Audit;
  readonly oauth: Oauth;
  readonly app: HispFastify;
  /** Everything that was logged. */
  readonly log: string[];
  readonly client: IssuedCredentials;
  call(path: string, init?: RequestInit): Promise<Answer>;
  /** Posts a form to the token endpoint; the client's credentials unless others (or none) are given. */
  token(form: string | Record<string, string>, headers?: Record<string, string | undefined>): Promise<Answer>;
  /** A valid access token. */
  accessToken(scope?: string): Promise<string>;
}

export interface ServerOptions {
  readonly limits?: AttemptLimits;
  readonly acceptsQueryParameters?: boolean;
  readonly client?: Partial<NewClient>;
  readonly env?: Record<string, string>;
  readonly routes?: readonly ((app: HispFastify) => void)[];
  readonly closeGraceMs?: number;
  readonly checks?: ReadinessChecks;
}

const generous: AttemptLimits = { attemptsPerMinute: 10_000, tokensPerSecond: 1000, tokensBurst: 1000 };

/** Starts a server that ends with the test file. */
export async function startOauthServer(options: ServerOptions = {}): Promise<OauthServer> {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'openhisp-oauth-'));
  const config = loadConfig({
    OPENHISP_DATA_DIR: dataDir,
    PORT: '0',
    ...options.env,
  });
  const clock = createManualClock(new Date('2026-05-01T12:00:00Z'));
  const log: string[] = [];
  const storage = await openTestStorage();
  const vault = createVault(Buffer.alloc(32, 1));
  const audit = createAudit({ storage, vault, clock, log: silentLog });
  const oauth = createOauth({
    storage,
    vault,
    clock,
    audit,
    limits: options.limits ?? generous,
    acceptsQueryParameters: options.acceptsQueryParameters ?? false,
  });
  const client = await oauth.clients.create({
    name: 'Test',
    scopes: ['provider-directory', 'messaging.api'],
    ...options.client,
  });
  const app = await createHttpApp({
    config: config.http,
    log: createLog({ level: 'debug', isReadable: false, write: (line) => void log.push(line) }),
    oauth,
    audit,
    metrics: createMetrics(),
    checks: { storage: () => storage.check(), ...options.checks },
    routes: [scopedRoutes, ...(options.routes ?? [])],
    ...(options.closeGraceMs !== undefined && { closeGraceMs: options.closeGraceMs }),
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const checkAnswer = createDocumentCheck(app.swagger());
  after(async () => {
    await app.close();
    await audit.close();
    await storage.close();
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
  });

  async function call(address: string, init?: RequestInit): Promise<Answer> {
    const response = await fetch(url + address, init);
    const bytes = Buffer.from(await response.arrayBuffer());
    const { status, headers } = response;
    checkAnswer({ method: init?.method ?? 'GET', path: address, status, headers, bytes });
    return readAnswer(response, bytes.toString());
  }
  const token: OauthServer['token'] = (form, headers = {}) =>
    call('/oauth2/direct/v1/token', {
      method: 'POST',
      headers: defined({
        'content-type': 'application/x-www-form-urlencoded',
        authorization: basic(client),
        ...headers,
      }),
      body: typeof form === 'string' ? form : new URLSearchParams(form).toString(),
    });
  return {
    url,
    dataDir,
    clock,
    storage,
    audit,
    oauth,
    app,
    log,
    client,
    call,
    token,
    accessToken: async (scope) => {
      const answer = await token({
        grant_type: 'client_credentials',
        ...(scope === undefined ? {} : { scope }),
      });
      return String(answer.body['access_token']);
    },
  };
}

/** Plain base64 of `id:secret`, as the specifications show it. */
export function basic(client: { readonly clientId: string; readonly clientSecret: string }): string {
  return `Basic ${Buffer.from(`${client.clientId}:${client.clientSecret}`).toString('base64')}`;
}

function scopedRoutes(app: HispFastify): void {
  app.get('/directory-route', { onRequest: app.requireScope('provider-directory') }, async (request) => ({
    clientId: request.client.clientId,
  }));
  app.get('/messaging-route', { onRequest: app.requireScope('messaging.api') }, async (request) => ({
    clientId: request.client.clientId,
  }));
}

function readAnswer(response: Response, text: string): Answer {
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson && text !== '' ? (JSON.parse(text) as Record<string, unknown>) : {},
  };
}

function defined(headers: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
