import { setMaxListeners } from 'node:events';
import { LRUCache } from 'lru-cache';
import type { Closable } from '../../core/index.ts';
import { checkEnvelope, checkHostname } from './address.ts';
import {
  openConnection,
  type ClientAuth,
  type ClientTls,
  type SmtpClientConnection,
  type TransactionReplies,
} from './connection.ts';
import type { RejectedReply } from './library-errors.ts';
import { SmtpError } from './errors.ts';
import { defaultMessageReplyMs } from './limits.ts';
import { isTooManyRecipients, isTransientReply } from './reply.ts';

export interface RejectedRecipient {
  readonly address: string;
  readonly code: number;
  readonly enhancedCode?: string;
  /** The server's text, at most 500 characters, printable. */
  readonly text: string;
  /** 4xx: try again later. */
  readonly isTransient: boolean;
}

/** The outcome of each recipient. A refused sender or message counts for all of them. */
export interface SendOutcome {
  readonly accepted: readonly string[];
  readonly rejected: readonly RejectedRecipient[];
  /** The protocol of the session, for example `TLSv1.3`; undefined for clear text. */
  readonly tls?: string;
  /** The server's last reply, for example `250 2.0.0 Ok: queued`; undefined if it refused every recipient. */
  readonly reply?: string;
}

export interface Delivery {
  /** IP address (as {@link resolveMailHosts} finds it) or name. */
  readonly host: string;
  readonly port: number;
  /** '' for the null sender. */
  readonly mailFrom: string;
  readonly recipients: readonly string[];
  /**
   * The message, or what reads it for a try; of the latter nothing is kept while the server's reply is
   * awaited.
   */
  readonly message: Uint8Array | (() => Uint8Array);
  /**
   * Called when the server is ready for the data, before any of it is sent. If it rejects, the connection is
   * closed, the server receives nothing, and `send` rejects with the same error.
   */
  readonly beforeData?: () => Promise<void>;
  /**
   * Called when all data has been handed over, to all recipients that the server takes now: the message is
   * not read again.
   */
  readonly afterData?: () => void;
}

export interface SmtpClientOptions {
  /** Our name in EHLO. */
  readonly hostname: string;
  /** Longest silence of a server. Default 60 s. */
  readonly timeoutMs?: number;
  /**
   * Longest wait for the reply to a whole message; at least `timeoutMs`. Default 10 minutes
   * (RFC 5321 §4.5.3.2.6): who gives up earlier sends a second copy of what a slow server accepts.
   */
  readonly messageReplyTimeoutMs?: number;
  /**
   * Longest time for opening a connection, and for one message. Default 15 minutes. A message of which a
   * server takes so little within `timeoutMs` that what is left of this time would not be enough for the rest
   * is aborted then.
   */
  readonly totalTimeoutMs?: number;
  readonly tls?: ClientTls;
  /** Speaks LMTP (RFC 2033), for one recipient at a time, and not SMTP. */
  readonly isLmtp?: boolean;
  /** Presented to every server, so only for a client that talks to one. */
  readonly auth?: ClientAuth;
  /** Idle connections kept per server; 0 switches reuse off. Default 8. */
  readonly maxIdlePerServer?: number;
  /** Largest number of idle connections; a new one replaces the longest idle one. Default 100. */
  readonly maxIdle?: number;
  /** Messages sent over one connection before it is closed. Default 100. */
  readonly maxMessagesPerConnection?: number;
  /** Time for which an idle connection is kept for the next message. Default 10 s. */
  readonly idleMs?: number;
}

/** Sends messages and keeps connections for the next ones to the same server. */
export interface SmtpClient extends Closable {
  /**
   * Throws `SMTP_ADDRESS_INVALID` before anything is sent, and another {@link SmtpError} when nothing was
   * decided. If the connection breaks after the end of the data, the server may have accepted the message, so
   * a retry may duplicate it: then the error's `fields.hasSentAll` is true. Recipients beyond what the server
   * takes in one transaction are sent to in the next ones.
   */
  send(delivery: Delivery): Promise<SendOutcome>;
  /** Opens a session as for sending, with TLS and authentication, and closes it. Throws {@link SmtpError}. */
  check(server: { readonly host: string; readonly port: number }): Promise<void>;
  /** Also ends what is in progress: it rejects as if the server were unreachable. */
  close(): Promise<void>;
}

/** The session for one message. */
interface Session {
  readonly connection: SmtpClientConnection;
  /** It has served another message before. */
  readonly isKept: boolean;
}

interface IdleConnection {
  readonly key: string;
  readonly connection: SmtpClientConnection;
  readonly timer: NodeJS.Timeout;
}

/** Longest silence of a server during a probe. */
const checkTimeoutMs = 15_000;
/**
 * A server that serves few sessions at a time opens no other while it has these. Whoever has waited for so
 * long takes one that becomes free; not earlier, for most servers have opened a session by then, at a price.
 */
