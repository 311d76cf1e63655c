import { isAscii } from 'node:buffer';
import { Readable } from 'node:stream';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import { viewAsBuffer } from '../../core/index.ts';
import { SmtpError } from './errors.ts';
import { sendChunkBytes } from './limits.ts';
import { readReply, type SmtpReply } from './reply.ts';

export interface ConnectOptions {
  /** IP address or name. */
  readonly host: string;
  readonly port: number;
  /** Our name in EHLO. */
  readonly hostname: string;
  /** Longest silence: connecting, waiting for a reply, handing over data. */
  readonly timeoutMs: number;
  readonly tls?: ClientTls;
}

export interface ClientTls {
  /**
   * `opportunistic` (the default) encrypts when the server can and goes on in clear text when that fails, because the
   * content is protected by S/MIME (EDGE-06); `required` fails instead; `never` does not try.
   */
  readonly mode: 'opportunistic' | 'required' | 'never';
  /** Name in the server's certificate, checked only when required. Default: `host`. */
  readonly serverName?: string;
  /** PEM authorities to believe when required. Default: the system's. */
  readonly ca?: string;
}

export interface Envelope {
  readonly mailFrom: string;
  readonly recipients: readonly string[];
}

/** What the server said to one transaction. */
export interface TransactionReplies {
  readonly accepted: readonly string[];
  readonly rejected: readonly { readonly address: string; readonly reply: SmtpReply }[];
}

/** One open session with a server. */
export interface SmtpClientConnection {
  readonly isSecure: boolean;
  /** True when another message may follow: the last transaction was complete and nobody hung up. */
  isReusable(): boolean;
  /** True once message data of the last transaction went out, so that the server may have taken it. */
  hasSentData(): boolean;
  /** Sends one message, octets as they are but for bare CR and LF, which become CRLF. Throws {@link SmtpError}. */
  transact(envelope: Envelope, message: Uint8Array): Promise<TransactionReplies>;
  close(): void;
}

/** Opens a session: greeting, EHLO, STARTTLS. Throws {@link SmtpError}. */
export async function openConnection(options: ConnectOptions): Promise<SmtpClientConnection> {
  const mode = options.tls?.mode ?? 'opportunistic';
  try {
    return await open(options, mode);
  } catch (error) {
    if (mode !== 'opportunistic' || !(error instanceof TlsFailure)) throw unwrapTls(error);
    return open(options, 'never').catch((second: unknown) => {
      throw unwrapTls(second);
    });
  }
}

/** A handshake that failed; the caller may try again without TLS. */
class TlsFailure extends Error {
  readonly failure: SmtpError;

  constructor(failure: SmtpError) {
    super(failure.message);
    this.failure = failure;
  }
}

function unwrapTls(error: unknown): unknown {
  return error instanceof TlsFailure ? error.failure : error;
}

