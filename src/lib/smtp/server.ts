import type { AddressInfo, Socket } from 'node:net';
import {
  SMTPServer,
  type SMTPServerAddress,
  type SMTPServerDataStream,
  type SMTPServerOptions,
  type SMTPServerSession,
} from 'smtp-server';
import type { Closable } from '../../core/index.ts';
import { checkHostname, readPath } from './address.ts';
import * as defaults from './limits.ts';
import { collectMessage, createByteBudget, type ByteBudget } from './message-collector.ts';
import { createPeerCounter } from './peer-counter.ts';
import type { SmtpReply } from './reply.ts';
import { SessionConnection } from './session-connection.ts';

export interface SmtpRecipientContext {
  /** As given in MAIL FROM; '' for the null sender. */
  readonly mailFrom: string;
  readonly remoteAddress: string;
}

export interface SmtpMessage extends SmtpRecipientContext {
  /** As given, case preserved, without repetitions. */
  readonly recipients: readonly string[];
  /** The octets between DATA and its end, dots unstuffed, nothing else changed. */
  readonly message: Uint8Array;
  /** What the client called itself. */
  readonly helo: string;
  readonly isSecure: boolean;
}

export interface SmtpHandlers {
  /** Decides about a recipient; whoever is not hosted here must be refused (EDGE-09). An exception gives 451. */
  onRecipient(address: string, context: SmtpRecipientContext): Promise<'accept' | SmtpReply>;
  /**
   * Takes the message. The client hears 250 only after this resolves without a reply, so it must have made the
   * message durable by then. An exception gives 451, and the client tries again.
   */
  onMessage(message: SmtpMessage): Promise<SmtpReply | undefined | void>;
  /** Hears of exceptions of the other two and of broken connections. */
  onError?(error: unknown): void;
}

export interface SmtpServerLimits {
  readonly maxMessageBytes?: number;
  readonly maxBytesInFlight?: number;
  readonly maxRecipients?: number;
  readonly maxConnections?: number;
  readonly maxConnectionsPerPeer?: number;
  readonly idleMs?: number;
  readonly maxSessionMs?: number;
  readonly closeGraceMs?: number;
}

export interface SmtpServerOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Our name in the greeting. */
  readonly hostname: string;
  readonly handlers: SmtpHandlers;
  readonly limits?: SmtpServerLimits;
  /** PEM key and certificate chain. Without them STARTTLS is not offered. */
  readonly tls?: { readonly key: string | Buffer; readonly cert: string | Buffer };
}

export interface SmtpServer extends Closable {
  readonly port: number;
}

/** Starts a receiving SMTP server: no relay of its own accord, no submission, no authentication (EDGE-04, 08, 09). */
export async function createSmtpServer(options: SmtpServerOptions): Promise<SmtpServer> {
  checkHostname(options.hostname);
  const limits = { ...defaults, idleMs: defaults.serverIdleMs, ...options.limits };
  const busySessions = new Set<string>();
  const server = new ReceivingServer(libraryOptions(options, limits, busySessions), limits.maxSessionMs);
  server.on('error', (error: unknown) => options.handlers.onError?.(error));
  await listen(server, options);
  return {
    port: (server.server.address() as AddressInfo).port,
    close: () => closeGently(server, busySessions),
  };
}

class ReceivingServer extends SMTPServer {
  readonly #maxSessionMs: number;

  constructor(options: SMTPServerOptions, maxSessionMs: number) {
    super(options);
    this.#maxSessionMs = maxSessionMs;
  }

