/** The edges on real sockets with TLS, over the messaging service with the ports to other HISPs controlled. */
import { randomBytes } from 'node:crypto';
import type { TestContext } from 'node:test';
import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { silentLog, type Budget } from '../../src/core/index.ts';
import {
  createEdgeBudgets,
  createMailStores,
  startEdges,
  type EdgeName,
  type EdgesOptions,
  type RunningEdges,
} from '../../src/app/edges/index.ts';
import { createEdgeRefusedCount } from '../../src/app/server/count-closed.ts';
import {
  createAuthority,
  createKeyPair,
  formatPem,
  issueServerCertificate,
} from '../../src/lib/pki/index.ts';
import {
  createMetrics,
  defaultSettings,
  type Config,
  type Metrics,
  type TlsFiles,
} from '../../src/platform/index.ts';
import {
  createEdges,
  type Edges,
  type IssuedPassword,
  type NewEdgeAccount,
} from '../../src/service/edges/index.ts';
import type { SubmittedMail } from '../../src/service/messaging/index.ts';
import type { MailStores } from '../../src/service/webhook/index.ts';
import {
  alice,
  startTestMessaging,
  type StartOptions,
  type TestMessaging,
} from '../messaging/start-messaging.ts';

export interface TestEdges extends TestMessaging {
  readonly edges: Edges;
  readonly running: RunningEdges;
  readonly stores: MailStores;
  readonly budget: Budget;
  readonly metrics: Metrics;
  /** PEM of the CA of the listeners' certificate. */
  readonly ca: string;
  readonly tls: TlsFiles;
  /** A dialogue with an edge; TLS has begun where it begins with the connection. */
  open(name: EdgeName): Promise<Dialogue>;
  /** As its submission does. */
  submitAs(username: string, mail: SubmittedMail, protocol?: 'submission' | 'line'): Promise<void>;
  createAccount(settings?: Partial<NewEdgeAccount>): Promise<IssuedPassword>;
}

const dayMs = 86_400_000;

export async function createServerFiles() {
  const caKeys = await createKeyPair();
  const [notBefore, notAfter] = [new Date(Date.now() - dayMs), new Date(Date.now() + dayMs)];
  const certificate = createAuthority({
    subject: [['CN', 'edge test CA']],
    publicKey: caKeys.publicKey,
    privateKey: caKeys.privateKey,
    notBefore,
    notAfter,
  });
  const keys = await createKeyPair();
  const issued = issueServerCertificate({
    dnsNames: ['localhost'],
    ipAddresses: [Buffer.of(127, 0, 0, 1)],
    publicKey: keys.publicKey,
    issuer: { certificate, privateKey: caKeys.privateKey },
    notBefore,
    notAfter,
  });
  return {
    ca: formatPem('CERTIFICATE', certificate.der),
    key: Buffer.from(keys.privateKey.export({ type: 'pkcs8', format: 'pem' })),
    cert: Buffer.from(formatPem('CERTIFICATE', issued.der)),
  };
}

export async function startTestEdges(
  options: StartOptions & {
    readonly settings?: Partial<Config['edge']>;
    readonly disk?: EdgesOptions['disk'];
    readonly attemptsPerMinute?: number;
  } = {},
): Promise<TestEdges> {
  const made: { edges?: Edges; world?: TestMessaging } = {};
  const world = await startTestMessaging({
    ...options,
    dispatchesStored: async (address) => made.edges?.mailboxes.dispatchesStored(address) ?? false,
    async onStored(tx, copies) {
      await made.edges?.mailboxes.deliverIn(tx, copies);
      for (const { copyId, address } of copies)
        for (const owner of (await made.edges?.mailboxes.ownersOf(address)) ?? [])
          await made.world?.webhooks.handOverIn(tx, owner, copyId);
    },
    onKept: async (tx, message) => made.edges?.mailboxes.keepIn(tx, message),
  });
  const edges = createEdges({
    ...world,
    clients: world.oauth.clients,
    attemptsPerMinute: options.attemptsPerMinute ?? 20,
  });
  const { ca, ...tls } = await createServerFiles();
  const freePorts = {
    linePort: 0,
    smtpsPort: 0,
    submissionPort: 0,
    imapsPort: 0,
    imapPort: 0,
    pop3sPort: 0,
    pop3Port: 0,
  };
  Object.assign(made, { edges, world });
  const settings = { ...defaultSettings.edge, ...freePorts, ...options.settings } as Config['edge'];
  const metrics = createMetrics();
  const budgets = createEdgeBudgets(settings, createEdgeRefusedCount({ metrics, log: silentLog }));
  const stores = createMailStores({ ...world, edges, ...budgets, hostname: 'edge.alpha.example' });
  world.webhooks.serveStores(stores);
  const running = await startEdges({
    ...world,
    config: settings,
    ...budgets,
    hostname: 'edge.alpha.example',
    tls,
    edges,
    onClosed: () => () => {},
    disk: options.disk ?? { requireRoom() {} },
    log: {
      debug() {},
      info() {},
      warn: (fields, text) => void world.logLines.push(`${text} ${JSON.stringify(fields)}`),
      error: (fields, text) => void world.logLines.push(`${text} ${JSON.stringify(fields)}`),
    },
    open: (_name, start) => start(),
  });
  const accounts = edges.accounts;
  return {
    ...world,
    edges,
    stores,
    ...budgets,
    metrics,
    running,
    ca,
    tls,
    open: (name) =>
      openDialogue(
        running.ports[name] ?? 0,
        ['line', 'smtps', 'imaps', 'pop3s'].includes(name) ? ca : undefined,
      ),
    createAccount: (settings = {}) =>
      accounts.create({
        clientId: 'clinic',
        username: alice,
        addresses: [alice],
        protocols: ['line', 'submission', 'imap', 'pop3'],
        ...settings,
      }),
    async submitAs(username, mail, protocol = 'submission') {
      const account = await accounts.get(username);
      const { client } = await edges.signIns.renew({ account, client: world.clinic }, protocol);
      await world.messaging.submit(client, mail, {});
    },
    async close() {
      await running.close();
      await stores.close();
      await world.close();
    },
  };
}