const takeKeptAfterMs = 1_000;
/** Number of servers whose TLS sessions are cached. */
const maxTlsSessions = 1_000;

export function createSmtpClient(options: SmtpClientOptions): SmtpClient {
  checkHostname(options.hostname);
  const {
    hostname,
    timeoutMs = 60_000,
    messageReplyTimeoutMs = defaultMessageReplyMs,
    totalTimeoutMs = 15 * 60_000,
    maxMessagesPerConnection = 100,
  } = options;
  const idle = createIdleConnections(options);
  const closing = new AbortController();
  // One listener for each connection that opens or sends.
  setMaxListeners(0, closing.signal);
  const tlsSessions = new LRUCache<string, Buffer>({ max: maxTlsSessions });

  function open(
    host: string,
    port: number,
    key: string,
    { silenceMs = timeoutMs, openSignals = [] }: { silenceMs?: number; openSignals?: readonly AbortSignal[] },
  ): Promise<SmtpClientConnection> {
    const tlsSession = tlsSessions.get(key);
    return openConnection({
      host,
      port,
      hostname,
      timeoutMs: silenceMs,
      messageReplyTimeoutMs: Math.max(messageReplyTimeoutMs, timeoutMs),
      totalTimeoutMs,
      signal: closing.signal,
      openSignals,
      ...(options.isLmtp === true && { isLmtp: true }),
      ...(options.tls && { tls: options.tls }),
      ...(options.auth && { auth: options.auth }),
      ...(tlsSession && { tlsSession }),
    });
  }

  async function transact(
    connection: SmtpClientConnection,
    key: string,
    delivery: Delivery,
  ): Promise<SendOutcome> {
    const { mailFrom, recipients, message, beforeData } = delivery;
    try {
      const readMessage = typeof message === 'function' ? message : () => message;
      const afterData = (refused: readonly RejectedReply[]): void => {
        if (!refused.some(({ reply }) => isTooManyRecipients(reply))) delivery.afterData?.();
      };
      const content = { readMessage, beforeData, afterData };
      const replies = await connection.transact({ mailFrom, recipients }, content);
      return readOutcome(replies, connection.tls);
    } catch (error) {
      throw connection.hasSentAll() ? withSentAll(error) : error;
    } finally {
      const session = connection.tlsSession();
      if (session !== undefined) tlsSessions.set(key, session);
      if (connection.messages() >= maxMessagesPerConnection) connection.close();
      else idle.put(key, connection);
    }
  }

  /** A new session, or a kept one if one becomes free before. */
  async function openOrTake(key: string, { host, port }: Delivery): Promise<Session> {
    const { promise, resolve, reject } = Promise.withResolvers<Session>();
    const superseded = new AbortController();
    const stopWaiting = idle.awaitOne(key, (connection) => {
      superseded.abort();
      resolve({ connection, isKept: true });
    });
    open(host, port, key, { openSignals: [superseded.signal] })
      .then((connection) => {
        if (superseded.signal.aborted) idle.put(key, connection);
        else resolve({ connection, isKept: false });
      })
      .catch(reject)
      .finally(stopWaiting);
    return promise;
  }

  async function sendOnce(delivery: Delivery): Promise<SendOutcome> {
    const { host, port } = delivery;
    const key = `${host}:${port}`;
    const kept = idle.take(key);
    const { connection, isKept } =
      kept === undefined ? await openOrTake(key, delivery) : { connection: kept, isKept: true };
    try {
      return await transact(connection, key, delivery);
    } catch (error) {
      // The server may have closed the idle connection. Retry once on a new one.
      if (!isKept || !(error instanceof SmtpError) || !error.isTransient || connection.hasSentAll())
        throw error;
      return transact(await open(host, port, key, {}), key, delivery);
    }
  }

  return {
    async send(delivery) {
      checkEnvelope(delivery.mailFrom, delivery.recipients);
      let all = await sendOnce(delivery);
      let last = all;
      for (let rest = listExcess(last); rest.length > 0; rest = listExcess(last)) {
        try {
          // In the same session, if the server keeps it open.
          last = await sendOnce({ ...delivery, recipients: rest });
        } catch {
          // What was accepted stays so; the rest waits with the reply that it has.
          break;
        }
        all = mergeOutcomes(all, last);
      }
      return delivery.recipients.length > 1 ? deferExcess(all) : all;
    },
    async check({ host, port }) {
      const waitMs = Math.min(timeoutMs, checkTimeoutMs);
      (await open(host, port, `${host}:${port}`, { silenceMs: waitMs })).close();
    },
    async close() {
      idle.close();
      closing.abort();
    },
  };
}

/** The recipients that go into the next transaction: the server has taken others. */
function listExcess({ accepted, rejected }: SendOutcome): string[] {
  if (accepted.length === 0) return [];
  return rejected.filter(isTooManyRecipients).map(({ address }) => address);
}