  override connect(socket: Socket): void {
    const connection = new SessionConnection(this, socket);
    this.connections.add(connection);
    connection.on('error', (error: unknown) => this.emit('error', error));
    connection.endAfter(this.#maxSessionMs);
    socket.on('close', () => connection.stopTimer());
    connection.init();
  }
}

type Limits = Required<SmtpServerLimits>;

function libraryOptions(
  options: SmtpServerOptions,
  limits: Limits,
  busySessions: Set<string>,
): SMTPServerOptions {
  const { handlers, tls } = options;
  const budget = createByteBudget(limits.maxBytesInFlight);
  const peers = createPeerCounter(limits.maxConnectionsPerPeer);
  // The library has a built-in key that everybody knows; without a key of ours there is no STARTTLS at all.
  const disabledCommands = ['AUTH', 'WIZ', 'SHELL', 'KILL', ...(tls === undefined ? ['STARTTLS'] : [])];
  return {
    name: options.hostname,
    size: limits.maxMessageBytes,
    maxRecipients: limits.maxRecipients,
    maxClients: limits.maxConnections,
    maxCommandLength: defaults.maxCommandOctets,
    socketTimeout: limits.idleMs,
    closeTimeout: limits.closeGraceMs,
    disabledCommands,
    authOptional: true,
    disableReverseLookup: true,
    hideENHANCEDSTATUSCODES: false,
    hideSMTPUTF8: true,
    heloResponse: '%s',
    ...(tls === undefined ? {} : { ...tls, minVersion: 'TLSv1.2' }),
    onConnect: (session, done) => done(peers.enter(session) ? null : replyError(tooManyConnections)),
    onClose: (session) => {
      peers.leave(session);
      busySessions.delete(session.id);
    },
    onMailFrom: (address, _session, done) => {
      const reply = findPathFault(address, mailParameters);
      done(reply === undefined ? null : replyError(reply));
    },
    onRcptTo: (address, session, done) => {
      void answer(decideRecipient(address, session, handlers), done);
    },
    onData: (stream, session, done) => {
      busySessions.add(session.id);
      void answer(takeMessage(stream, session, { handlers, limits, budget }), (error) => {
        busySessions.delete(session.id);
        done(error, '2.0.0 Message accepted');
      });
    },
  };
}

async function answer(decision: Promise<Error | null>, done: (error: Error | null) => void): Promise<void> {
  done(await decision);
}

const tooManyConnections: SmtpReply = {
  code: 421,
  enhancedCode: '4.7.0',
  text: 'Too many connections from your address',
};
const notAscii: SmtpReply = {
  code: 553,
  enhancedCode: '5.6.7',
  text: 'Addresses beyond ASCII are not supported',
};
const unknownParameter: SmtpReply = { code: 555, enhancedCode: '5.5.4', text: 'Unknown parameter' };
const failedHere: SmtpReply = { code: 451, enhancedCode: '4.3.0', text: 'Local error, try again later' };
const noMemory: SmtpReply = {
  code: 452,
  enhancedCode: '4.3.1',
  text: 'Too much mail at once, try again later',
};
const tooLarge: SmtpReply = { code: 552, enhancedCode: '5.3.4', text: 'The message exceeds the size limit' };

// Parameters of the extensions that EHLO announces (RFC 1870, RFC 6152); RCPT TO has none.
const mailParameters: ReadonlySet<string> = new Set(['SIZE', 'BODY']);
const rcptParameters: ReadonlySet<string> = new Set();

/** RFC 5321 §4.1.1.11: parameters that nobody announced are refused, not ignored. */
function findPathFault(
  { address, args }: SMTPServerAddress,
  known: ReadonlySet<string>,
): SmtpReply | undefined {
  if (readPath(address) === undefined) return notAscii;
  const isKnown = Object.keys(args === false ? {} : args).every((name) => known.has(name));
  return isKnown ? undefined : unknownParameter;
}

async function decideRecipient(
  path: SMTPServerAddress,
  session: SMTPServerSession,
  handlers: SmtpHandlers,
): Promise<Error | null> {
  const fault = findPathFault(path, rcptParameters);
  if (fault !== undefined) return replyError(fault);
  try {
    const decision = await handlers.onRecipient(readPath(path.address) ?? '', contextOf(session));
    return decision === 'accept' ? null : replyError(decision);
  } catch (error) {
    handlers.onError?.(error);
    return replyError(failedHere);
  }
}

interface Receiving {
  readonly handlers: SmtpHandlers;
  readonly limits: Limits;
  readonly budget: ByteBudget;
}

async function takeMessage(
  stream: SMTPServerDataStream,
  session: SMTPServerSession,
  { handlers, limits, budget }: Receiving,
): Promise<Error | null> {
  const context = contextOf(session);
  const recipients = session.envelope.rcptTo.map((rcpt) => readPath(rcpt.address) ?? rcpt.address);
  const helo = typeof session.hostNameAppearsAs === 'string' ? session.hostNameAppearsAs : '';
  const collected = await collectMessage(stream, limits.maxMessageBytes, budget);
  try {
    if (collected.outcome === 'too-large') return replyError(tooLarge);
    if (collected.outcome !== 'whole') return replyError(noMemory);
    const { message } = collected;
    const reply = await handlers.onMessage({
      ...context,
      recipients,
      message,
      helo,
      isSecure: session.secure,
    });
    return reply === undefined ? null : replyError(reply);
  } catch (error) {
    handlers.onError?.(error);
    return replyError(failedHere);
  } finally {
    collected.release();
  }
}

function contextOf(session: SMTPServerSession): SmtpRecipientContext {
  const { mailFrom } = session.envelope;
  return {
    mailFrom: mailFrom === false ? '' : (readPath(mailFrom.address) ?? ''),
    remoteAddress: session.remoteAddress,
  };
}

function replyError({ code, enhancedCode, text }: SmtpReply): Error {
  const message = enhancedCode === undefined ? text : `${enhancedCode} ${text}`;
  return Object.assign(new Error(message), { responseCode: code });
}

function listen(server: ReceivingServer, { host, port }: SmtpServerOptions): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.server.once('error', reject);
  server.listen({ host, port }, () => {
    server.server.off('error', reject);
    resolve();
  });
  return promise;
}

/** Lets messages under way finish within the grace time; everybody else is sent off at once. */
function closeGently(server: ReceivingServer, busySessions: ReadonlySet<string>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  for (const connection of server.connections) {
    if (!busySessions.has(connection.id)) connection.send(421, '4.3.2 The server is closing', false);
  }
  return promise;
}
