import type { Closable } from '../../core/index.ts';
import { checkEnvelope, checkHostname } from './address.ts';
import {
  openConnection,
  type ClientTls,
  type SmtpClientConnection,
  type TransactionReplies,
} from './connection.ts';
import { SmtpError } from './errors.ts';
import { isTransientReply } from './reply.ts';

export interface RejectedRecipient {
  readonly address: string;
  readonly code: number;
  readonly enhancedCode?: string;
  /** The server's words, at most 500 characters, printable. */
  readonly text: string;
  /** 4xx: try again later. */
  readonly isTransient: boolean;
}

/** What became of each recipient. A refused sender or message counts for all of them. */
export interface SendOutcome {
  readonly accepted: readonly string[];
  readonly rejected: readonly RejectedRecipient[];
}

export interface Delivery {
  /** IP address (as {@link resolveMailHosts} finds it) or name. */
  readonly host: string;
  readonly port: number;
  /** '' for the null sender. */
  readonly mailFrom: string;
  readonly recipients: readonly string[];
  readonly message: Uint8Array;
}

export interface SmtpClientOptions {
  /** Our name in EHLO. */
  readonly hostname: string;
  /** Longest silence of a server. Default 60 s. RFC 5321 §4.5.3.2 would wait for up to ten minutes after the data. */
  readonly timeoutMs?: number;
  /** Longest time for opening a connection, and for one message. Default 15 minutes. */
  readonly totalTimeoutMs?: number;
  readonly tls?: ClientTls;
  /** Idle connections kept per server; 0 switches reuse off. Default 2. */
  readonly maxIdlePerServer?: number;
  /** How long a connection is kept for the next message. Default 10 s. */
  readonly idleMs?: number;
}

/** Sends messages and keeps connections for the next ones to the same server. */
export interface SmtpClient extends Closable {
  /**
   * Throws `SMTP_ADDRESS_INVALID` before anything is sent, and another {@link SmtpError} when nothing was decided.
   * If the connection breaks after the data, the server may have taken the message: then trying again may double it.
   */
  send(delivery: Delivery): Promise<SendOutcome>;
}

interface IdleConnection {
  readonly connection: SmtpClientConnection;
  readonly timer: NodeJS.Timeout;
}

export function createSmtpClient(options: SmtpClientOptions): SmtpClient {
  checkHostname(options.hostname);
  const {
    hostname,
    timeoutMs = 60_000,
    totalTimeoutMs = 15 * 60_000,
    maxIdlePerServer = 2,
    idleMs = 10_000,
  } = options;
  const idle = new Map<string, IdleConnection[]>();
  let isClosed = false;

  const takeIdle = (key: string): SmtpClientConnection | undefined => {
    for (let entry = idle.get(key)?.pop(); entry !== undefined; entry = idle.get(key)?.pop()) {
      clearTimeout(entry.timer);
      if (entry.connection.isReusable()) return entry.connection;
      entry.connection.close();
    }
    idle.delete(key);
    return undefined;
  };
  const putIdle = (key: string, connection: SmtpClientConnection) => {
    const entries = idle.get(key) ?? [];
    if (isClosed || !connection.isReusable() || entries.length >= maxIdlePerServer) return connection.close();
    const timer = setTimeout(() => {
      const kept = idle.get(key) ?? [];
      idle.set(
        key,
        kept.filter((entry) => entry.connection !== connection),
      );
      connection.close();
    }, idleMs);
    // A connection that nobody needs must not keep the process alive.
    timer.unref();
    idle.set(key, [...entries, { connection, timer }]);
  };

  return {
    async send({ host, port, mailFrom, recipients, message }) {
      checkEnvelope(mailFrom, recipients);
      const key = `${host}:${port}`;
      const open = () =>
        openConnection({
          host,
          port,
          hostname,
          timeoutMs,
          totalTimeoutMs,
          ...(options.tls && { tls: options.tls }),
        });
      const transact = async (connection: SmtpClientConnection): Promise<SendOutcome> => {
        try {
          return readOutcome(await connection.transact({ mailFrom, recipients }, message));
        } finally {
          putIdle(key, connection);
        }
      };
      const kept = takeIdle(key);
      if (kept === undefined) return transact(await open());
      try {
        return await transact(kept);
      } catch (error) {
        // The server may have hung up while the connection lay idle. Once more, on a fresh one.
        if (!(error instanceof SmtpError) || !error.isTransient || kept.hasSentData()) throw error;
        return transact(await open());
      }
    },
    async close() {
      isClosed = true;
      for (const { connection, timer } of [...idle.values()].flat()) {
        clearTimeout(timer);
        connection.close();
      }
      idle.clear();
    },
  };
}

export interface SendMailOptions extends Delivery {
  readonly hostname: string;
  readonly timeoutMs: number;
  readonly tls?: ClientTls;
}

/** Sends one message over a connection of its own; see {@link SmtpClient.send}. */
export async function sendMail(options: SendMailOptions): Promise<SendOutcome> {
  const { hostname, timeoutMs, tls } = options;
  const client = createSmtpClient({ hostname, timeoutMs, maxIdlePerServer: 0, ...(tls && { tls }) });
  return client.send(options);
}

function readOutcome({ accepted, rejected }: TransactionReplies): SendOutcome {
  return {
    accepted,
    rejected: rejected.map(({ address, reply }) => ({
      address,
      ...reply,
      isTransient: isTransientReply(reply),
    })),
  };
}
