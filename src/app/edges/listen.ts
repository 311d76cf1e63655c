import { once } from 'node:events';
import { constants } from 'node:crypto';
import { createServer, type AddressInfo } from 'node:net';
import { createSecureContext } from 'node:tls';
import { createConnectionShares, errorCode, type Closable, type Log } from '../../core/index.ts';
import type { TlsFiles } from '../../platform/index.ts';
import { createConnection, type EdgeConnection, type ServerConnection } from './connection.ts';

export interface EdgeListenerOptions {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  readonly tls: TlsFiles;
  /** Whether TLS begins with the connection; else the session begins it. */
  readonly isImplicitTls: boolean;
  readonly maxConnections: number;
  readonly maxConnectionsPerAddress: number;
  /** Told of each connection that is closed because there are too many. */
  readonly onClosed?: (reason: string) => void;
  readonly log: Log;
  /** Speaks the protocol until the session ends. */
  serve(connection: EdgeConnection): Promise<void>;
}

export interface EdgeListener extends Closable {
  readonly port: number;
  /** For the connections from now on. */
  renewTls(files: TlsFiles): void;
}

/** A connection that is idle for less is closed only for an address with fewer. */
const evictIdleMs = 2_000;
/** Answers in progress when the server closes may take so long. */
const closeGraceMs = 5_000;

/** One listener of an edge protocol: limits of connections, TLS, sessions that end in order. */
export async function startEdgeListener(options: EdgeListenerOptions): Promise<EdgeListener> {
  let context = contextOf(options.tls);
  const open = new Map<ServerConnection, Promise<void>>();
  const shares = createConnectionShares({
    maxConnections: options.maxConnections,
    maxConnectionsPerPeer: options.maxConnectionsPerAddress,
    evictIdleMs,
    ...(options.onClosed && { onClosed: options.onClosed }),
  });
  const server = createServer((socket) =>
    shares.admit(socket, () => {
      const connection = createConnection(socket, () => context);
      const session = run(options, connection).finally(() => open.delete(connection));
      open.set(connection, session);
      return connection;
    }),
  );
  server.on('error', (error) => options.log.warn({ code: errorCode(error) }, 'an edge listener failed'));
  server.listen({ host: options.host, port: options.port });
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    renewTls: (files) => void (context = contextOf(files)),
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const connection of open.keys()) connection.close();
      const timer = setTimeout(() => {
        for (const connection of open.keys()) connection.destroy();
      }, closeGraceMs);
      await Promise.all(open.values());
      clearTimeout(timer);
      shares.closeAll();
      await closed;
    },
  };
}

async function run(options: EdgeListenerOptions, connection: ServerConnection): Promise<void> {
  try {
    if (options.isImplicitTls && !(await connection.startTls())) return;
    await options.serve(connection);
  } catch (error) {
    options.log.error({ code: errorCode(error) }, 'a session of an edge client failed');
  } finally {
    connection.end();
    // A client that does not take the end is not waited for.
    setTimeout(() => connection.destroy(), closeGraceMs).unref();
  }
}

function contextOf({ key, cert }: TlsFiles) {
  // Clients may not renegotiate: Node's own limit ends connections of its TLS servers alone.
  const secureOptions = constants.SSL_OP_NO_RENEGOTIATION;
  return createSecureContext({ key, cert, minVersion: 'TLSv1.2', secureOptions });
}
