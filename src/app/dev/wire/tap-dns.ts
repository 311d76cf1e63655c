import { once } from 'node:events';
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { connect, createServer } from 'node:net';
import type { Closable } from '../../../core/index.ts';
import { describeDnsAnswer } from './dns-answer.ts';
import type { WireLog } from './wire-log.ts';

const host = '127.0.0.1';
/** The resolver times out long before that. */
const maxWaitMs = 20_000;

/**
 * Forwards the DNS queries of one HISP to the sandbox's DNS server, over UDP and TCP on `port`, and records
 * each with its answer.
 */
export async function tapDns(port: number, serverPort: number, log: WireLog): Promise<Closable> {
  const note = (answer: Uint8Array, transport: string): void => {
    const seen = describeDnsAnswer(answer);
    if (seen === undefined) return;
    const line = {
      atMs: Date.now(),
      kind: 'dns',
      isRefusal: false,
      name: seen.name,
      transaction: undefined,
    } as const;
    log.add({ ...line, from: 'this HISP', to: 'DNS', text: `${seen.question}${transport}` });
    log.add({ ...line, from: 'DNS', to: 'this HISP', text: seen.answer });
  };
  const udp = await tapUdp(port, serverPort, (answer) => note(answer, ''));
  const tcp = await tapTcp(port, serverPort, (answer) => note(answer, ' (TCP)'));
  return {
    async close() {
      await Promise.all([udp.close(), tcp.close()]);
    },
  };
}

async function tapUdp(
  port: number,
  serverPort: number,
  onAnswer: (answer: Uint8Array) => void,
): Promise<Closable> {
  const socket = createSocket('udp4');
  const waiting = new Set<Socket>();
  socket.on('error', () => {});
  socket.on('message', (question: Buffer, asker: RemoteInfo) => {
    const upstream = createSocket('udp4');
    const end = (): void => {
      clearTimeout(timer);
      if (waiting.delete(upstream)) upstream.close();
    };
    const timer = setTimeout(end, maxWaitMs);
    waiting.add(upstream);
    upstream.on('error', end);
    upstream.on('message', (answer: Buffer) => {
      onAnswer(answer);
      if (waiting.has(upstream)) socket.send(answer, asker.port, asker.address, () => {});
      end();
    });
    upstream.send(question, serverPort, host, () => {});
  });
  socket.bind({ address: host, port });
  await once(socket, 'listening');
  return {
    async close() {
      for (const upstream of waiting) upstream.close();
      waiting.clear();
      await new Promise<void>((resolve) => socket.close(() => resolve()));
    },
  };
}

async function tapTcp(
  port: number,
  serverPort: number,
  onAnswer: (answer: Uint8Array) => void,
): Promise<Closable> {
  const ends = new Set<() => void>();
  const server = createServer((client) => {
    const upstream = connect({ host, port: serverPort });
    const end = (): void => {
      client.destroy();
      upstream.destroy();
      ends.delete(end);
    };
    ends.add(end);
    for (const socket of [client, upstream]) socket.on('error', end).on('close', end);
    let rest = Buffer.alloc(0);
    upstream.on('data', (bytes: Buffer) => {
      rest = Buffer.concat([rest, bytes]);
      // Each message is preceded by its length (RFC 1035 §4.2.2).
      while (rest.length >= 2 && rest.length >= 2 + rest.readUInt16BE(0)) {
        const length = rest.readUInt16BE(0);
        onAnswer(rest.subarray(2, 2 + length));
        rest = rest.subarray(2 + length);
      }
    });
    client.pipe(upstream);
    upstream.pipe(client);
  });
  server.listen({ host, port });
  await once(server, 'listening');
  return {
    async close() {
      for (const end of ends) end();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
