/** A DNS server in front of another one, which counts questions and can be slow or silent for some names. UDP only. */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';

export interface SeenQuestion {
  /** In lower case. */
  readonly name: string;
  readonly atMs: number;
}

export interface DnsProxy {
  readonly port: number;
  readonly seen: readonly SeenQuestion[];
  stop(): Promise<void>;
}

/** Delay of the answers about a name in milliseconds; Infinity for no answer. */
export type DelayOf = (name: string) => number;

export async function startDnsProxy(targetPort: number, delayOf: DelayOf = () => 0): Promise<DnsProxy> {
  const seen: SeenQuestion[] = [];
  const upstreams = new Set<Socket>();
  const timers = new Set<NodeJS.Timeout>();
  const front = createSocket('udp4');
  front.on('message', (query, client) => {
    const name = nameOf(query);
    seen.push({ name, atMs: performance.now() });
    const delayMs = delayOf(name);
    if (delayMs === Infinity) return;
    const upstream = createSocket('udp4');
    upstreams.add(upstream);
    const end = (): void => {
      if (upstreams.delete(upstream)) upstream.close();
    };
    upstream.on('error', end);
    upstream.on('message', (answer) => {
      end();
      const timer = setTimeout(() => {
        timers.delete(timer);
        front.send(answer, client.port, client.address);
      }, delayMs);
      timers.add(timer);
    });
    upstream.send(query, targetPort, '127.0.0.1');
  });
  front.bind(0, '127.0.0.1');
  await once(front, 'listening');
  return {
    port: front.address().port,
    seen,
    async stop() {
      for (const timer of timers) clearTimeout(timer);
      for (const upstream of upstreams) upstream.close();
      upstreams.clear();
      await new Promise<void>((resolve) => front.close(() => resolve()));
    },
  };
}

/** RFC 1035 §4.1: the name of the first question, after the header of twelve octets. */
function nameOf(query: Uint8Array): string {
  const labels: string[] = [];
  for (let at = 12; (query[at] ?? 0) > 0; at += (query[at] as number) + 1)
    labels.push(Buffer.from(query.subarray(at + 1, at + 1 + (query[at] as number))).toString('latin1'));
  return labels.join('.').toLowerCase();
}
