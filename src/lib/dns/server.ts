import { once } from 'node:events';
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { createServer, isIPv6, type AddressInfo, type Server } from 'node:net';
import {
  createConnectionShares,
  systemClock,
  type Clock,
  type Closable,
  type ConnectionRefusal,
} from '../../core/index.ts';
import {
  maxTcpConnections,
  maxTcpConnectionsPerPeer,
  maxUdpQueriesInFlight,
  tcpEvictIdleMs,
  tcpIdleMs,
} from './limits.ts';
import { respond, respondTruncated, type ListZones } from './respond.ts';
import { createResponseRate } from './response-rate.ts';
import { serveTcpConnection } from './tcp-connection.ts';

export interface DnsServerOptions {
  /** Address to listen on, for example `127.0.0.1` or `::`. */
  readonly host: string;
  /** 0 selects a free port, the same for UDP and TCP. */
  readonly port: number;
  readonly zones: ListZones;
  readonly limits?: {
    readonly tcpIdleMs?: number;
    readonly maxTcpConnections?: number;
    /** A peer is an IPv4 address or an IPv6 /64. */
    readonly maxTcpConnectionsPerPeer?: number;
    readonly tcpEvictIdleMs?: number;
    /** Full answers over UDP to one network (IPv4 /24, IPv6 /56); 0 for no limit. */
    readonly udpResponsesPerSecond?: number;
    readonly udpResponseBurst?: number;
  };
  readonly clock?: Clock;
  /** Told of each connection over TCP that is closed because there are too many. */
  readonly onClosed?: (reason: ConnectionRefusal) => void;
  /** Called for failures of `zones`, which askers see as SERVFAIL. */
  readonly onError?: (error: unknown) => void;
}

export interface DnsServer extends Closable {
  readonly port: number;
}

/**
 * Starts an authoritative server on UDP and TCP (HOST-02). Rejects with the system's error if it cannot
 * listen.
 */
export async function createDnsServer(options: DnsServerOptions): Promise<DnsServer> {
  const tcp = listenForTcp(options);
  const { udp, port } = await bindBoth(options, tcp.server);
  // A connection that cannot be accepted does not concern the others.
  tcp.server.on('error', (error) => options.onError?.(error));
  serveUdp(udp, options);
  return {
    port,
    close: async () => {
      await Promise.all([closeUdp(udp), tcp.close()]);
    },
  };
}

// With port 0 the system chooses a TCP port; the same UDP port may be taken, so a few others are tried.
const maxBindTries = 10;

async function bindBoth(
  { host, port }: DnsServerOptions,
  server: Server,
): Promise<{ udp: Socket; port: number }> {
  for (let tries = 1; ; tries++) {
    server.listen({ host, port });
    await once(server, 'listening');
    const chosen = (server.address() as AddressInfo).port;
    const udp = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
    try {
      udp.bind({ address: host, port: chosen });
      await once(udp, 'listening');
      return { udp, port: chosen };
    } catch (error) {
      udp.close();
      await new Promise((resolve) => server.close(resolve));
      if (port !== 0 || tries >= maxBindTries) throw error;
    }
  }
}

function serveUdp(udp: Socket, { zones, limits = {}, clock = systemClock, onError }: DnsServerOptions): void {
  const { udpResponsesPerSecond: perSecond, udpResponseBurst: burst } = limits;
  const rate = createResponseRate({
    clock,
    ...(perSecond !== undefined && { perSecond }),
    ...(burst !== undefined && { burst }),
  });
  let inFlight = 0;
  // Errors of single datagrams (a peer that is gone) do not concern the others.
  udp.on('error', () => {});
  udp.on('message', (bytes, peer) => {
    // A datagram from port 0 cannot be answered, and one beyond the limit is lost, as datagrams may be.
    if (peer.port === 0 || inFlight >= maxUdpQueriesInFlight) return;
    if (!rate.allows(peer.address)) {
      const response = respondTruncated(bytes);
      if (response !== undefined) sendDatagram(udp, response, peer);
      return;
    }
    inFlight++;
    void respond(bytes, 'udp', zones, onError).then((response) => {
      inFlight--;
      if (response !== undefined) sendDatagram(udp, response, peer);
    });
  });
}

function sendDatagram(udp: Socket, response: Buffer, peer: RemoteInfo): void {
  try {
    udp.send(response, peer.port, peer.address, () => {});
  } catch {
    // The socket was closed while the answer was being found.
  }
}

function listenForTcp({ zones, limits = {}, onError, onClosed }: DnsServerOptions): {
  server: Server;
  close(): Promise<void>;
} {
  // Most certificates need TCP, so connections that ask nothing must not keep others out (RFC 7766 §6.2.3).
  const shares = createConnectionShares({
    maxConnections: limits.maxTcpConnections ?? maxTcpConnections,
    maxConnectionsPerPeer: limits.maxTcpConnectionsPerPeer ?? maxTcpConnectionsPerPeer,
    evictIdleMs: limits.tcpEvictIdleMs ?? tcpEvictIdleMs,
    ...(onClosed && { onClosed }),
  });
  const idleMs = limits.tcpIdleMs ?? tcpIdleMs;
  const server = createServer({ noDelay: true, allowHalfOpen: true }, (socket) =>
    shares.admit(socket, () => serveTcpConnection(socket, { zones, idleMs, onError })),
  );
  const close = async () => {
    shares.closeAll();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  return { server, close };
}

function closeUdp(udp: Socket): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  try {
    udp.close(() => resolve());
  } catch {
    // Closed before.
    resolve();
  }
  return promise;
}
