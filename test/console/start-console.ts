import { mkdtemp, rm } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createManualClock, silentLog, type ManualClock } from '../../src/core/index.ts';
import { loadConfig } from '../../src/platform/index.ts';
import { startHisp, type Hisp } from '../../src/app/server/index.ts';
import { createMigratedDatabase } from '../support/storage.ts';

/** One answer, with everything that a browser sees of it. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly setCookies: readonly string[];
}

export interface Ask {
  readonly body?: unknown;
  /** Over the usual ones of a page of the console; undefined leaves one out. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly cookie?: string | undefined;
}

/** A separate HISP with its console, on the engine under test and a clock that the test moves. */
export interface TestConsole {
  readonly hisp: Hisp;
  readonly url: string;
  readonly clock: ManualClock;
  /** Sends a request as a page of the console would. */
  ask(method: string, target: string, options?: Ask): Promise<Answer>;
  /** The token of a sign-in link of a new operator. */
  makeOperator(name: string, role?: 'help-desk' | 'operator' | 'auditor'): Promise<string>;
  /** Signs a new operator in; returns the cookie, as the browser sends it. */
  signIn(name: string, role?: 'help-desk' | 'operator' | 'auditor'): Promise<string>;
  /** Audit rows of an action, newest first, as `{ actor, outcome, ...objects }`. */
  audited(action: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  close(): Promise<void>;
}

export async function startTestConsole(
  settings: Readonly<Record<string, string>> = {},
): Promise<TestConsole> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'openhisp-console-'));
  const { location } = await createMigratedDatabase();
  const clock = createManualClock(new Date('2026-06-03T08:00:00Z'));
  const hisp = await startHisp({
    config: loadConfig({}, undefined, {
      dataDir,
      ...(location.url === undefined
        ? { 'storage.file': location.file ?? '' }
        : { 'storage.url': location.url }),
      'http.port': '0',
      'smtp.port': '0',
      'directory.searchThreads': '0',
      ...settings,
    }),
    log: silentLog,
    clock,
  });
  const url = hisp.consoleUrl ?? '';
  const ask: TestConsole['ask'] = (method, target, options = {}) =>
    send(url, settings['console.port'] ?? new URL(url).port, method, target, options);

  async function makeOperator(name: string, role: Parameters<TestConsole['makeOperator']>[1] = 'operator') {
    const operator = await hisp.operators.store.create(name, role);
    return (await hisp.operators.links.create(operator.id, name, 'sign-in')).token;
  }

  return {
    hisp,
    url,
    clock,
    ask,
    makeOperator,
    async signIn(name, role) {
      const token = await makeOperator(name, role);
      const answer = await ask('POST', '/admin/v1/sign-in/link', { body: { token } });
      if (answer.status !== 200) throw new Error(`sign-in failed: ${answer.status} ${answer.text}`);
      return cookieOf(answer);
    },
    async audited(action) {
      await hisp.audit.flush();
      const events = await hisp.audit.find({ action, limit: 50 });
      return events.map(({ actor, outcome, objects }) => ({ actor, outcome, ...objects }));
    },
    async close() {
      await hisp.close();
      await rm(dataDir, { recursive: true, maxRetries: 5 });
    },
  };
}

/** `name=value` of the first cookie that an answer sets. */
export function cookieOf({ setCookies: [first = ''] }: Answer): string {
  return first.split(';')[0] ?? '';
}

/** By node:http, since `fetch` lets nobody choose Host, Origin or Sec-Fetch-Site. */
function send(
  url: string,
  port: string,
  method: string,
  target: string,
  { body, headers, cookie }: Ask,
): Promise<Answer> {
  const { host, origin } = new URL(url);
  const isChange = method !== 'GET' && method !== 'HEAD';
  const all = {
    host,
    'sec-fetch-site': 'same-origin',
    ...(isChange && { origin }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(cookie !== undefined && { cookie }),
    ...headers,
  };
  const given = Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { host: '127.0.0.1', port, method, path: target, headers: Object.fromEntries(given), agent: false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          const isJson = String(response.headers['content-type']).includes('json');
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text,
            body: isJson ? (JSON.parse(text) as Answer['body']) : {},
            setCookies: response.headers['set-cookie'] ?? [],
          });
        });
      },
    );
    request.on('error', reject);
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
