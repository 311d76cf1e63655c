import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Log } from '../../src/core/index.ts';
import { createMigratedDatabase, isPostgres, testDatabaseAt, type TestDatabase } from '../support/storage.ts';
import { createDeadline } from '../support/time-scale.ts';
import { createEdgeClient, startSandbox, type EdgeClient, type Sandbox } from '../../src/app/dev/index.ts';

/** A separate sandbox in a temporary folder, on free ports and the engine under test, with everything it logged. */
export interface TestSandbox {
  readonly sandbox: Sandbox;
  readonly folder: string;
  /** The demo client. */
  readonly client: EdgeClient;
  readonly logged: readonly string[];
  /** Of our HISP and of the partner's. */
  readonly databases: readonly TestDatabase[];
  close(): Promise<void>;
}

/** `given` are databases to use instead of new ones of the tests' engine. */
export async function openTestSandbox(
  settings: Readonly<Record<string, string>> = {},
  given: { readonly own?: string } = {},
): Promise<TestSandbox> {
  const folder = await mkdtemp(path.join(tmpdir(), 'openhisp-sandbox-'));
  const logged: string[] = [];
  // On SQLite each HISP makes its own file.
  const made = isPostgres ? await Promise.all([createUrl(), createUrl()]) : [];
  const urls = [given.own ?? made[0], made[1]];
  const sandbox = await startSandbox({
    folder,
    httpPort: 0,
    log: collectLog(logged),
    settings,
    storageUrls: { own: urls[0], partner: urls[1] },
  });
  return {
    sandbox,
    folder,
    client: createEdgeClient(sandbox.credentials),
    logged,
    databases: (['hisp', 'partner'] as const).map((name, index) => {
      const url = urls[index];
      return testDatabaseAt(url === undefined ? { file: path.join(folder, name, 'openhisp.db') } : { url });
    }),
    async close() {
      await sandbox.close();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

const createUrl = async (): Promise<string | undefined> => (await createMigratedDatabase()).location.url;

function collectLog(lines: string[]): Log {
  const write =
    (level: string) =>
    (fields: Readonly<Record<string, unknown>>, text: string): void =>
      void lines.push(
        `${level} ${text} ${JSON.stringify(fields, (_, value) => (value instanceof Error ? (value.stack ?? value.message) : value))}`,
      );
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}

/** Asks until the answer fits, for at most `seconds`; fails with what was seen last. */
export async function waitFor<Value>(
  ask: () => Promise<Value> | Value,
  fits: (value: Value) => boolean,
  seconds = 30,
): Promise<Value> {
  const deadline = createDeadline(seconds * 1000);
  for (;;) {
    const value = await ask();
    if (fits(value)) return value;
    if (deadline.isOver())
      assert.fail(`still not after ${seconds} s: ${JSON.stringify(value)?.slice(0, 2000)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export interface RecipientStatus {
  readonly toDirectAddress: string;
  readonly status: string;
  readonly final: boolean;
  readonly reason: string;
  readonly statusCode: string;
}

export interface StatusAnswer {
  readonly messageStatus: string;
  readonly result: readonly RecipientStatus[];
}

export async function readStatus(client: EdgeClient, messageId: string): Promise<StatusAnswer> {
  return (await client.get(`/messaging/dirmsg/status/${encodeURIComponent(messageId)}`)) as StatusAnswer;
}

export async function send(client: EdgeClient, body: Readonly<Record<string, unknown>>): Promise<string> {
  const answer = (await client.post('/messaging/dirmsg/send_ccda', body)) as {
    status: string;
    messageId: string;
  };
  assert.equal(answer.status, 'OK');
  return answer.messageId;
}
