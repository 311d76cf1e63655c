/**
 * A HISP's messaging and delivery over a storage, for the test that kills it. The agent lets messages pass
 * as they are; with `--stuck` it never finds a recipient's certificates, so that a message stays in work.
 * Says what it did on standard output: one JSON object a line.
 */
import { randomUUID } from 'node:crypto';
import { silentLog, systemClock } from '../../src/core/index.ts';
import type { DnsResolver } from '../../src/lib/dns/index.ts';
import { createSmtpClient } from '../../src/lib/smtp/index.ts';
import { createVault, openStorage, type StorageOptions } from '../../src/platform/index.ts';
import { createAudit } from '../../src/service/audit/index.ts';
import type { Agent } from '../../src/service/agent/index.ts';
import { createDelivery } from '../../src/service/delivery/index.ts';
import { createMessaging, type Messaging } from '../../src/service/messaging/index.ts';
import { createOauth } from '../../src/service/oauth/index.ts';
import { createTrust } from '../../src/service/trust/index.ts';
import { createWebhooks } from '../../src/service/webhook/index.ts';
import { messagingRoutes } from '../../src/app/http/messaging/index.ts';
import { createHttpApp } from '../../src/app/http/index.ts';
import { createMetrics, loadConfig } from '../../src/platform/index.ts';
import { alice, openPlain } from './start-messaging.ts';

const [location = '{}', smtpPort = '', mode = ''] = process.argv.slice(2);
const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

const storage = await openStorage(JSON.parse(location) as StorageOptions);
await storage.migrate();
const vault = createVault(Buffer.alloc(32, 7));
const clock = systemClock;
const log = silentLog;
const audit = createAudit({ storage, clock, log });
const oauth = createOauth({ storage, clock, audit });
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
const agent: Agent = {
  resolveRecipients: async (_from, recipients) =>
    mode === '--stuck'
      ? never
      : { usable: recipients.map((address) => ({ address, certificates: [] })), refused: [] },
  seal: async (_from, message) => message,
  openIncoming: async (envelope, options = {}) =>
    mode === '--stuck'
      ? never
      : { ...(await openPlain(envelope, options)), signerFingerprint: '', signerPath: [] },
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
const smtp = createSmtpClient({ hostname: 'hisp.alpha.example' });
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
  leaseMs: 1_000,
  lifetimeMs: 3_600_000,
  retryWaitsMs: [50],
  keepAttemptsMs: 86_400_000,
  idleMs: 20,
  onOutcome: async (tx, outcomes) => {
    await messaging.onDeliveryOutcome(tx, outcomes);
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
  mailLeaseMs: 1000,
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
say({ baseUrl });
