/**
 * Asks for one address over and over: `node http-load.ts URL AUTHORIZATION CONNECTIONS SECONDS` prints one JSON line.
 * Raw sockets with a ready-made request, so that asking costs as little as possible beside answering.
 */
import { connect } from 'node:net';

const [, , url = '', authorization = '', connections = '20', seconds = '4'] = process.argv;
const { hostname, port, pathname, search, host } = new URL(url);
const request = Buffer.from(
  `GET ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${authorization}\r\n\r\n`,
);
const endOfHead = Buffer.from('\r\n\r\n');
const endsAtMs = performance.now() + Number(seconds) * 1000;
const latencies: number[] = [];
let failures = 0;

/** One connection, one request at a time, until the time is over. */
function ask(): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    let received: Buffer = Buffer.alloc(0);
    let missing = -1;
    let sentAtMs = 0;
    const send = (): void => {
      sentAtMs = performance.now();
      missing = -1;
      received = Buffer.alloc(0);
      socket.write(request);
    };
    socket.once('connect', send);
    socket.once('error', reject);
    socket.once('close', () => resolve());
    socket.on('data', (chunk: Buffer) => {
      if (missing >= 0) missing -= chunk.length;
      else {
        received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
        const at = received.indexOf(endOfHead);
        if (at < 0) return;
        const head = received.toString('latin1', 0, at);
        if (!head.startsWith('HTTP/1.1 200')) failures++;
        const length = Number(/\ncontent-length: *([0-9]+)/i.exec(head)?.[1] ?? Number.NaN);
        missing = length - (received.length - at - endOfHead.length);
      }
      if (missing > 0) return;
      latencies.push(performance.now() - sentAtMs);
      if (performance.now() < endsAtMs) send();
      else socket.destroy();
    });
  });
}

await Promise.all(Array.from({ length: Number(connections) }, ask));
latencies.sort((a, b) => a - b);
const at = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? Number.NaN;
console.log(
  JSON.stringify({
    requestsPerSecond: latencies.length / Number(seconds),
    p50Ms: at(0.5),
    p95Ms: at(0.95),
    failures,
  }),
);
