import { isAscii } from 'node:buffer';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { TLSSocket } from 'node:tls';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import { isNoSocketCode, viewAsBuffer } from '../../core/index.ts';
import { SmtpError } from './errors.ts';
import {
  describeTlsFailure,
  findDecision,
  readRejection,
  translate,
  type LibraryError,
  type Peer,
  type RejectedReply,
} from './library-errors.ts';
import { sendChunkBytes } from './limits.ts';
import { readReply } from './reply.ts';
import { watchSending } from './send-watch.ts';

export interface ConnectOptions {
  /** IP address or name. */
  readonly host: string;
  readonly port: number;
  /** Our name in EHLO. */
  readonly hostname: string;
  /** Longest silence: connecting, waiting for a reply, handing over data. */
  readonly timeoutMs: number;
  /** Longest silence after the end of a message. */
  readonly messageReplyTimeoutMs: number;
  /**
   * Longest time for opening, and for one message, however busy the server looks. A message is aborted
   * earlier if the server takes so little of it within `timeoutMs` that the rest of this time would not be
   * enough.
   */
  readonly totalTimeoutMs: number;
  /** Ends the opening and any message in progress. */
  readonly signal: AbortSignal;
  /** End the opening alone. */
  readonly openSignals: readonly AbortSignal[];
  readonly tls?: ClientTls;
  readonly isLmtp?: boolean;
  readonly auth?: ClientAuth;
  /**
   * Of an earlier connection to the same server; the handshake is shorter if the server remembers it, too.
   */
  readonly tlsSession?: Buffer;
}

export interface ClientTls {
  /**
   * `opportunistic` (the default) encrypts when the server can and continues in clear text when that fails,
   * because the content is protected by S/MIME (EDGE-06); `required` fails instead; `implicit` is required
   * and begins with the handshake (RFC 8314 §3.3); `never` does not try.
   */
  readonly mode: 'opportunistic' | 'required' | 'implicit' | 'never';
  /** Name in the server's certificate, checked only when required. Default: `host`. */
  readonly serverName?: string;
  /** PEM of the authorities to trust when TLS is required. Default: the system's. */
  readonly ca?: string;
}

/**
 * Credentials for AUTH (RFC 4954). They are sent only after a TLS handshake with a checked certificate, or
 * where TLS is disabled by `never`: with them, `opportunistic` is `required`.
 */
export interface ClientAuth {
  readonly user: string;
  readonly password: string;
}

export interface Envelope {
  readonly mailFrom: string;
  readonly recipients: readonly string[];
}

/** What is sent, and the caller's part in it. */
export interface Content {
  /** Called when sending begins. The bytes are not kept once they have been handed over. */
  readonly readMessage: () => Uint8Array;
  /** Called when the server is ready for the data; if it rejects, nothing is sent. */
  readonly beforeData?: (() => Promise<void>) | undefined;
  /**
   * Called when all data has been handed over, before the server's reply to it, with the recipients that were
   * refused before the data.
   */
  readonly afterData?: ((refused: readonly RejectedReply[]) => void) | undefined;
}

/** The server's replies to one transaction. */
export interface TransactionReplies {
  readonly accepted: readonly string[];
  readonly rejected: readonly RejectedReply[];
  /** The reply to the data. */
  readonly reply?: string;
}

/** One open session with a server. */
export interface SmtpClientConnection {
  /** The protocol, for example `TLSv1.3`; undefined for clear text. */
  readonly tls: string | undefined;
  /** For resumption; in TLS 1.3 the server sends it some time after the handshake. */
  tlsSession(): Buffer | undefined;
  /** Transactions so far. */
  messages(): number;
  /** True when another message may follow: the last transaction is complete and the connection is open. */
  isReusable(): boolean;
  /**
   * True once the whole message of the last transaction was handed over, its end included: the server may
   * have accepted it. What it has not had to the end it cannot have accepted (RFC 5321 §4.1.1.4).
   */
  hasSentAll(): boolean;
  /**
   * Sends one message, octets as they are but for bare CR and LF, which become CRLF. Throws
   * {@link SmtpError}, or the error that `beforeData` rejects with.
   */
  transact(envelope: Envelope, content: Content): Promise<TransactionReplies>;
  /** Sends QUIT, or closes the connection if a transaction is not complete. */
  close(): void;
}

