import { isShortageCode } from '../../core/index.ts';
import { SmtpError, type SmtpErrorCode } from './errors.ts';
import { readReply, type SmtpReply } from './reply.ts';

/** Of what TLS objects to. */
const maxTlsText = 200;

/** The fields that nodemailer adds to its errors. */
export interface LibraryError extends Error {
  readonly code?: string | undefined;
  /** The system's code, which `code` has replaced. */
  readonly originalCode?: string | undefined;
  readonly command?: string | false | undefined;
  readonly response?: string | false | undefined;
  readonly recipient?: string | undefined;
}

export interface RejectedReply {
  readonly address: string;
  readonly reply: SmtpReply;
}

export interface Peer {
  readonly host: string;
  readonly port: number;
}

/** The reply behind the error of one recipient. Throws {@link SmtpError} when there is none. */
export function readRejection(error: LibraryError, peer: Peer): RejectedReply {
  const reply = replyOf(error);
  if (reply === undefined || error.recipient === undefined) throw translate(error, peer);
  return { address: error.recipient, reply };
}

/**
 * The reply that decides about sender, data or message, and so about every recipient that has no separate
 * reply. Undefined when the server has decided nothing: it closed the connection, or replied 421.
 */
export function findDecision(error: LibraryError): SmtpReply | undefined {
  const reply = replyOf(error) ?? refusalBeforeSending(error);
  return reply !== undefined && reply.code >= 400 && reply.code !== 421 ? reply : undefined;
}

/**
 * The library itself compares with the size that the server announced (RFC 1870 §6.1) and reports it in the
 * error's text only.
 */
function refusalBeforeSending(error: LibraryError): SmtpReply | undefined {
  if (error.code !== 'EMESSAGE' || error.command !== 'MAIL FROM') return undefined;
  return { code: 552, enhancedCode: '5.3.4', text: 'The message exceeds the size that the server announces' };
}

export function translate(error: LibraryError, { host, port }: Peer): SmtpError {
  const reply = replyOf(error);
  const fields = { host, port, ...(reply === undefined ? {} : { reply }) };
  const failure = (code: SmtpErrorCode, what: string) =>
    new SmtpError(code, `SMTP server ${host}:${port} ${what}`, { cause: error, fields });
  if (isShortageCode(error.originalCode))
    return failure('SMTP_NO_SOCKET', 'was not asked: no socket could be opened, see the limit of open files');
  if (error.code === 'EAUTH' && (reply === undefined || reply.code >= 500))
    return failure(
      'SMTP_AUTH_FAILED',
      `does not take the credentials${reply === undefined ? '' : `: ${reply.text}`}`,
    );
  if (reply !== undefined && reply.code >= 500) {
    return failure('SMTP_SESSION_REFUSED', `refused the session: ${reply.text}`);
  }
  if (reply !== undefined && reply.code >= 400)
    return failure('SMTP_SESSION_DEFERRED', `deferred: ${reply.text}`);
  if (error.code === 'ETIMEDOUT') return failure('SMTP_TIMEOUT', 'did not answer in time');
  if (error.code === 'EPROTOCOL') return failure('SMTP_PROTOCOL', 'does not speak SMTP');
  return failure('SMTP_UNREACHABLE', describeLoss(error.message));
}

/**
 * Tells a machine without a mail server from a firewall and from a server that hangs up: their remedies
 * differ.
 */
function describeLoss(text: string): string {
  if (text.includes('ECONNREFUSED')) return 'refused the connection';
  if (/E(?:HOST|NET)UNREACH/.test(text)) return 'cannot be reached: no route to it';
  if (/ECONNRESET|EPIPE|Connection closed/.test(text)) return 'closed the connection';
  return 'cannot be reached or hung up';
}

function replyOf(error: LibraryError): SmtpReply | undefined {
  return error.response ? readReply(error.response) : undefined;
}

/**
 * What TLS objects to, for example `: self-signed certificate`; empty if unknown. The text may contain names
 * of the peer's certificate, so it is cut and freed of control characters like a reply.
 */
export function describeTlsFailure(error: unknown): string {
  if (!(error instanceof Error)) return '';
  // What follows are hints for developers.
  const [line = ''] = error.message.split(/;|\n/, 1);
  // OpenSSL writes thread, `error`, code, library, function, reason and place.
  const text = /:error:[0-9A-F]+:[^:]*:[^:]*:([^:]+):/.exec(line)?.[1] ?? line;
  if (text === 'wrong version number') return ': it does not speak TLS at once on this port';
  const clean = text
    .replaceAll(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, maxTlsText);
  return clean === '' ? '' : `: ${clean}`;
}
