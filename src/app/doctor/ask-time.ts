import { randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { isIP } from 'node:net';
import type { Clock } from '../../core/index.ts';
import type { DnsResolver } from '../../lib/dns/index.ts';

export interface AskTimeOptions {
  readonly host: string;
  readonly port: number;
  readonly clock: Clock;
  readonly dns: Pick<DnsResolver, 'resolveAddresses'>;
  readonly timeoutMs: number;
}

/** Seconds from 1900 to 1970. */
const eraSeconds = 2_208_988_800;
/** No leap warning, version 4, client (RFC 5905 §14). */
const clientMode = 0x23;

/**
 * Milliseconds that this machine's clock is behind a time server, by one SNTP exchange (RFC 5905 §14).
 * Rejects if nobody answers in time or the answer is invalid.
 */
export async function askTime(options: AskTimeOptions): Promise<number> {
  const address = await findAddress(options);
  // The server echoes it, so that nobody else can answer.
  const cookie = randomBytes(8);
  const query = Buffer.alloc(48);
  query[0] = clientMode;
  cookie.copy(query, 40);
  const socket = createSocket(isIP(address) === 6 ? 'udp6' : 'udp4');
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const timer = setTimeout(
    () => reject(new Error(`no answer within ${options.timeoutMs / 1000} s`)),
    options.timeoutMs,
  );
  const sentAt = options.clock.now().getTime();
  socket.on('error', reject);
  socket.on('message', (answer) => {
    const isAnswer =
      answer.length >= 48 && ((answer[0] ?? 0) & 7) === 4 && answer.subarray(24, 32).equals(cookie);
    if (!isAnswer) return;
    const stratum = answer[1] ?? 0;
    if (stratum < 1 || stratum > 15) reject(new Error('the time server is not synchronized'));
    else
      resolve((readTime(answer, 32) - sentAt + (readTime(answer, 40) - options.clock.now().getTime())) / 2);
  });
  try {
    socket.send(query, options.port, address);
    return await promise;
  } finally {
    clearTimeout(timer);
    socket.close();
  }
}

async function findAddress({ host, dns }: AskTimeOptions): Promise<string> {
  if (isIP(host) !== 0) return host;
  const [address] = (await dns.resolveAddresses(host)).records;
  if (address === undefined) throw new Error(`${host} has no address`);
  return address;
}

/** Milliseconds since 1970. The seconds wrap in 2036; the high bit gives the era (RFC 5905 §6). */
function readTime(bytes: Buffer, at: number): number {
  const seconds = bytes.readUInt32BE(at);
  const era = seconds < 0x8000_0000 ? 0x1_0000_0000 : 0;
  return (seconds + era - eraSeconds) * 1000 + (bytes.readUInt32BE(at + 4) / 0x1_0000_0000) * 1000;
}