async function open(options: ConnectOptions, mode: ClientTls['mode']): Promise<SmtpClientConnection> {
  const { host, port, hostname, timeoutMs, tls } = options;
  const connection = new SMTPConnection({
    host,
    port,
    name: hostname,
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
      rejectUnauthorized: mode === 'required',
      ...(tls?.serverName === undefined ? {} : { servername: tls.serverName }),
      ...(tls?.ca === undefined ? {} : { ca: tls.ca }),
    },
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // Errors after the opening belong to the transaction, which hears of them itself; unheard they would end the process.
  connection.on('error', (error: Error) => reject(translate(error, options)));
  connection.on('end', () => reject(translate(new Error('The connection was closed'), options)));
  connection.connect((error) => (error ? reject(translate(error, options)) : resolve()));
  try {
    await promise;
  } catch (error) {
    connection.close();
    throw error;
  }
  return wrap(connection, options);
}

function wrap(connection: SMTPConnection, options: ConnectOptions): SmtpClientConnection {
  let isEnded = false;
  let isClean = true;
  let hasSentData = false;
  connection.on('end', () => {
    isEnded = true;
  });
  return {
    isSecure: connection.secure,
    isReusable: () => isClean && !isEnded,
    hasSentData: () => hasSentData,
    async transact(envelope, message) {
      isClean = hasSentData = false;
      const source = Readable.from(chunksOf(message, () => (hasSentData = true)));
      const replies = await send(
        connection,
        { ...envelope, size: message.length, is8Bit: !isAscii(message), source },
        options,
      );
      // After anything but success the state of the session is not certain; a new one costs little.
      isClean = replies.accepted.length > 0;
      return replies;
    },
    close: () => (isEnded ? connection.close() : connection.quit()),
  };
}

/** What nodemailer adds to its errors. */
interface LibraryError extends Error {
  readonly code?: string | undefined;
  readonly command?: string | false | undefined;
  readonly response?: string | false | undefined;
  readonly recipient?: string | undefined;
  readonly rejectedErrors?: readonly LibraryError[] | undefined;
}

interface Sending extends Envelope {
  readonly source: Readable;
  readonly size: number;
  readonly is8Bit: boolean;
}

function send(
  connection: SMTPConnection,
  { mailFrom, recipients, source, size, is8Bit }: Sending,
  options: ConnectOptions,
): Promise<TransactionReplies> {
  const { promise, resolve, reject } = Promise.withResolvers<TransactionReplies>();
  const envelope = { from: mailFrom, to: [...recipients], size, use8BitMime: is8Bit };
  connection.send(envelope, source, (error, info) => {
    try {
      if (error) return resolve(readFailure(error, recipients, options));
      resolve({
        accepted: info.accepted,
        rejected: (info.rejectedErrors ?? []).map((one) => readRejection(one, options)),
      });
    } catch (failure) {
      reject(failure);
    }
  });
  return promise;
}

/** The library asks for the first piece when the server is ready for the data, not before. */
function* chunksOf(message: Uint8Array, onStart: () => void): Generator<Buffer> {
  const bytes = viewAsBuffer(message);
  onStart();
  for (let start = 0; start < bytes.length; start += sendChunkBytes)
    yield bytes.subarray(start, start + sendChunkBytes);
}

/** A refusal by the server decides for all recipients; anything else is thrown. */
function readFailure(
  error: LibraryError,
  recipients: readonly string[],
  options: ConnectOptions,
): TransactionReplies {
  if (error.rejectedErrors !== undefined && error.rejectedErrors.length > 0) {
    return { accepted: [], rejected: error.rejectedErrors.map((one) => readRejection(one, options)) };
  }
  const reply = error.response ? readReply(error.response) : refusalBeforeSending(error);
  const isDecision = reply !== undefined && reply.code >= 400 && reply.code !== 421;
  if (!isDecision) throw unwrapTls(translate(error, options));
  return { accepted: [], rejected: recipients.map((address) => ({ address, reply })) };
}

/** The library itself compares with the size that the server announced (RFC 1870 §6.1) and says so in words only. */
function refusalBeforeSending(error: LibraryError): SmtpReply | undefined {
  if (error.code !== 'EMESSAGE' || error.command !== 'MAIL FROM') return undefined;
  return { code: 552, enhancedCode: '5.3.4', text: 'The message exceeds the size that the server announces' };
}

function readRejection(error: LibraryError, options: ConnectOptions): TransactionReplies['rejected'][number] {
  const reply = error.response ? readReply(error.response) : undefined;
  if (reply === undefined || error.recipient === undefined) throw unwrapTls(translate(error, options));
  return { address: error.recipient, reply };
}

function translate(error: LibraryError, { host, port }: ConnectOptions): Error {
  const reply = error.response ? readReply(error.response) : undefined;
  const fields = { host, port, ...(reply === undefined ? {} : { reply }) };
  const failure = (code: ConstructorParameters<typeof SmtpError>[0], what: string) =>
    new SmtpError(code, `SMTP server ${host}:${port} ${what}`, { cause: error, fields });
  if (error.code === 'ETLS') return new TlsFailure(failure('SMTP_UNREACHABLE', 'failed to set up TLS'));
  if (reply !== undefined && reply.code >= 500)
    return failure('SMTP_SESSION_REFUSED', `refused the session: ${reply.text}`);
  if (reply !== undefined && reply.code >= 400)
    return failure('SMTP_SESSION_DEFERRED', `deferred: ${reply.text}`);
  if (error.code === 'ETIMEDOUT') return failure('SMTP_TIMEOUT', 'did not answer in time');
  if (error.code === 'EPROTOCOL') return failure('SMTP_PROTOCOL', 'does not speak SMTP');
  return failure('SMTP_UNREACHABLE', 'cannot be reached or hung up');
}
