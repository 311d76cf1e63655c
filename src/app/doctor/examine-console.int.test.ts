import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createMigratedDatabase } from '../../../test/support/storage.ts';
import { systemClock } from '../../core/index.ts';
import { loadConfig, openStorage, type Storage } from '../../platform/index.ts';
import type { DoctorOptions } from './doctor-options.ts';
import { examineConsole } from './examine-console.ts';

describe('the doctor examines the console', () => {
  let folder: string;
  let storage: Storage;
  let server: Server;
  let status = 200;
  let askedHosts: (string | undefined)[] = [];

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'openhisp-doctor-console-'));
    storage = await openStorage((await createMigratedDatabase()).location);
    server = createServer((request, response) => {
      askedHosts.push(request.headers.host);
      response.writeHead(status).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  });
  after(async () => {
    await new Promise((resolve) => server.close(resolve));
    await storage.close();
    await rm(folder, { recursive: true, maxRetries: 5 });
  });

  const port = (): number => (server.address() as AddressInfo).port;

  async function examine(settings: Readonly<Record<string, string>>): Promise<readonly string[]> {
    const config = loadConfig({}, undefined, { dataDir: folder, ...settings });
    const findings = await examineConsole({
      config,
      storage,
      clock: systemClock,
      timeoutMs: 2000,
    } as DoctorOptions);
    return findings
      .map(({ severity, text }) => `${severity}: ${text}`)
      .filter((text) => !text.includes('role operator'));
  }

  it('says that it answers, or that its pages are not built', async () => {
    const settings = { 'console.port': String(port()) };
    askedHosts = [];
    assert.deepEqual(await examine(settings), [`ok: The console answers at 127.0.0.1 port ${port()}.`]);
    // By a name that the console serves.
    assert.deepEqual(askedHosts, [`localhost:${port()}`]);
    status = 503;
    assert.deepEqual(await examine(settings), [
      'warning: The pages of the console are not built: only its API answers.',
    ]);
    status = 200;
  });

  it('says that it does not answer, and why', async () => {
    const closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', () => resolve()));
    const unused = (closed.address() as AddressInfo).port;
    await new Promise((resolve) => closed.close(resolve));
    assert.deepEqual(await examine({ 'console.port': String(unused) }), [
      `warning: The console does not answer at 127.0.0.1 port ${unused}: ECONNREFUSED.`,
    ]);
  });

  it('warns of a listener beyond this machine, and of a proxy whose address is not known', async () => {
    const exposed = {
      'console.port': String(port()),
      'console.host': '0.0.0.0',
      'console.publicUrl': 'https://console.example.org',
      'console.isBehindTlsProxy': 'true',
    };
    askedHosts = [];
    const answers = `ok: The console answers at 0.0.0.0 port ${port()}.`;
    const reachable =
      'note: The console listens on 0.0.0.0: whoever reaches it can try to sign in, by passkey or link.';
    assert.deepEqual(await examine(exposed), [
      answers,
      reachable,
      'warning: Behind the TLS proxy all sign-ins seem to come from one address: failures of one caller lock out everybody.',
    ]);
    assert.deepEqual(askedHosts, ['console.example.org']);
    assert.deepEqual(await examine({ ...exposed, 'console.trustedProxies': '192.0.2.7' }), [
      answers,
      reachable,
    ]);
  });

  it('says nothing of one that is off', async () => {
    assert.deepEqual(await examine({ 'console.isServing': 'false' }), ['note: The console is disabled.']);
  });
});
