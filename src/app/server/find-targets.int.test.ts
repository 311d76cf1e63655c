import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { silentLog } from '../../core/index.ts';
import { createDnsServer, createStaticZone, type DnsRecord, type DnsZone } from '../../lib/dns/index.ts';
import { loadConfig } from '../../platform/index.ts';
import { findTargetsBy } from './find-targets.ts';
import { startHisp } from './start-hisp.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-targets-'));
after(() => rmSync(folder, { recursive: true, maxRetries: 5 }));

const ttlSeconds = 300;
const records: readonly DnsRecord[] = [
  {
    name: 'hook.example',
    type: 'SOA',
    ttlSeconds,
    data: {
      primaryServer: 'ns.hook.example',
      mailbox: 'hostmaster.hook.example',
      serial: 1,
      refreshSeconds: 1,
      retrySeconds: 1,
      expireSeconds: 1,
      minimumSeconds: 60,
    },
  },
  { name: 'receiver.hook.example', type: 'A', ttlSeconds, data: '10.9.8.7' },
];

test('HOOK-03, SEC-11: hosts that outsiders name are asked of the own resolver, never of the few threads of the system', async (t) => {
  const known = createStaticZone('hook.example', records);
  const zone: DnsZone = {
    name: known.name,
    findRecords: (name) =>
      name.startsWith('silent') ? new Promise<never>(() => {}) : known.findRecords(name),
  };
  const dns = await createDnsServer({ host: '127.0.0.1', port: 0, zones: () => [zone] });
  t.after(() => dns.close());
  const config = loadConfig({}, undefined, {
    dataDir: folder,
    'http.port': '0',
    'smtp.port': '0',
    'directory.searchThreads': '0',
    'dns.resolvers': `127.0.0.1:${dns.port}`,
    'dns.attempts': '1',
  });
  const hisp = await startHisp({ config, log: silentLog });
  t.after(() => hisp.close());
  const ended: string[] = [];
  const errorAt = async (host: string): Promise<string> => {
    const { webhook } = await hisp.webhooks.create('client', { url: `https://${host}.hook.example/` });
    const { error } = await hisp.webhooks.sendTest(webhook.id);
    ended.push(host);
    return error;
  };
  const silent = Array.from({ length: 8 }, (_, at) => errorAt(`silent${at}`));
  // Only that resolver knows the name.
  assert.equal(await errorAt('receiver'), 'FETCH_TARGET_FORBIDDEN');
  assert.equal(await errorAt('nobody'), 'FETCH_HOST_UNKNOWN');
  assert.deepEqual(ended, ['receiver', 'nobody']);
  assert.deepEqual(await Promise.all(silent), Array(8).fill('FETCH_HOST_UNKNOWN'));
});

test("the operator's own hosts are found by the system, and so are all where private ones are allowed", async () => {
  const dns = { resolveAddresses: () => Promise.reject(new Error('asked')) };
  const { findAddresses } = findTargetsBy(dns, { allowedHosts: ['localhost'] });
  assert.ok((await findAddresses?.('localhost.'))?.some((address) => /^(?:127\.|::1$)/.test(address)));
  await assert.rejects(async () => findAddresses?.('other.example'), /asked/);
  assert.equal(findTargetsBy(dns, { allowPrivate: true }).findAddresses, undefined);
});
