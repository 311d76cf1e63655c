/**
 * Asks over and over: `node http-load.ts BASE_URL AUTHORIZATION CONNECTIONS SECONDS` takes one path a line from standard
 * input, goes through them again and again, and prints one JSON line. Raw sockets with ready-made requests, so that
 * asking costs as little as possible beside answering.
 */
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';

const [, , baseUrl = '', authorization = '', connections = '20', seconds = '4'] = process.argv;
const { hostname, port, host } = new URL(baseUrl);
const requests = (await text(process.stdin))
  .split('\n')
  .filter((path) => path !== '')
  .map((path) =>
    Buffer.from(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${authorization}\r\n\r\n`),
  );
const endOfHead = Buffer.from('\r\n\r\n');
const latencies: number[] = [];
let asked = 0;
let failures = 0;
let bytes = 0;

/** One connection, one request at a time, until the time is over. */
function ask(endsAtMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    let received: Buffer = Buffer.alloc(0);
    let missing = -1;
    let sentAtMs = 0;
    const send = (): void => {
      sentAtMs = performance.now();
      missing = -1;
      received = Buffer.alloc(0);
      socket.write(requests[asked++ % requests.length] as Buffer);
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
        bytes += length;
        missing = length - (received.length - at - endOfHead.length);
      }
      if (missing > 0) return;
      latencies.push(performance.now() - sentAtMs);
      if (performance.now() < endsAtMs) send();
      else socket.destroy();
    });
  });
}

const startMs = performance.now();
const endsAtMs = startMs + Number(seconds) * 1000;
await Promise.all(Array.from({ length: Number(connections) }, () => ask(endsAtMs)));
const tookSeconds = (performance.now() - startMs) / 1000;
latencies.sort((a, b) => a - b);
const at = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? Number.NaN;
console.log(
  JSON.stringify({
    requestsPerSecond: latencies.length / tookSeconds,
    meanBytes: Math.round(bytes / latencies.length),
    p50Ms: at(0.5),
    p95Ms: at(0.95),
    failures,
  }),
);
