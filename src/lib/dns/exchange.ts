import { createSocket } from 'node:dgram';
import { connect, isIPv6 } from 'node:net';
import { createByteCollector, isShortageCode } from '../../core/index.ts';
import { DnsError } from './errors.ts';
import { maxStrayDatagrams, maxTcpOctets } from './limits.ts';
import { readMessage, type DnsMessage } from './message.ts';
import { nameKey } from './names.ts';

export interface DnsServerAddress {
  /** An IP address. */
  readonly host: string;
  readonly port: number;
}

export interface ExchangeOptions {
  readonly server: DnsServerAddress;
  readonly query: Buffer;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** The result of a UDP query: an answer, or the reason to retry over TCP. */
export type UdpOutcome = DnsMessage | 'use-tcp';

/**
 * Sends one question from its own socket (fresh random source port, RFC 5452 §9.2) and waits for the datagram
 * that matches it in id and question. A truncated or unreadable answer, a name in other case than sent, and a
 * series of datagrams that do not match, as in a forging attempt, all end in `use-tcp`.
 */
export function askOverUdp({ server, query, timeoutMs, signal }: ExchangeOptions): Promise<UdpOutcome> {
  const asked = readMessage(query);
  const socket = createSocket(isIPv6(server.host) ? 'udp6' : 'udp4');
  let strays = 0;
  return settleOnce<UdpOutcome>({ server, timeoutMs, signal }, (finish, fail) => {
    socket.on('error', (cause) => fail(unreachable(server, cause)));
    socket.on('message', (bytes) => {
      const outcome = classify(bytes, asked);
      if (outcome !== 'stray') finish(outcome);
      else if (++strays >= maxStrayDatagrams) finish('use-tcp');
    });
    socket.on('connect', () => {
      socket.send(query, (cause) => {
        if (cause) fail(unreachable(server, cause));
      });
    });
    // A connected socket receives datagrams only from this server and reports closed ports. Without a
    // callback, which is called for a failure, too, a failure (no route to the server) is an error event.
    socket.connect(server.port, server.host);
    return () => {
      // Of a socket that was connected a moment ago the event is still to come.
      socket.removeAllListeners('connect');
      socket.close();
    };
  });
}

/** Sends one question over TCP (RFC 7766), with the two length octets and the message in one segment (§8). */
export function askOverTcp({ server, query, timeoutMs, signal }: ExchangeOptions): Promise<DnsMessage> {
  const asked = readMessage(query);
  // An answer may come in single octets: each is copied as it comes, and what has come is not joined again
  // for each.
  const held = createByteCollector(0, maxTcpOctets + 2);
  return settleOnce<DnsMessage>({ server, timeoutMs, signal }, (finish, fail) => {
    const socket = connect({ host: server.host, port: server.port, noDelay: true });
    socket.on('connect', () =>
      socket.write(Buffer.concat([Buffer.of(query.length >> 8, query.length & 0xff), query])),
    );
    socket.on('error', (cause) => fail(unreachable(server, cause)));
    socket.on('close', () =>
      fail(unreachable(server, new Error('The connection was closed before the answer'))),
    );
    socket.on('data', (chunk) => {
      held.add(chunk);
      if (held.length > maxTcpOctets + 2) return fail(invalid('more octets than announced'));
      if (held.length < 2) return;
      const end = 2 + held.peek().readUInt16BE(0);
      if (held.length < end) return;
      try {
        finish(checkTcpAnswer(readMessage(held.take().subarray(2, end)), asked));
      } catch (error) {
        fail(error);
      }
    });
    return () => {
      socket.destroy();
      held.drop();
    };
  });
}

function classify(bytes: Buffer, asked: DnsMessage): UdpOutcome | 'stray' {
  if (bytes.length < 12 || bytes.readUInt16BE(0) !== asked.id) return 'stray';
  const answer = tryRead(bytes);
  // The id fits but the rest does not read: some servers cut a message off at 512 octets (DISC-05).
  if (answer === undefined || (answer.isResponse && answer.isTruncated)) return 'use-tcp';
  if (!isAnswerTo(answer, asked)) return 'stray';
  const isSameCase = answer.questions.length === 0 || answer.questions[0]?.name === asked.questions[0]?.name;
  return isSameCase ? answer : 'use-tcp';
}

function checkTcpAnswer(answer: DnsMessage, asked: DnsMessage): DnsMessage {
  if (answer.id !== asked.id || !isAnswerTo(answer, asked)) throw invalid('an answer to another question');
  if (answer.isTruncated) throw invalid('the truncation flag over TCP');
  return answer;
}

/** RFC 5452 §9.1. A server that cannot read the query may leave the question out (RFC 6891 §7, FORMERR). */
function isAnswerTo(answer: DnsMessage, asked: DnsMessage): boolean {
  const [question] = answer.questions;
  const [wanted] = asked.questions;
  if (!answer.isResponse || wanted === undefined) return false;
  if (question === undefined) return answer.rcode !== 0 && answer.rcode !== 3;
  return (
    question.type === wanted.type &&
    question.recordClass === wanted.recordClass &&
    nameKey(question.name) === nameKey(wanted.name)
  );
}

function tryRead(bytes: Buffer): DnsMessage | undefined {
  try {
    return readMessage(bytes);
  } catch (error) {
    if (error instanceof DnsError) return undefined;
    throw error;
  }
}

type Limits = Pick<ExchangeOptions, 'server' | 'timeoutMs' | 'signal'>;
type Start<T> = (finish: (value: T) => void, fail: (error: unknown) => void) => () => void;

/**
 * Runs `start` until it finishes, fails, times out or is aborted, then calls the stop function it returned,
 * once.
 */
function settleOnce<T>({ server, timeoutMs, signal }: Limits, start: Start<T>): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const abort = () => fail(new DnsError('DNS_CLOSED', 'The resolver was closed'));
  const timer = setTimeout(() => fail(timedOut(server)), timeoutMs);
  let stop: (() => void) | undefined;
  let isSettled = false;
  const settle = () => {
    isSettled = true;
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
    stop?.();
    stop = undefined;
  };
  const fail = (error: unknown) => {
    if (isSettled) return;
    settle();
    reject(error);
  };
  signal.addEventListener('abort', abort);
  stop = start((value) => {
    if (isSettled) return;
    settle();
    resolve(value);
  }, fail);
  if (signal.aborted) abort();
  return promise;
}

function timedOut(server: DnsServerAddress): DnsError {
  return new DnsError('DNS_TIMEOUT', `DNS server ${server.host}:${server.port} did not answer in time`);
}

function unreachable(server: DnsServerAddress, cause: NodeJS.ErrnoException): DnsError {
  if (isShortageCode(cause.code))
    return new DnsError(
      'DNS_NO_SOCKET',
      'No socket could be opened for a DNS query, see the limit of open files',
      {
        cause,
      },
    );
  return new DnsError('DNS_UNREACHABLE', `DNS server ${server.host}:${server.port} cannot be reached`, {
    cause,
  });
}

function invalid(what: string): DnsError {
  return new DnsError('DNS_MESSAGE_INVALID', `The DNS message has ${what}`);
}