/** A client by hand: what it says, and lines and octets of what it hears. */
export class Dialogue {
  #socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  #isEnded = false;
  #wake = () => {};

  constructor(socket: Socket) {
    this.#socket = socket;
    this.#listen(socket);
  }

  #listen(socket: Socket): void {
    socket.setNoDelay(true);
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      this.#wake();
    });
    socket.on('close', () => {
      this.#isEnded = true;
      this.#wake();
    });
  }

  async startTls(ca: string): Promise<void> {
    this.#socket.removeAllListeners();
    const secured = connectTls({ socket: this.#socket, ca, servername: 'localhost' });
    await new Promise<void>((resolve, reject) =>
      secured.once('secureConnect', resolve).once('error', reject),
    );
    this.#socket = secured;
    this.#received = Buffer.alloc(0);
    this.#isEnded = false;
    this.#listen(secured);
  }

  send(data: string | Uint8Array): void {
    this.#socket.write(data);
  }

  /** The next line without its end, '' too; undefined when the connection has ended. */
  async line(): Promise<string | undefined> {
    for (;;) {
      const end = this.#received.indexOf(0x0a);
      if (end !== -1) {
        const line = this.#received.subarray(0, end).toString();
        this.#received = this.#received.subarray(end + 1);
        return line.replace(/\r$/, '');
      }
      if (this.#isEnded) return undefined;
      await this.#more();
    }
  }

  async #more(): Promise<void> {
    const timer = setTimeout(() => this.#socket.destroy(new Error('no answer')), 20_000);
    await new Promise<void>((resolve) => (this.#wake = resolve));
    clearTimeout(timer);
  }

  async octets(count: number): Promise<Buffer> {
    while (this.#received.length < count && !this.#isEnded) await this.#more();
    const taken = this.#received.subarray(0, count);
    this.#received = this.#received.subarray(count);
    return taken;
  }

  /** One line with its answer of one line. */
  async ask(line: string): Promise<string | undefined> {
    this.send(`${line}\n`);
    return this.line();
  }

  /** An IMAP command: the untagged lines, and the tagged one without its tag; literals become part of a line. */
  async imap(command: string): Promise<{ readonly untagged: readonly string[]; readonly result: string }> {
    const tag = `t${randomBytes(3).toString('hex')}`;
    this.send(`${tag} ${command}\r\n`);
    const untagged: string[] = [];
    for (;;) {
      const line = await this.#imapLine();
      if (line === undefined) return { untagged, result: 'ended' };
      if (line.startsWith(`${tag} `)) return { untagged, result: line.slice(tag.length + 1) };
      untagged.push(line);
    }
  }

  async #imapLine(): Promise<string | undefined> {
    let whole = await this.line();
    for (;;) {
      const literal = /\{(\d+)\}$/.exec(whole ?? '');
      if (literal === null) return whole;
      const octets = await this.octets(Number(literal[1]));
      whole = `${whole}\n${octets.toString()}${await this.line()}`;
    }
  }

  /** Takes nothing any more. */
  pause(): void {
    this.#socket.pause();
  }

  end(): void {
    this.#socket.destroy();
  }
}

export async function openDialogue(port: number, ca: string | undefined): Promise<Dialogue> {
  const socket =
    ca === undefined
      ? connectPlain({ host: '127.0.0.1', port })
      : connectTls({ host: '127.0.0.1', port, ca, servername: 'localhost' });
  await new Promise<void>((resolve, reject) =>
    socket.once(ca === undefined ? 'connect' : 'secureConnect', () => resolve()).once('error', reject),
  );
  return new Dialogue(socket);
}

/** Ends a dialogue and the edges with the test. */
export function endsWith<T extends { end(): void }>(t: TestContext, dialogue: T): T {
  t.after(() => dialogue.end());
  return dialogue;
}

/** Nothing waits in any queue, as at the beginning. */
export async function forgetAll({ db }: TestEdges): Promise<void> {
  await db.updateTable('message_recipient').set({ edge_told_at: 1 }).execute();
  await db.updateTable('inbox_copy').set({ acknowledged_at: 1 }).execute();
}
