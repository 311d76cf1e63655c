/** Nodes of the webhook service over one database, and a receiver whose answers the test decides. */
import { randomBytes, randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Kysely } from 'kysely';
import type { Clock } from '../../src/core/index.ts';
import { createGuardedFetch } from '../../src/lib/fetch/index.ts';
import { createLog, createVault, type Storage } from '../../src/platform/index.ts';
import { createAudit, type Audit } from '../../src/service/audit/index.ts';
import {
  createWebhooks,
  type MessageEvent,
  type WebhookOptions,
  type Webhooks,
  type WebhookTables,
} from '../../src/service/webhook/index.ts';
import type { TestDatabase } from '../support/storage.ts';

export interface Received {
  readonly path: string;
  readonly eventId: string;
  readonly attempt: number;
  /** Answers the request; none is answered by itself unless its path says so. */
  answer(status: number): void;
}

/** Answers `/ok` with 204, `/bad` with 500, and leaves everything else waiting. */
export interface Receiver {
  readonly received: Received[];
  /** From now on everything is answered. */
  isOver: boolean;
  at(path: string): readonly Received[];
  url(path: string): string;
  close(): void;
}

export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const path = request.url ?? '';
      const body = JSON.parse(Buffer.concat(chunks).toString()) as { attempt: number };
      const answer = (status: number): void => {
        if (!response.headersSent) response.writeHead(status).end();
      };
      received.push({ path, eventId: String(request.headers['webhook-id']), attempt: body.attempt, answer });
      if (path.startsWith('/ok') || receiver.isOver) answer(204);
      if (path.startsWith('/bad')) answer(500);
    });
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = {
    received,
    isOver: false,
    at: (path) => received.filter((one) => one.path === path),
    url: (path) => `http://127.0.0.1:${port}${path}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
  return receiver;
}

export interface Node {
  readonly storage: Storage;
  readonly webhooks: Webhooks;
  readonly audit: Audit;
  readonly logLines: readonly string[];
  close(): Promise<void>;
}

export const vaultKey = randomBytes(32);

export interface NodeOptions extends Partial<WebhookOptions> {
  /** The time that leases see. */
  readonly storageClock?: Clock;
  readonly postTimeoutMs?: number;
}

/** A node over `database`; it sends nothing before `webhooks.start()`. */
export async function openNode(database: TestDatabase, options: NodeOptions = {}): Promise<Node> {
  const { storageClock, postTimeoutMs = 60_000, ...more } = options;
  const storage = await database.open(storageClock === undefined ? {} : { clock: storageClock });
  await storage.migrate();
  const clock = more.clock ?? { now: () => new Date() };
  const logLines: string[] = [];
  const log = createLog({ level: 'debug', isReadable: false, write: (line) => logLines.push(line) });
  const vault = createVault(vaultKey);
  const audit = createAudit({ storage, vault, clock, log });
  const webhooks = createWebhooks({
    storage,
    vault,
    clock,
    log,
    audit,
    post: createGuardedFetch({ timeoutMs: postTimeoutMs, maxBytes: 10_000, allowPrivate: true }),
    isLoopbackAllowed: true,
    idleMs: 20,
    random: () => 0.5,
    ...more,
  });
  return {
    storage,
    webhooks,
    audit,
    logLines,
    async close() {
      await webhooks.close();
      await audit.close();
      await storage.close();
    },
  };
}

/** Stores `count` events of one client in one transaction. */
export async function notify({ storage, webhooks }: Node, clientId: string, count = 1): Promise<void> {
  const event = (): MessageEvent => ({
    clientId,
    eventType: 'message.processed',
    at: new Date(),
    messageId: `urn:uuid:${randomUUID()}`,
    fromDirectAddress: 'alice@direct.alpha.example',
    toDirectAddress: 'bob@direct.beta.example',
    status: 'processed',
    statusCode: '2.0.0',
    statusText: 'ok',
  });
  await storage.transaction(async (tx: Kysely<unknown>) => {
    for (let done = 0; done < count; done++) await webhooks.notifyIn(tx, event());
  });
}

export const queueOf = ({ storage }: Node) =>
  storage.tables<WebhookTables>().selectFrom('webhook_notification').selectAll().execute();
export const attemptsOf = ({ storage }: Node) =>
  storage.tables<WebhookTables>().selectFrom('webhook_attempt').selectAll().orderBy('attempted_at').execute();
export const settledOf = ({ audit }: Node, eventId: string) =>
  audit
    .find({ action: 'webhook.settled', limit: 1000 })
    .then((found) => found.filter(({ objects }) => objects['eventId'] === eventId));