/** Opens a session: greeting, EHLO, STARTTLS, AUTH. Throws {@link SmtpError}. */
export async function openConnection(options: ConnectOptions): Promise<SmtpClientConnection> {
  const wanted = options.tls?.mode ?? 'opportunistic';
  const mode = wanted === 'opportunistic' && options.auth !== undefined ? 'required' : wanted;
  try {
    return await open(options, mode);
  } catch (error) {
    if (mode !== 'opportunistic' || !(error instanceof TlsFailure))
      throw error instanceof TlsFailure ? error.failure : error;
    return open(options, 'never');
  }
}

function tlsFailed({ host, port }: ConnectOptions, cause: SmtpError): SmtpError {
  const why = describeTlsFailure(cause.cause);
  return new SmtpError('SMTP_TLS_FAILED', `TLS with SMTP server ${host}:${port} failed${why}`, {
    cause,
    fields: { ...cause.fields },
  });
}

/** A handshake that failed; the caller may try again without TLS. */
class TlsFailure extends Error {
  readonly failure: SmtpError;

  constructor(failure: SmtpError) {
    super(failure.message);
    this.failure = failure;
  }
}

async function open(options: ConnectOptions, mode: ClientTls['mode']): Promise<SmtpClientConnection> {
  const signals = [options.signal, ...options.openSignals];
  if (signals.some(({ aborted }) => aborted)) throw translate(abortError(), options);
  const { host, port, hostname, timeoutMs, tls, auth } = options;
  const isRequired = mode === 'required' || mode === 'implicit';
  const connection = new SMTPConnection({
    host,
    port,
    name: hostname,
    secure: mode === 'implicit',
    lmtp: options.isLmtp === true,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
    ignoreTLS: mode === 'never',
    requireTLS: mode === 'required',
    opportunisticTLS: mode === 'opportunistic',
    maxResponseSize: 64 * 1024,
    allowInternalNetworkInterfaces: true,
    tls: {
      minVersion: 'TLSv1.2',
      rejectUnauthorized: isRequired,
      ...(tls?.serverName === undefined ? {} : { servername: tls.serverName }),
      ...(tls?.ca === undefined ? {} : { ca: tls.ca }),
      ...(options.tlsSession === undefined ? {} : { session: options.tlsSession }),
    },
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // Errors after the opening belong to the transaction, which handles them; unhandled, they would end the
  // process.
  const fail = (error: LibraryError) => {
    const failure = translate(error, options);
    const isHandshake = mode === 'implicit' && error.command === 'CONN' && error.code === 'ESOCKET';
    const isTls = error.code === 'ETLS' || connection.upgrading === true || isHandshake;
    const isOfServer = !isNoSocketCode(failure.code);
    reject(isTls && isOfServer ? new TlsFailure(tlsFailed(options, failure)) : failure);
  };
  connection.on('error', fail);
  connection.on('end', () => fail(new Error('The connection was closed')));
  const logIn = (): void => {
    if (auth === undefined) return resolve();
    connection.login({ user: auth.user, pass: auth.password }, (error) => (error ? fail(error) : resolve()));
  };
  connection.connect((error) => (error ? fail(error) : logIn()));
  const timer = setTimeout(() => fail(lateError()), options.totalTimeoutMs);
  const onAbort = (): void => fail(abortError());
  for (const signal of signals) signal.addEventListener('abort', onAbort, { once: true });
  try {
    await promise;
  } catch (error) {
    connection.close();
    throw error;
  } finally {
    clearTimeout(timer);
    for (const signal of signals) signal.removeEventListener('abort', onAbort);
  }
  return wrap(connection, options);
}

/** Internals of the library. */
interface WithSocket {
  readonly _socket?: TLSSocket | Socket | false;
}

/** The library ends a connection that is silent for longer. */
function setSilence(connection: SMTPConnection, ms: number): void {
  const socket = (connection as unknown as WithSocket)._socket;
  if (socket) socket.setTimeout(ms);
}

function tlsSocketOf(connection: SMTPConnection): TLSSocket | undefined {
  const socket = (connection as unknown as WithSocket)._socket;
  return socket instanceof TLSSocket ? socket : undefined;
}

function wrap(connection: SMTPConnection, options: ConnectOptions): SmtpClientConnection {
  let isEnded = false;
  let isClean = true;
  let hasBegunData = false;
  let hasSentAll = false;
  let messages = 0;
  connection.on('end', () => {
    isEnded = true;
  });
  return {
    tls: tlsSocketOf(connection)?.getProtocol() ?? undefined,
    tlsSession: () => tlsSocketOf(connection)?.getSession(),
    messages: () => messages,
    isReusable: () => isClean && !isEnded,
    hasSentAll: () => hasSentAll,
    async transact(envelope, { readMessage, beforeData, afterData }) {
      isClean = hasBegunData = hasSentAll = false;
      messages++;
      const endsMs = performance.now() + options.totalTimeoutMs;
      let refusal: { readonly error: unknown } | undefined;
      let endWatch = (): void => {};
      const tooSlow = new AbortController();
      const onStart = async (): Promise<void> => {
        await beforeData?.().catch((error: unknown) => {
          refusal = { error };
          throw error;
        });
        hasBegunData = true;
        if (data.size <= sendChunkBytes) return;
        const { readRestBytes } = data;
        const windowMs = options.timeoutMs;
        endWatch = watchSending({ readRestBytes, windowMs, endsMs, onSlow: () => tooSlow.abort() });
      };
      const onEnd = (): void => {
        hasSentAll = true;
        endWatch();
        setSilence(connection, options.messageReplyTimeoutMs);
        afterData?.(readRejections(tracked, options));
      };
      const data = openData(readMessage(), onStart, onEnd);
      const tracked: TrackedEnvelope = {
        from: envelope.mailFrom,
        to: [...envelope.recipients],
        size: data.size,
        use8BitMime: data.is8Bit,
      };
      try {
        const replies = await send(connection, tracked, { ...data, tooSlow: tooSlow.signal }, options);
        // After anything but success the state of the session is not certain; a new one costs little.
        isClean = replies.accepted.length > 0;
        return replies;
      } catch (error) {
        throw refusal === undefined ? error : refusal.error;
      } finally {
        endWatch();
        setSilence(connection, options.timeoutMs);
      }
    },
    // In the middle of the data, QUIT would be part of the message.
    close: () => (isEnded || (!isClean && hasBegunData) ? connection.close() : connection.quit()),
  };
}

interface MessageData {
  readonly source: Readable;
  readonly size: number;
  readonly is8Bit: boolean;
  /** Bytes of the message that are still to be handed over. */
  readonly readRestBytes: () => number;
}

interface Sending extends MessageData {
  /** Ends the transaction, because the server takes the message too slowly. */
  readonly tooSlow: AbortSignal;
}

/** In the form of the library's own timeout errors. */
function lateError(): LibraryError {
  return Object.assign(new Error('The server takes too long in all'), { code: 'ETIMEDOUT' });
}

function earlyError(): LibraryError {
  return Object.assign(new Error('The server accepts a message before it has it'), { code: 'EPROTOCOL' });
}

function abortError(): LibraryError {
  return Object.assign(new Error('The client was closed'), { code: 'ECONNECTION' });
}

/** The library keeps the state of recipients in the object passed to it. */
interface TrackedEnvelope {
  readonly from: string;
  readonly to: string[];
  readonly size: number;
  readonly use8BitMime: boolean;
  readonly rejectedErrors?: readonly LibraryError[];
}

function send(
  connection: SMTPConnection,
  envelope: TrackedEnvelope,
  { source, readRestBytes, tooSlow }: Sending,
  options: ConnectOptions,
): Promise<TransactionReplies> {
  const { promise, resolve, reject } = Promise.withResolvers<TransactionReplies>();
  const end = (error: LibraryError): void => {
    settled();
    reject(translate(error, options));
    connection.close();
  };
  const timer = setTimeout(() => end(lateError()), options.totalTimeoutMs);
  const onAbort = (): void => end(abortError());
  options.signal.addEventListener('abort', onAbort, { once: true });
  tooSlow.addEventListener('abort', () => end(lateError()), { once: true });
  // Also here: the library calls nobody back once it is closed.
  function settled(): void {
    clearTimeout(timer);
    options.signal.removeEventListener('abort', onAbort);
  }
  connection.send(envelope, source, (error, info) => {
    // It cannot have accepted what it does not have, and the rest would be read as part of the next message.
    if (!error && readRestBytes() > 0) return end(earlyError());
    settled();
    try {
      // If the sender was refused, pipelined recipients (RFC 2920) only get the reply that MAIL is missing.
      const rejected = error?.command === 'MAIL FROM' ? [] : readRejections(envelope, options);
      resolve(
        error
          ? decideByFailure(error, envelope.to, rejected, options)
          : { accepted: without(info.accepted, rejected), rejected, reply: cleanReply(info.response) },
      );
    } catch (failure) {
      reject(failure);
    }
  });
  return promise;
}

/** By LMTP a recipient can be refused after the data; then the library names it in both lists. */
function without(accepted: readonly string[], rejected: readonly RejectedReply[]): readonly string[] {
  if (rejected.length === 0) return accepted;
  const refused = new Set(rejected.map(({ address }) => address));
  return accepted.filter((address) => !refused.has(address));
}

/**
 * The library reads the first piece when the server is ready for the data, not before. A fast peer takes one
 * piece after the other, so the event loop gets its turn in between. Nothing refers to the message once its
 * last piece is read: a server may take ten minutes for its reply.
 */
function openData(message: Uint8Array, onStart: () => Promise<void>, onEnd: () => void): MessageData {
  let rest = viewAsBuffer(message);
  let isFirst = true;
  const source = new Readable({
    // One piece at a time.
    highWaterMark: 1,
    read() {
      const pushPiece = (): void => {
        if (rest.length === 0) {
          onEnd();
          this.push(null);
          return;
        }
        const piece = rest.subarray(0, sendChunkBytes);
        rest = piece.length < rest.length ? rest.subarray(sendChunkBytes) : Buffer.alloc(0);
        this.push(piece);
      };
      if (isFirst)
        void onStart()
          .then(pushPiece)
          .catch((error: unknown) => this.destroy(error as Error));
      else if (rest.length === 0) pushPiece();
      else setImmediate(pushPiece);
      isFirst = false;
    },
  });
  const size = message.length;
  return { source, size, is8Bit: !isAscii(message), readRestBytes: () => rest.length };
}

function readRejections({ rejectedErrors = [] }: TrackedEnvelope, peer: Peer): RejectedReply[] {
  return rejectedErrors.map((one) => readRejection(one, peer));
}

function cleanReply(response: string): string {
  const reply = readReply(response);
  if (reply === undefined) return '';
  return [reply.code, reply.enhancedCode, reply.text].filter((part) => part !== undefined).join(' ');
}

/**
 * Recipients that were refused one by one keep their reply; the others get the one that ended the
 * transaction.
 */
function decideByFailure(
  error: LibraryError,
  recipients: readonly string[],
  rejected: readonly RejectedReply[],
  options: ConnectOptions,
): TransactionReplies {
  const decided = new Set(rejected.map(({ address }) => address));
  const others = recipients.filter((address) => !decided.has(address));
  if (others.length === 0) return { accepted: [], rejected };
  const reply = findDecision(error);
  if (reply === undefined) throw translate(error, options);
  return { accepted: [], rejected: [...rejected, ...others.map((address) => ({ address, reply }))] };
}
