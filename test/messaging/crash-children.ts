/** HISPs in separate processes over one database, for tests that kill or stop them (crash-child.ts). */
import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { TestDatabase } from '../support/storage.ts';
import { waitUntil } from './start-messaging.ts';

export interface CrashChild {
  readonly process: ChildProcess;
  readonly said: Record<string, string>[];
  kill(): Promise<void>;
  call(
    method: string,
    address: string,
    body?: unknown,
  ): Promise<{ status: number; body: Record<string, unknown> }>;
}

export interface CrashChildren {
  start(...flags: string[]): Promise<CrashChild>;
  /** Also those that did not come up, so that none keeps the test from ending. */
  killAll(): void;
}

const program = path.join(import.meta.dirname, 'crash-child.ts');

/** `smtpPort` is that of the peer that gets their mail. */
export function createCrashChildren(database: TestDatabase, smtpPort: number): CrashChildren {
  const children: ChildProcess[] = [];
  async function start(...flags: string[]): Promise<CrashChild> {
    const child = fork(program, [JSON.stringify(database.location), String(smtpPort), ...flags], {
      silent: true,
    });
    children.push(child);
    const said: Record<string, string>[] = [];
    if (child.stdout !== null)
      createInterface({ input: child.stdout }).on('line', (line) =>
        said.push(JSON.parse(line) as Record<string, string>),
      );
    let complaint = '';
    child.stderr?.on('data', (chunk: Buffer) => (complaint += chunk.toString()));
    const begun = () => said.find((line) => 'baseUrl' in line);
    await waitUntil(() => begun() !== undefined || child.exitCode !== null, 'the child');
    assert.equal(child.exitCode, null, complaint);
    const baseUrl = begun()?.['baseUrl'] ?? '';
    const token = await getToken(baseUrl);
    const running: CrashChild = {
      process: child,
      said,
      async kill() {
        if (child.exitCode !== null || child.signalCode !== null) return;
        child.kill('SIGKILL');
        await once(child, 'exit');
      },
      async call(method, address, body) {
        const response = await fetch(baseUrl + address, {
          method,
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
        return { status: response.status, body: (await response.json()) as Record<string, unknown> };
      },
    };
    return running;
  }

  return {
    start,
    killAll() {
      for (const child of children) child.kill('SIGKILL');
    },
  };
}

async function getToken(baseUrl: string): Promise<string> {
  const response = await fetch(`${baseUrl}/oauth2/direct/v1/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from('clinic:clinic-secret-0123456789').toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'messaging.api' }),
  });
  return ((await response.json()) as { access_token: string }).access_token;
}
