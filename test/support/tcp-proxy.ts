/** A TCP relay that can lose connections at a chosen moment. */
import { createServer, createConnection, type AddressInfo, type Socket } from 'node:net';

export interface Cut {
  /** Bytes of a request, as Latin-1. */
  readonly at: string;
  /** `asked`: the request does not arrive; `answered`: it arrives, and its answer does not. */
  readonly when: 'asked' | 'answered';
}

export interface TcpProxy {
  readonly port: number;
  /** Ends the first connection that carries such a request. */
  cut(cut: Cut): void;
  /** Relays everything. */
  relay(): void;
  close(): Promise<void>;
}

export async function createTcpProxy(target: {
  readonly host: string;
  readonly port: number;
}): Promise<TcpProxy> {
  let cut: Cut | undefined;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = createConnection(target);
    let isLosing = false;
    const end = (): void => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', end);
      socket.on('close', () => {
        sockets.delete(socket);
        end();
      });
    }
    client.on('data', (bytes) => {
      if (cut !== undefined && bytes.toString('latin1').includes(cut.at)) {
        const { when } = cut;
        cut = undefined;
        if (when === 'asked') return end();
        isLosing = true;
      }
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      if (isLosing) end();
      else client.write(bytes);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    cut(wanted) {
      cut = wanted;
    },
    relay() {
      cut = undefined;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
