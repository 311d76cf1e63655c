/**
 * Asks over and over, in its own process: `node http-load.ts BASE_URL AUTHORIZATION` takes one order per line from
 * standard input and answers each with one line, both JSON. Raw sockets with ready-made requests, so that asking costs as
 * little as possible compared with answering.
 */
import { connect } from 'node:net';
import { createInterface } from 'node:readline';

/** The paths to request, in turn and repeatedly. */
export interface LoadOrder {
  readonly paths: readonly string[];
  readonly connections: number;
  readonly seconds: number;
  /** Ends earlier after so many requests. */
  readonly maxRequests?: number;
}

export interface LoadResult {
  readonly requests: number;
  readonly requestsPerSecond: number;
  readonly meanBytes: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  /** Answers that were not success. */
  readonly failures: number;
  /** In the order of asking if there is one connection. */
  readonly latenciesMs: readonly number[];
}

const [, , baseUrl = '', authorization = ''] = process.argv;
const { hostname, port, host } = new URL(baseUrl);
const endOfHead = Buffer.from('\r\n\r\n');

function toRequest(path: string): Buffer {
  return Buffer.from(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${authorization}\r\n\r\n`);
}

/** State shared by the connections of one order. */
interface Running {
  readonly requests: readonly Buffer[];
  readonly endsAtMs: number;
  readonly maxRequests: number;
  readonly latencies: number[];
  asked: number;
  failures: number;
  bytes: number;
}

/** One connection, one request at a time, until the order is carried out. */
function ask(running: Running): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    let received: Buffer = Buffer.alloc(0);
    let missing = -1;
    let sentAtMs = 0;
    const send = (): void => {
      sentAtMs = performance.now();
      if (sentAtMs >= running.endsAtMs || running.asked >= running.maxRequests) {
        socket.destroy();
        return;
      }
      missing = -1;
      received = Buffer.alloc(0);
      socket.write(running.requests[running.asked++ % running.requests.length] as Buffer);
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
        if (!head.startsWith('HTTP/1.1 200')) running.failures++;
        const length = Number(/\ncontent-length: *([0-9]+)/i.exec(head)?.[1] ?? Number.NaN);
        running.bytes += length;
        missing = length - (received.length - at - endOfHead.length);
      }
      if (missing > 0) return;
      running.latencies.push(performance.now() - sentAtMs);
      send();
    });
  });
}

async function carryOut({ paths, connections, seconds, maxRequests }: LoadOrder): Promise<LoadResult> {
  const startMs = performance.now();
  const running: Running = {
    requests: paths.map(toRequest),
    endsAtMs: startMs + seconds * 1000,
    maxRequests: maxRequests ?? Infinity,
    latencies: [],
    asked: 0,
    failures: 0,
    bytes: 0,
  };
  await Promise.all(Array.from({ length: connections }, () => ask(running)));
  const tookSeconds = (performance.now() - startMs) / 1000;
  const { failures, bytes } = running;
  const latencies = running.latencies.toSorted((a, b) => a - b);
  const at = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? Number.NaN;
  return {
    requests: latencies.length,
    requestsPerSecond: latencies.length / tookSeconds,
    meanBytes: Math.round(bytes / latencies.length),
    p50Ms: at(0.5),
    p95Ms: at(0.95),
    failures,
    latenciesMs: running.latencies,
  };
}

for await (const line of createInterface(process.stdin)) {
  console.log(JSON.stringify(await carryOut(JSON.parse(line) as LoadOrder)));
}