function mergeOutcomes(all: SendOutcome, last: SendOutcome): SendOutcome {
  const decided = new Set([...last.accepted, ...last.rejected.map(({ address }) => address)]);
  return {
    ...all,
    accepted: [...all.accepted, ...last.accepted],
    rejected: [...all.rejected.filter(({ address }) => !decided.has(address)), ...last.rejected],
  };
}

/**
 * Too many at once is never final (RFC 5321 §4.5.3.1.10), whatever the code says; of a single recipient it
 * means something else.
 */
function deferExcess(outcome: SendOutcome): SendOutcome {
  const rejected = outcome.rejected.map((one) =>
    isTooManyRecipients(one) ? { ...one, isTransient: true } : one,
  );
  return { ...outcome, rejected };
}

interface IdleConnections {
  take(key: string): SmtpClientConnection | undefined;
  /** Passes the connection to the one that has waited longest, or keeps it. */
  put(key: string, connection: SmtpClientConnection): void;
  /**
   * Calls `take` with a connection that is idle after {@link takeKeptAfterMs} or becomes so later. Returns
   * the function that ends the wait.
   */
  awaitOne(key: string, take: (connection: SmtpClientConnection) => void): () => void;
  close(): void;
}

function createIdleConnections({
  maxIdlePerServer = 8,
  maxIdle = 100,
  idleMs = 10_000,
}: SmtpClientOptions): IdleConnections {
  // A Set keeps its insertion order: the first has been idle longest.
  const all = new Set<IdleConnection>();
  const byServer = new Map<string, IdleConnection[]>();
  const waiting = new Map<string, Set<(connection: SmtpClientConnection) => void>>();
  let isClosed = false;

  function remove(entry: IdleConnection): SmtpClientConnection {
    clearTimeout(entry.timer);
    all.delete(entry);
    const rest = (byServer.get(entry.key) ?? []).filter((one) => one !== entry);
    if (rest.length === 0) byServer.delete(entry.key);
    else byServer.set(entry.key, rest);
    return entry.connection;
  }

  function takeIdle(key: string): SmtpClientConnection | undefined {
    for (let entry = byServer.get(key)?.at(-1); entry !== undefined; entry = byServer.get(key)?.at(-1)) {
      const connection = remove(entry);
      if (connection.isReusable()) return connection;
      connection.close();
    }
    return undefined;
  }

  return {
    take: takeIdle,
    put(key, connection) {
      const [first] = waiting.get(key) ?? [];
      if (first !== undefined && !isClosed && connection.isReusable()) return first(connection);
      const entries = byServer.get(key) ?? [];
      if (isClosed || !connection.isReusable() || entries.length >= maxIdlePerServer)
        return connection.close();
      const [oldest] = all;
      if (oldest !== undefined && all.size >= maxIdle) remove(oldest).close();
      const timer = setTimeout(() => remove(entry).close(), idleMs);
      // An idle connection must not keep the process alive.
      timer.unref();
      const entry: IdleConnection = { key, connection, timer };
      all.add(entry);
      byServer.set(key, [...(byServer.get(key) ?? []), entry]);
    },
    awaitOne(key, take) {
      const stop = (): void => {
        clearTimeout(timer);
        const others = waiting.get(key);
        others?.delete(takeOnce);
        if (others?.size === 0) waiting.delete(key);
      };
      const takeOnce = (connection: SmtpClientConnection): void => {
        stop();
        take(connection);
      };
      const timer = setTimeout(() => {
        const connection = takeIdle(key);
        if (connection !== undefined) return takeOnce(connection);
        waiting.set(key, (waiting.get(key) ?? new Set()).add(takeOnce));
      }, takeKeptAfterMs);
      return stop;
    },
    close() {
      isClosed = true;
      for (const entry of all) remove(entry).close();
    },
  };
}

export interface SendMailOptions extends Delivery {
  readonly hostname: string;
  readonly timeoutMs: number;
  readonly messageReplyTimeoutMs?: number;
  readonly tls?: ClientTls;
}

/** Sends one message over its own connection; see {@link SmtpClient.send}. */
export async function sendMail(options: SendMailOptions): Promise<SendOutcome> {
  const { hostname, timeoutMs, messageReplyTimeoutMs = defaultMessageReplyMs, tls } = options;
  const client = createSmtpClient({
    hostname,
    timeoutMs,
    messageReplyTimeoutMs,
    maxIdlePerServer: 0,
    ...(tls && { tls }),
  });
  return client.send(options);
}

function readOutcome(
  { accepted, rejected, reply }: TransactionReplies,
  tls: string | undefined,
): SendOutcome {
  return {
    accepted,
    rejected: rejected.map(({ address, reply: refusal }) => ({
      address,
      ...refusal,
      isTransient: isTransientReply(refusal),
    })),
    ...(tls !== undefined && { tls }),
    ...(reply !== undefined && { reply }),
  };
}

function withSentAll(error: unknown): unknown {
  if (!(error instanceof SmtpError)) return error;
  const { code, message, fields, cause } = error;
  return new SmtpError(code, message, { cause, fields: { ...fields, hasSentAll: true } });
}
