/** A HISP whose PostgreSQL is silent, or away at the start, or has another clock: what the readiness, requests and the log say, and when. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { startHisp, type Hisp } from '../../src/app/server/index.ts';
import type { Log } from '../../src/core/index.ts';
import { loadConfig } from '../../src/platform/index.ts';
import { startPostgres, type RunningPostgres } from '../support/postgres.ts';
import { freePort, waitUntil } from '../support/processes.ts';
import { createDatabaseAt, needsBothEngines } from '../support/storage.ts';
import { createTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

describe('a database that does not answer', needsBothEngines(), () => {
  let folder: string;
  let postgres: RunningPostgres;
  let proxy: TcpProxy;
  const lines: string[] = [];
  const noting = (_fields: object, text?: string): void => void lines.push(text ?? '');
  const log = { debug() {}, info: noting, warn: noting, error: noting } as unknown as Log;

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'openhisp-away-'));
    postgres = await startPostgres();
    proxy = await createTcpProxy(await createDatabaseAt(postgres, 'away'));
  });
  after(async () => {
    await proxy.close();
    await postgres.stop();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });

  function start(name: string, port: number, more: Readonly<Record<string, string>> = {}, clockAheadMs = 0) {
    const config = loadConfig({
      OPENHISP_DATA_DIR: path.join(folder, name),
      OPENHISP_STORAGE_URL: proxy.url,
      OPENHISP_VAULT_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
      OPENHISP_HTTP_PORT: String(port),
      OPENHISP_SMTP_PORT: '0',
      OPENHISP_DNS_RESOLVERS: '127.0.0.1:9',
      ...more,
    });
    const clock = { now: () => new Date(Date.now() + clockAheadMs) };
    return startHisp({ config, log, clock, onWaiting: (text) => void lines.push(text) });
  }

  it('is waited for at the start, which says so, and readiness fails meanwhile', async (t) => {
    const port = await freePort();
    proxy.stallNow();
    await assert.rejects(start('hasty', await freePort(), { OPENHISP_STORAGE_START_WAIT_SECONDS: '0' }), {
      code: 'PLATFORM_STORAGE_UNAVAILABLE',
    });
    const starting = start('patient', port);
    t.after(async () => (await starting).close());
    const url = `http://127.0.0.1:${port}`;
    for (;;) {
      const answer = await fetch(`${url}/health/ready`).catch(() => undefined);
      if (answer === undefined) {
        await wait(200);
        continue;
      }
      assert.equal(answer.status, 503);
      assert.match(await answer.text(), /waits for its database/);
      break;
    }
    assert.equal((await fetch(`${url}/health/live`)).status, 200);
    assert.equal((await fetch(`${url}/openapi.json`)).status, 503);
    assert.ok(lines.includes('waits for the database'));
    assert.ok(lines.some((line) => line.startsWith('the start waits for the database')));
    proxy.relay();
    await starting;
    assert.ok(lines.includes('the database answers'));
    await isReady(url);
  });

  it('a wrong name of the database ends the start at once', async () => {
    const url = postgres.urlOf('nowhere');
    await assert.rejects(start('wrong', await freePort(), { OPENHISP_STORAGE_URL: url }), /nowhere/);
  });

  it('makes a node unready within 5 s, until a write has ended, and its requests fail fast', async (t) => {
    const node = await start('silent', 0);
    t.after(() => node.close());
    const ready = async (): Promise<number> => (await fetch(`${node.baseUrl}/health/ready`)).status;
    await isReady(node.baseUrl);
    proxy.stallNow();
    const stalledMs = performance.now();
    let unreadyMs = 0;
    const late: number[] = [];
    // Longer than until the driver gives up, so that the next write hangs as well.
    while (performance.now() - stalledMs < 24_000) {
      const status = await ready();
      if (unreadyMs === 0 && status === 503) {
        unreadyMs = performance.now() - stalledMs;
        await refusesFast(node);
      } else if (unreadyMs !== 0) late.push(status);
      await wait(100);
    }
    t.diagnostic(`unready after ${Math.round(unreadyMs)} ms; asked ${late.length} times after that`);
    assert.ok(unreadyMs > 0 && unreadyMs < 5_500, `${unreadyMs} ms`);
    assert.deepEqual([...new Set(late)], [503]);
    proxy.relay();
    const relayedMs = performance.now();
    await isReady(node.baseUrl);
    t.diagnostic(`ready ${Math.round(performance.now() - relayedMs)} ms after the network was back`);
  });

  async function isReady(url: string): Promise<void> {
    await waitUntil(async () => (await fetch(`${url}/health/ready`)).status === 200, { timeoutMs: 30_000 });
  }

  async function refusesFast(node: Hisp): Promise<void> {
    for (const url of [`${node.baseUrl}/directory/v1/providers`, `${node.consoleUrl}/admin/v1/session`]) {
      const beganMs = performance.now();
      const answer = await fetch(url, { headers: { authorization: 'Bearer x' } });
      assert.equal(answer.status, 503, url);
      assert.match(await answer.text(), /The database does not answer/);
      assert.ok(performance.now() - beganMs < 1_000);
    }
    assert.notEqual((await fetch(`${node.consoleUrl}/`)).status, 503);
  }

  it('a node whose clock differs is degraded: in readiness, log and metrics', async (t) => {
    const node = await start('fast', 0, {}, 3_700_000);
    t.after(() => node.close());
    let text = '';
    for (let tries = 0; tries < 100 && !text.includes('"clock"'); tries++) {
      text = await (await fetch(`${node.baseUrl}/health/ready`)).text();
      await wait(100);
    }
    assert.match(text, /This node's clock is 3700 s ahead of the database's/);
    assert.ok(lines.some((line) => line.includes('3700 s ahead')));
    const metrics = await (await fetch(`${node.baseUrl}/metrics`)).text();
    assert.match(metrics, /openhisp_clock_difference_seconds 3(699|700)/);
  });
});
