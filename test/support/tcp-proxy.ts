/** A TCP relay that can lose connections at a chosen moment, or stop answering on all of them. */
import { createServer, createConnection, type AddressInfo, type Socket } from 'node:net';

export interface Cut {
  /** Bytes of a request, as Latin-1. */
  readonly at: string;
  /** `asked`: the request does not arrive; `answered`: it arrives, and its answer does not. */
  readonly when: 'asked' | 'answered';
}

export interface TcpProxy {
  /** The target's, through the proxy. */
  readonly url: string;
  /** Ends the first connection that carries such a request. */
  cut(cut: Cut): void;
  /** As `cut`, but no connection ends: all take bytes, new ones too, and nothing is relayed any more. */
  stall(cut: Cut): void;
  /** The same from now on. */
  stallNow(): void;
  /** Relays everything, first what was taken meanwhile, also for a side that has gone. */
  relay(): void;
  close(): Promise<void>;
}

/** In front of the server that a URL names. */
export async function createTcpProxy(targetUrl: string): Promise<TcpProxy> {
  const target = new URL(targetUrl);
  let cut: (Cut & { readonly isStall?: boolean }) | undefined;
  let isStalled = false;
  /** What was taken while nothing was relayed, in order. */
  const late: (() => void)[] = [];
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = createConnection({
      host: target.hostname,
      port: Number(target.port),
      allowHalfOpen: true,
    });
    let isLosing = false;
    const end = (): void => {
      client.destroy();
      upstream.destroy();
    };
    const relayOrKeep = (to: Socket, bytes: Uint8Array): void => {
      if (isStalled) late.push(() => to.writable && to.write(bytes));
      else to.write(bytes);
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', end);
      // A silent network does not carry the goodbye either.
      socket.on('end', () => {
        if (!isStalled) end();
      });
      socket.on('close', () => {
        sockets.delete(socket);
        // The target finishes what it was asked for, as one does that learns of the loss later.
        if (isLosing && socket === client) upstream.end();
        else if (isStalled) late.push(() => setTimeout(end, 200));
        else end();
      });
    }
    client.on('data', (bytes) => {
      if (cut !== undefined && bytes.toString('latin1').includes(cut.at)) {
        const { when, isStall = false } = cut;
        cut = undefined;
        if (isStall) {
          // What arrives is not answered any more.
          if (when === 'answered') upstream.write(bytes);
          isStalled = true;
          if (when === 'answered') return;
        } else if (when === 'asked') return end();
        else isLosing = true;
      }
      relayOrKeep(upstream, bytes);
    });
    upstream.on('data', (bytes) => {
      if (isLosing) client.destroy();
      else relayOrKeep(client, bytes);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const through = new URL(target);
  through.hostname = '127.0.0.1';
  through.port = String((server.address() as AddressInfo).port);
  return {
    url: through.href,
    cut(wanted) {
      cut = wanted;
    },
    stall(wanted) {
      cut = { ...wanted, isStall: true };
    },
    stallNow() {
      isStalled = true;
    },
    relay() {
      cut = undefined;
      isStalled = false;
      for (const send of late.splice(0)) send();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
