import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import {
  createConnectionShares,
  type Closable,
  type ConnectionRefusal,
  type Evictable,
} from '../../core/index.ts';
import { LdapError } from './errors.ts';
import { messageLength } from './message-reader.ts';
import * as defaults from './limits.ts';
import { resultCodes, writeDisconnection } from './message.ts';
import { respond, type Directory, type FindPublished } from './respond.ts';

export interface LdapResponderOptions {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  /**
   * DER certificates published under a mail value in lower case: a Direct address or a domain (HOST-01,
   * HOST-03).
   */
  readonly findCertificates: FindPublished;
  readonly limits?: {
    readonly maxConnections?: number;
    /** A peer is an IPv4 address or an IPv6 /64. */
    readonly maxConnectionsPerPeer?: number;
    readonly evictIdleMs?: number;
  };
  /** Told of each connection that is closed because there are too many. */
  readonly onClosed?: (reason: ConnectionRefusal) => void;
  /** Called for failures of `findCertificates`. */
  readonly onError?: (error: unknown) => void;
}

export interface LdapResponder extends Closable {
  readonly port: number;
}

/**
 * Starts a read-only LDAPv3 server for published certificates. Rejects with the system's error if it cannot
 * listen.
 */
export async function createLdapResponder(options: LdapResponderOptions): Promise<LdapResponder> {
  const { findCertificates, onError } = options;
  const limits = options.limits ?? {};
  const directory: Directory = { base: 'o=openhisp', findCertificates, ...(onError && { onError }) };
  const shares = createConnectionShares({
    maxConnections: limits.maxConnections ?? defaults.maxConnections,
    maxConnectionsPerPeer: limits.maxConnectionsPerPeer ?? defaults.maxConnectionsPerPeer,
    evictIdleMs: limits.evictIdleMs ?? defaults.evictIdleMs,
    ...(options.onClosed && { onClosed: options.onClosed }),
  });
  const server = createServer({ noDelay: true, allowHalfOpen: true }, (socket) =>
    shares.admit(socket, () => serveConnection(socket, directory)),
  );
  server.listen({ host: options.host, port: options.port });
  await once(server, 'listening');
  // A connection that cannot be accepted does not concern the others.
  server.on('error', (error) => onError?.(error));
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      shares.closeAll();
      await new Promise<void>((closed) => server.close(() => closed()));
    },
  };
}

/** Time for a peer to close the connection after it was told to (RFC 4511 §4.4.1). */
const closeAfterMs = 1_000;

/**
 * Answers the requests of one connection in order; reads only as fast as the peer reads the answers. A peer
 * that has closed its side gets the answers to what it asked before.
 */
function serveConnection(socket: Socket, directory: Directory): Evictable {
  let answeredMs = performance.now();
  let received: Buffer = Buffer.alloc(0);
  const waiting: Buffer[] = [];
  let isWorking = false;
  let hasAsked = false;
  let isAnswering = false;
  let isEnded = false;
  let isClosing = false;

  /**
   * Ends our side. What the peer sends from now on is dropped, and it is cut off unless it closes its side
   * soon after the last answer.
   */
  const close = (last: Buffer = Buffer.alloc(0)) => {
    isClosing = true;
    received = Buffer.alloc(0);
    waiting.length = 0;
    socket.end(last, () => setTimeout(() => socket.destroy(), closeAfterMs).unref());
  };
  const work = async () => {
    if (isWorking) return;
    isWorking = true;
    for (let bytes = waiting.shift(); bytes !== undefined && socket.writable; bytes = waiting.shift()) {
      isAnswering = true;
      const reply = await respond(bytes, directory);
      isAnswering = false;
      hasAsked = true;
      answeredMs = performance.now();
      if (!socket.writable) break;
      for (const message of reply.messages) socket.write(message);
      if (reply.isLast) {
        close();
        break;
      }
      if (socket.writableNeedDrain) await drained(socket);
      takeMessages();
    }
    isWorking = false;
    if (isEnded && !isClosing) socket.end();
    else if (!socket.destroyed) socket.resume();
  };
  const takeMessages = () => {
    try {
      while (waiting.length < defaults.maxWaitingRequests) {
        const length = messageLength(received, defaults.maxRequestOctets);
        if (length === undefined || received.length < length) return;
        waiting.push(received.subarray(0, length));
        received = received.subarray(length);
      }
      socket.pause();
    } catch (error) {
      if (!(error instanceof LdapError)) throw error;
      close(writeDisconnection(resultCodes.protocolError, error.message));
    }
  };

  // A failing connection concerns its peer alone; 'close' follows.
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    if (isClosing) return;
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    takeMessages();
    void work();
  });
  socket.on('end', () => {
    isEnded = true;
    void work();
  });
  socket.setTimeout(defaults.idleMs, () => socket.destroy());
  return { idleSinceMs: () => (isAnswering ? undefined : answeredMs), hasAsked: () => hasAsked };
}

function drained(socket: Socket): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.once('drain', resolve);
  socket.once('close', resolve);
  return promise;
}
