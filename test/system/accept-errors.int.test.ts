/** A connection that a listener cannot accept, as without a free file descriptor, ends neither it nor the process. */
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Server } from 'node:net';
import { test } from 'node:test';
import { startMetrics } from '../../src/app/server/start-metrics.ts';
import { createDnsServer } from '../../src/lib/dns/index.ts';
import { createLdapResponder } from '../../src/lib/ldap/index.ts';
import { createMetrics } from '../../src/platform/index.ts';
import type { Closable } from '../../src/core/index.ts';

const place = { host: '127.0.0.1', port: 0 };
const told: unknown[] = [];
const onError = (error: unknown): void => void told.push(error);

const listeners: Readonly<Record<string, () => Promise<Closable>>> = {
  DNS: () => createDnsServer({ ...place, zones: () => [], onError }),
  LDAP: () => createLdapResponder({ ...place, findCertificates: () => [], onError }),
  metrics: () => startMetrics(createMetrics(), place),
};

for (const [name, start] of Object.entries(listeners))
  test(`${name}: an accept that fails concerns no other connection`, async (t) => {
    const servers: Server[] = [];
    const take = (message: unknown): void => void servers.push((message as { server: Server }).server);
    subscribe('tracing:net.server.listen:asyncEnd', take);
    const listener = await start();
    unsubscribe('tracing:net.server.listen:asyncEnd', take);
    t.after(() => listener.close());
    const [server] = servers;
    assert.ok(server !== undefined);
    const error = Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' });
    server.emit('error', error);
    assert.equal(server.listening, true);
    assert.equal(told.includes(error), name !== 'metrics', 'its owner is told');
  });
