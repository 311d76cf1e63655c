import { constants } from 'node:crypto';
import type { SMTPServerOptions } from 'smtp-server';
import type { Budget } from '../../core/index.ts';
import { readPath } from './address.ts';
import type { SmtpHandlers, SmtpRecipientContext } from './handlers.ts';
import * as defaults from './limits.ts';
import type { Offers } from './offers.ts';
import {
  contextOf,
  decide,
  decideRecipient,
  findPathFault,
  mailParameters,
  replyError,
  submissionParameters,
  takeMessage,
} from './receive.ts';
import type { SmtpReply } from './reply.ts';

export interface SmtpServerLimits {
  readonly maxMessageBytes?: number;
  readonly maxBytesInFlight?: number;
  readonly maxBytesPerNetwork?: number;
  readonly maxRecipients?: number;
  readonly maxConnections?: number;
  readonly maxConnectionsPerPeer?: number;
  /** A network is a /24 of IPv4 or a /64 of IPv6. */
  readonly maxConnectionsPerNetwork?: number;
  readonly evictIdleMs?: number;
  readonly maxUselessCommands?: number;
  /** 0 for none. */
  readonly minBytesPerSecond?: number;
  readonly rateWindowMs?: number;
  readonly idleMs?: number;
  readonly maxLineMs?: number;
  readonly maxHandshakeMs?: number;
  readonly maxSessionMs?: number;
  readonly closeGraceMs?: number;
}

export interface SmtpServerOptions {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  /** Our name in the greeting. */
  readonly hostname: string;
  readonly handlers: SmtpHandlers;
  readonly limits?: SmtpServerLimits;
  /** Told of each connection that is refused or ended because there are too many. */
  readonly onClosed?: (reason: 'address' | 'network' | 'idle' | 'full') => void;
  /** Memory for messages being received, by network; by default a budget made of the limits. */
  readonly budget?: Budget;
  /** PEM key and certificate chain. Without them STARTTLS is not offered. */
  readonly tls?: { readonly key: string | Buffer; readonly cert: string | Buffer };
  /** Makes it a server for submission; then `tls` is required. */
  readonly submission?: SubmissionOptions;
}

/** Nothing is taken without a sign-in, and no sign-in without TLS (RFC 6409, RFC 8314 §3.3). */
export interface SubmissionOptions {
  /** Whether TLS begins with the connection (port 465) or by STARTTLS (port 587). */
  readonly isImplicitTls: boolean;
  /** Returns the user, whom the handlers are given, or the reply of the refusal. */
  signIn(credentials: SubmittedCredentials): Promise<{ readonly user: object } | SmtpReply>;
  /** Decides at MAIL FROM whether the user may send as this address. An exception gives 451. */
  onSender(context: SmtpRecipientContext): Promise<SmtpReply | undefined>;
}

export interface SubmittedCredentials {
  readonly username: string;
  readonly password: string;
  readonly remoteAddress: string;
}

/**
 * Our options as options of the library; `busySessions` is kept up to date with the sessions that wait for a
 * message to be accepted.
 */
export function libraryOptions(
  options: SmtpServerOptions,
  limits: Required<SmtpServerLimits>,
  { busySessions, offers }: { readonly busySessions: Set<string>; readonly offers: Offers },
): SMTPServerOptions {
  const { handlers, tls, submission } = options;
  // The library's built-in key is public, so without a configured key STARTTLS is not offered.
  const disabledCommands = [
    'WIZ',
    'SHELL',
    'KILL',
    ...(submission === undefined ? ['AUTH'] : []),
    ...(tls === undefined || submission?.isImplicitTls === true ? ['STARTTLS'] : []),
  ];
  return {
    name: options.hostname,
    size: limits.maxMessageBytes,
    maxRecipients: limits.maxRecipients,
    maxCommandLength: defaults.maxCommandOctets,
    socketTimeout: limits.idleMs,
    closeTimeout: limits.closeGraceMs,
    disabledCommands,
    authOptional: submission === undefined,
    ...(submission && submissionOptions(submission, handlers)),
    disableReverseLookup: true,
    hideENHANCEDSTATUSCODES: false,
    hideSMTPUTF8: true,
    heloResponse: '%s',
    ...(tls && { ...tls, minVersion: 'TLSv1.2', secureOptions: constants.SSL_OP_NO_RENEGOTIATION }),
    onClose: (session) => void busySessions.delete(session.id),
    onMailFrom: (address, session, done) => {
      const known = submission === undefined ? mailParameters : submissionParameters;
      const reply = findPathFault(address, known) ?? offers.check(session, address);
      if (reply !== undefined || submission === undefined)
        return done(reply === undefined ? null : replyError(reply));
      const context = { ...contextOf(session), mailFrom: readPath(address.address) ?? '' };
      void answer(
        decide(handlers, () => submission.onSender(context)),
        done,
      );
    },
    onRcptTo: (address, session, done) => {
      void answer(decideRecipient(address, session, handlers), done);
    },
    onData: (stream, session, done) => {
      busySessions.add(session.id);
      void answer(
        takeMessage(stream, session, { handlers, limits, reservation: offers.take(session) }),
        (error) => {
          busySessions.delete(session.id);
          done(error, '2.0.0 Message accepted');
        },
      );
    },
  };
}

async function answer(decision: Promise<Error | null>, done: (error: Error | null) => void): Promise<void> {
  done(await decision);
}

function submissionOptions(
  { isImplicitTls, signIn }: SubmissionOptions,
  handlers: SmtpHandlers,
): SMTPServerOptions {
  return {
    secure: isImplicitTls,
    authMethods: ['PLAIN', 'LOGIN'],
    allowInsecureAuth: false,
    onAuth: ({ username, password }, { remoteAddress }, done) => {
      const credentials = { username: username ?? '', password: password ?? '', remoteAddress };
      void answerSignIn(decideSignIn(signIn, handlers, credentials), done);
    },
  };
}

/** RFC 4954 §4: a failure that is not the client's. */
const temporary: SmtpReply = {
  code: 454,
  enhancedCode: '4.7.0',
  text: 'Sign-in is not possible at present, try again later',
};

async function answerSignIn(
  decision: ReturnType<SubmissionOptions['signIn']>,
  done: (error: Error | null, response?: { readonly user: object }) => void,
): Promise<void> {
  const result = await decision;
  if ('user' in result) done(null, result);
  else done(replyError(result));
}

async function decideSignIn(
  signIn: SubmissionOptions['signIn'],
  handlers: SmtpHandlers,
  credentials: SubmittedCredentials,
): ReturnType<SubmissionOptions['signIn']> {
  try {
    return await signIn(credentials);
  } catch (error) {
    handlers.onError?.(error);
    return temporary;
  }
}
