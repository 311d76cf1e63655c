/**
 * A HISP's messaging and delivery over a storage, for the test that stops it. The agent lets messages pass as they are;
 * with `--stop-at=PHASE` the process stops itself (SIGSTOP) there, once. Says what it did on standard output: one JSON object a line.
 */
import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { flushCompileCache } from 'node:module';
import { silentLog, systemClock, type Log } from '../../src/core/index.ts';
import type { DnsResolver } from '../../src/lib/dns/index.ts';
import { createSmtpClient, type SmtpClient } from '../../src/lib/smtp/index.ts';
import { createVault, openStorage, type StorageOptions } from '../../src/platform/index.ts';
import { createAudit } from '../../src/service/audit/index.ts';
import type { Agent } from '../../src/service/agent/index.ts';
import { createDelivery } from '../../src/service/delivery/index.ts';
import { loadMessaging, type Messaging } from '../../src/service/messaging/index.ts';
import { createOauth } from '../../src/service/oauth/index.ts';
import { createTrust } from '../../src/service/trust/index.ts';
import { createWebhooks } from '../../src/service/webhook/index.ts';
import { messagingRoutes } from '../../src/app/http/messaging/index.ts';
import { createHttpApp } from '../../src/app/http/index.ts';
import { createMetrics, loadConfig } from '../../src/platform/index.ts';
import { alice, openPlain } from './start-messaging.ts';

const [location = '{}', smtpPort = '', mode = ''] = process.argv.slice(2);
const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

// PostgreSQL ends the transaction of a process that stands still after five seconds then.
const storage = await openStorage({ busyTimeoutMs: 5_000, ...(JSON.parse(location) as StorageOptions) });
await storage.migrate();
const vault = createVault(Buffer.alloc(32, 7));
const clock = systemClock;
const log: Log = { ...silentLog, warn: (_fields, text) => say({ warning: text }) };
/** Of deliveries and of mail. */
const leaseMs = Number(process.env['OPENHISP_TEST_LEASE_MS'] ?? 4_000);
let phaseToStopAt = /^--stop-at=(.*)/.exec(mode)?.[1];

/**
 * The program waits here until it is resumed. In a separate turn: a transaction on SQLite runs within one turn, and a process that is
 * stopped inside it keeps the lock of the whole file from the other process. (Only one process serves with SQLite.)
 */
async function stopAt(phase: 'claim' | 'seal' | 'data' | 'settle' | 'store' | 'judge'): Promise<void> {
  if (phase !== phaseToStopAt) return;
  phaseToStopAt = undefined;
  await nextTurn();
  process.kill(process.pid, 'SIGSTOP');
}
const audit = createAudit({ storage, vault, clock, log });
const oauth = createOauth({ storage, vault, clock, audit });
const trust = createTrust({ storage, vault, clock, audit });
await trust.addDomain('direct.alpha.example');
await trust.putAddress(alice);
if ((await oauth.clients.list()).length === 0)
  await oauth.clients.create({
    clientId: 'clinic',
    clientSecret: 'clinic-secret-0123456789',
    name: 'clinic',
    scopes: ['messaging.api'],
    directAddresses: [alice],
  });

const never = new Promise<never>(() => {});
let opened = 0;
const agent: Agent = {
  async resolveRecipients(_from, recipients) {
    await stopAt('claim');
    return { usable: recipients.map((address) => ({ address, certificates: [] })), refused: [] };
  },
  async seal(_from, message) {
    await stopAt('seal');
    return message;
  },
  async openIncoming(envelope, options = {}) {
    // Before the 250 there is no lease: what is to be stopped at goes to the spool first.
    if (phaseToStopAt === 'judge' && opened++ === 0) return never;
    const opening = await openPlain(envelope, options);
    await stopAt('judge');
    return { ...opening, signerFingerprint: '', signerPath: [] };
  },
  close: async () => {},
} as Agent;
const dns = {
  resolveMx: async () => ({ status: 'nodata', records: [], ttlSeconds: 1, transport: 'udp' }),
  resolveAddresses: async () => ({
    status: 'found',
    records: ['127.0.0.1'],
    ttlSeconds: 1,
    transport: 'udp',
  }),
} as unknown as DnsResolver;

const webhooks = createWebhooks({
  storage,
  vault,
  clock,
  log,
  audit,
  post: async () => ({ status: 200 }),
});
const client = createSmtpClient({ hostname: 'hisp.alpha.example' });
const smtp: SmtpClient = {
  ...client,
  async send(mail) {
    const outcome = await client.send({
      ...mail,
      async beforeData() {
        await mail.beforeData?.();
        await stopAt('data');
      },
    });
    await stopAt('settle');
    return outcome;
  },
};
const createMessaging = await loadMessaging();
const delivery = await createDelivery({
  storage,
  vault,
  clock,
  log,
  agent,
  dns,
  smtp,
  peerPort: Number(smtpPort),
  allowsPrivateHosts: true,
  concurrency: 8,
  leaseMs,
  lifetimeMs: 3_600_000,
  retryWaitsMs: [50],
  probeWaitsMs: [1_000],
  keepAttemptsMs: 86_400_000,
  idleMs: 20,
  onOutcome: async (tx, outcomes) => {
    await messaging.onDeliveryOutcome(tx, outcomes);
    await stopAt('store');
    for (const { outcome, kind } of outcomes) storage.afterCommit(tx, () => say({ outcome, kind }));
  },
});
const messaging: Messaging = createMessaging({
  storage,
  vault,
  clock,
  log,
  audit,
  trust,
  delivery,
  webhooks,
  agent,
  clients: oauth.clients,
  directLimits: { maxBytes: 100_000, slots: 10, share: 10, budgetMs: 200 },
  mailLeaseMs: leaseMs,
  identity: { hostname: 'hisp.alpha.example', sourceOid: '1.2.3' },
  idleMs: 20,
});
await webhooks.start();
await messaging.start();
const app = await createHttpApp({
  config: loadConfig({}).http,
  log,
  oauth,
  metrics: createMetrics(),
  routes: [messagingRoutes({ messaging, webhooks })],
});
const baseUrl = await app.listen({ host: '127.0.0.1', port: 0 });
process.on('message', (mail: { from: string; to: string[]; message: string }) => void take(mail));

async function take(mail: { from: string; to: string[]; message: string }): Promise<void> {
  await messaging.acceptInbound({
    mailFrom: mail.from,
    recipients: mail.to,
    message: Buffer.from(mail.message),
  });
  say({ spooled: randomUUID() });
}
// It is killed before Node would write the cache.
flushCompileCache();
say({ baseUrl });
