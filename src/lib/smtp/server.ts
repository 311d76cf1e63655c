import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { createBudget, createRateWatch, type Closable, type TableConnection } from '../../core/index.ts';
import { checkHostname } from './address.ts';
import { createConnectionTable } from './connection-table.ts';
import * as defaults from './limits.ts';
import { createOffers } from './offers.ts';
import { libraryOptions, type SmtpServerOptions } from './server-options.ts';
import { SessionConnection, type SessionRules } from './session-connection.ts';

export interface SmtpServer extends Closable {
  readonly port: number;
  /** Number of open connections. */
  readonly connectionCount: number;
  /**
   * Takes another key and certificate (PEM) for the connections from now on. Only a server that was started
   * with TLS has it.
   */
  renewTls(tls: NonNullable<SmtpServerOptions['tls']>): void;
}

/** Starts a receiving SMTP server: without `submission` no authentication and no relay (EDGE-04, 08, 09). */
export async function createSmtpServer(options: SmtpServerOptions): Promise<SmtpServer> {
  checkHostname(options.hostname);
  const limits = { ...defaults, idleMs: defaults.serverIdleMs, ...options.limits };
  const busySessions = new Set<string>();
  const budget =
    options.budget ?? createBudget({ total: limits.maxBytesInFlight, perCaller: limits.maxBytesPerNetwork });
  const offers = createOffers(options.handlers, budget);
  const table = createConnectionTable({
    ...limits,
    ...(options.onClosed && { onClosed: options.onClosed }),
  });
  const rates = createRateWatch({
    minBytesPerSecond: limits.minBytesPerSecond,
    windowMs: limits.rateWindowMs,
  });
  const server = new ReceivingServer(libraryOptions(options, limits, { busySessions, offers }), {
    table,
    offers,
    rates,
    ...limits,
  });
  server.on('error', (error: unknown) => options.handlers.onError?.(error));
  server.listen({ host: options.host, port: options.port });
  await once(server.server, 'listening');
  return {
    port: (server.server.address() as AddressInfo).port,
    get connectionCount() {
      return table.size;
    },
    renewTls: ({ key, cert }) => server.updateSecureContext({ key, cert }),
    close: () => closeGently(server, busySessions),
  };
}

class ReceivingServer extends SMTPServer {
  readonly #rules: SessionRules;

  constructor(options: SMTPServerOptions, rules: SessionRules) {
    super(options);
    this.#rules = rules;
  }

  // Of TLS from the start: until its handshake is over, a connection has no session for the table to know.
  override _acceptSocket(socket: Socket, hasHandshake: boolean): (() => void) | false {
    if (!hasHandshake) return super._acceptSocket(socket, hasHandshake);
    const beganMs = performance.now();
    const { table } = this.#rules;
    const waiting: TableConnection = {
      remoteAddress: socket.remoteAddress ?? '',
      idleSinceMs: () => beganMs,
      hasAsked: () => false,
      // The topmost: Node does not bear that a socket is taken away from below a handshake.
      evict: () => void (this._pendingSockets.get(socket) ?? socket).destroy(),
    };
    if (table.enter(waiting) !== undefined) {
      socket.on('error', () => {});
      socket.destroy();
      return false;
    }
    socket.once('close', () => table.leave(waiting));
    const release = super._acceptSocket(socket, hasHandshake);
    return (
      release &&
      (() => {
        table.leave(waiting);
        release();
      })
    );
  }

  override connect(socket: Socket): void {
    const connection = new SessionConnection(this, socket, this.#rules);
    this.connections.add(connection);
    let hasFailed = false;
    connection.on('error', (error: unknown) => {
      // Of a failed handshake both the socket and TLS tell; the session has ended with the first error.
      if (!hasFailed) this.emit('error', error);
      hasFailed = true;
    });
    connection.init();
  }
}

/** Lets messages in progress finish within the grace time; all other connections are closed at once. */
function closeGently(server: ReceivingServer, busySessions: ReadonlySet<string>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  for (const connection of server.connections) {
    if (!busySessions.has(connection.id)) connection.send(421, '4.3.2 The server is closing', false);
  }
  return promise;
}
