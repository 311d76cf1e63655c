/** The delivery service on real storage, DNS and SMTP, with peers that behave as the test wants. */
import { createServer, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import {
  createManualClock,
  type Clock,
  type Closable,
  type Log,
  type ManualClock,
} from '../../src/core/index.ts';
import {
  createDnsResolver,
  createDnsServer,
  createStaticZone,
  type DnsRecord,
} from '../../src/lib/dns/index.ts';
import { createSmtpClient, createSmtpServer, type SmtpReply } from '../../src/lib/smtp/index.ts';
import { parseDirectAddress, type DirectAddress } from '../../src/lib/values/index.ts';
import { createVault, type Storage, type Vault } from '../../src/platform/index.ts';
import { AgentError, type Agent } from '../../src/service/agent/index.ts';
import {
  createDelivery,
  type Delivery,
  type DeliveryOptions,
  type DeliveryOutcome,
  type DeliveryKind,
  type DeliveryTables,
} from '../../src/service/delivery/index.ts';
import { freePort } from '../support/processes.ts';
import { openTestStorage } from '../support/storage.ts';

export const from = parseDirectAddress('sender@direct.own.example');

export interface ReceivedMail {
  readonly mailFrom: string;
  readonly recipients: readonly string[];
  readonly text: string;
}

/** The peer's answer to one recipient. */
export type AnswerRecipient = (address: string) => 'accept' | SmtpReply | Promise<'accept' | SmtpReply>;

/** Mail servers by their address: a peer that takes mail, or a function that talks to the socket. */
export type PeerBehaviour = 'take' | ((socket: Socket) => void);

export interface DeliveryWorld {
  readonly storage: Storage;
  readonly db: Kysely<DeliveryTables>;
  readonly clock: ManualClock;
  /** Mail accepted by the peers, in order. */
  readonly mail: ReceivedMail[];
  /** Connections by the peer's address. */
  readonly connections: Map<string, number>;
  readonly sealed: { recipients: readonly string[] }[];
  readonly logLines: string[];
  /** Of the resolver that knows the domains. */
  readonly dnsPort: number;
  answer: AnswerRecipient;
  /** Whether the sender has a key to sign with. */
  hasKey: boolean;
  /** Puts `domain` into the DNS, with mail servers at these addresses in order of preference; without one, a null MX. */
  addDomain(domain: string, ...addresses: readonly string[]): void;
  startPeer(address: string, behaviour: PeerBehaviour): Promise<Closable>;
  start(options?: StartOptions): Promise<RunningDelivery>;
  close(): Promise<void>;
}

export interface StartOptions extends Partial<DeliveryOptions> {
  /** Called inside the transaction that stores an outcome. */
  readonly onEach?: (outcome: DeliveryOutcome) => void;
  /** Longest silence of a peer. */
  readonly smtpTimeoutMs?: number;
}

export interface RunningDelivery {
  readonly delivery: Delivery;
  readonly outcomes: DeliveryOutcome[];
  enqueue(
    id: string,
    recipients: readonly string[],
    options?: { readonly kind?: DeliveryKind; readonly text?: string },
  ): Promise<void>;
  close(): Promise<void>;
}

/** `steady` moves leases and due times by hand too; otherwise they follow the machine. */
export async function startDeliveryWorld({ isSteady = false } = {}): Promise<DeliveryWorld> {
  const clock = createManualClock(new Date('2026-06-01T12:00:00Z'));
  const storage = await openTestStorage(isSteady ? { clock } : {});
  const vault = createVault(Buffer.alloc(32, 7));
  const zones = new Map<string, DnsRecord[]>();
  const dns = await createDnsServer({
    host: '127.0.0.1',
    port: 0,
    zones: () => [...zones].map(([domain, records]) => createStaticZone(domain, records)),
  });
  const closables: Closable[] = [];
  const mail: ReceivedMail[] = [];
  const connections = new Map<string, number>();
  const sealed: { recipients: readonly string[] }[] = [];
  const logLines: string[] = [];
  // One port for all peers, which differ by their loopback address.
  const peerPort = await freePort();

  const world: DeliveryWorld = {
    storage,
    db: storage.tables<DeliveryTables>(),
    clock,
    mail,
    connections,
    sealed,
    logLines,
    dnsPort: dns.port,
    answer: () => 'accept',
    hasKey: true,
    addDomain(domain, ...addresses) {
      zones.set(domain, zoneOf(domain, addresses));
    },
    async startPeer(host, behaviour) {
      const peer =
        behaviour === 'take'
          ? await createSmtpServer({
              host,
              port: peerPort,
              hostname: 'mx.peer.example',
              handlers: {
                onRecipient: async (one) => world.answer(one),
                onMessage: async ({ mailFrom, recipients, message: bytes }) =>
                  void mail.push({ mailFrom, recipients, text: Buffer.from(bytes).toString() }),
              },
            })
          : await startScripted(host, peerPort, (socket) => {
              connections.set(host, (connections.get(host) ?? 0) + 1);
              behaviour(socket);
            });
      closables.push(peer);
      return peer;
    },
    start: (options = {}) => start(world, { vault, dnsPort: dns.port, peerPort }, options),
    async close() {
      await Promise.all(closables.map((closable) => closable.close()));
      await dns.close();
      await storage.close();
    },
  };
  return world;
}

function zoneOf(domain: string, addresses: readonly string[]): DnsRecord[] {
  const soa = {
    primaryServer: 'ns.test',
    mailbox: 'h.test',
    serial: 1,
    refreshSeconds: 1,
    retrySeconds: 1,
    expireSeconds: 1,
    minimumSeconds: 0,
  };
  const records: DnsRecord[] = [{ name: domain, type: 'SOA', ttlSeconds: 0, data: soa }];
  if (addresses.length === 0)
    records.push({ name: domain, type: 'MX', ttlSeconds: 0, data: { priority: 0, exchange: '' } });
  for (const [index, one] of addresses.entries()) {
    const exchange = `mx${index}.${domain}`;
    records.push({ name: domain, type: 'MX', ttlSeconds: 0, data: { priority: index, exchange } });
    records.push({ name: exchange, type: 'A', ttlSeconds: 0, data: one });
  }
  return records;
}

async function startScripted(
  host: string,
  port: number,
  behaviour: (socket: Socket) => void,
): Promise<Closable> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    behaviour(socket);
  });
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  return {
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

interface Dependencies {
  readonly vault: Vault;
  readonly dnsPort: number;
  readonly peerPort: number;
}

async function start(
  world: DeliveryWorld,
  { vault, dnsPort, peerPort }: Dependencies,
  { onEach, smtpTimeoutMs = 20_000, ...options }: StartOptions,
): Promise<RunningDelivery> {
  const { storage } = world;
  const outcomes: DeliveryOutcome[] = [];
  const dns = createDnsResolver({ servers: [{ host: '127.0.0.1', port: dnsPort }], cache: false });
  const smtp = createSmtpClient({
    hostname: 'mx.own.example',
    timeoutMs: smtpTimeoutMs,
    messageReplyTimeoutMs: smtpTimeoutMs,
  });
  const delivery = await createDelivery({
    storage,
    vault,
    clock: world.clock satisfies Clock,
    log: logInto(world.logLines),
    agent: createPlainAgent(world),
    dns,
    smtp,
    peerPort,
    allowsPrivateHosts: options.allowsPrivateHosts ?? true,
    concurrency: 8,
    leaseMs: 60_000,
    lifetimeMs: 3_600_000,
    retryWaitsMs: [60_000],
    probeWaitsMs: [15_000, 30_000, 60_000],
    keepAttemptsMs: 86_400_000,
    idleMs: 20,
    onOutcome: async (tx, all) => {
      for (const one of all) onEach?.(one);
      storage.afterCommit(tx, () => void outcomes.push(...all));
    },
    ...options,
  });
  return {
    delivery,
    outcomes,
    async enqueue(id, recipients, { kind = 'message', text = 'hello' } = {}) {
      const to = recipients.map((one) => parseDirectAddress(one));
      await storage.transaction((tx) =>
        delivery.enqueue(tx, {
          deliveryId: id,
          kind,
          from,
          recipients: to,
          message: plainMessage(id, text),
        }),
      );
    },
    async close() {
      for (const part of [delivery, smtp, dns]) await part.close();
    },
  };
}

export function plainMessage(id: string, text: string): Uint8Array {
  return Buffer.from(`From: ${from}\r\nMessage-ID: <${id}@own.example>\r\nSubject: x\r\n\r\n${text}\r\n`);
}

const refusedFacts = { subject: 'CN=x', issuer: 'CN=old', notBefore: '', notAfter: '', text: '' };

// Sealing and trust have separate tests; here all recipients are usable except those whose names say otherwise.
function createPlainAgent(world: Pick<DeliveryWorld, 'sealed' | 'hasKey'>): Agent {
  return {
    async resolveRecipients(_from, recipients) {
      const isRefused = (one: DirectAddress): boolean => /^(?:unknown|undecided|expired|oldca)@/.test(one);
      return {
        usable: recipients
          .filter((one) => !isRefused(one))
          .map((address) => ({ address, certificates: [], findings: [{ fingerprint: 'aa', anchor: 'bb' }] })),
        refused: recipients.filter(isRefused).map((recipient) => ({
          recipient,
          reason: /^(?:expired|oldca)@/.test(recipient) ? 'untrusted' : 'no-certificate',
          code: 'DIRECT_RECIPIENT_CERTIFICATE_MISSING',
          statusCode: '5.7.31',
          text: 'No certificate is published for the address.',
          isTransient: recipient.startsWith('undecided'),
          ...(recipient.startsWith('expired') && { findings: [{ fingerprint: 'cc', code: 'PKI_EXPIRED' }] }),
          ...(recipient.startsWith('oldca') && {
            findings: [
              { fingerprint: 'cc', code: 'PKI_EXPIRED', refused: { ...refusedFacts, failedAt: 'dd' } },
            ],
          }),
        })),
      };
    },
    async seal(_from, message, recipients) {
      if (!world.hasKey) throw new AgentError('AGENT_NO_SIGNING_KEY', 'no key to sign with');
      world.sealed.push({ recipients: recipients.map(({ address }) => address) });
      return Buffer.from(message);
    },
    openIncoming: () => Promise.reject(new Error('not used')),
    close: async () => {},
  };
}

function logInto(lines: string[]): Log {
  const write = (_fields: object, text: string): void => void lines.push(text);
  return { debug: write, info: write, warn: write, error: write };
}

/** Waits for something that background work brings about; fails with an error. */
export async function until(
  isDone: () => Promise<boolean> | boolean,
  what: string,
  withinMs = 30_000,
): Promise<void> {
  const end = Date.now() + withinMs;
  while (!(await isDone())) {
    if (Date.now() > end) throw new Error(`waited in vain for ${what}`);
    await wait(10);
  }
}
