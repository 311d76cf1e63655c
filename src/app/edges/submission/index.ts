/**
 * Mail submission (RFC 6409) for the mail programs of a client: signs in an edge account inside TLS, and
 * hands what it sends to the messaging service as it came.
 * Used by `app/edges`.
 */
import { CodedError, errorCode, errorText, type Budget, type Log } from '../../../core/index.ts';
import { createSmtpServer, type SmtpReply, type SmtpServer } from '../../../lib/smtp/index.ts';
import { findDirectAddress } from '../../../lib/values/index.ts';
import type { DiskGuard, TlsFiles } from '../../../platform/index.ts';
import type { EdgeSession, Edges } from '../../../service/edges/index.ts';
import type { Messaging, SubmitAnswer } from '../../../service/messaging/index.ts';

export interface SubmissionListenerOptions {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  readonly hostname: string;
  readonly tls: TlsFiles;
  readonly isImplicitTls: boolean;
  readonly maxConnections: number;
  readonly maxConnectionsPerAddress: number;
  /** Memory for messages being received. */
  readonly budget: Budget;
  readonly edges: Pick<Edges, 'signIns'>;
  readonly messaging: Pick<
    Messaging,
    'limits' | 'limitSends' | 'authorizeSender' | 'submit' | 'isKnownRecipient'
  >;
  readonly disk: Pick<DiskGuard, 'requireRoom'>;
  readonly onClosed: (reason: string) => void;
  readonly log: Log;
}

const badAddress: SmtpReply = { code: 553, enhancedCode: '5.1.3', text: 'Not a Direct address' };
const unknownHere: SmtpReply = { code: 550, enhancedCode: '5.1.1', text: 'Address not found' };
const notYours: SmtpReply = {
  code: 553,
  enhancedCode: '5.7.1',
  text: 'This account may not send as that address',
};
const badPassword: SmtpReply = {
  code: 535,
  enhancedCode: '5.7.8',
  text: 'User name or password is wrong, or the account may not submit mail',
};
const idReused: SmtpReply = {
  code: 554,
  enhancedCode: '5.6.0',
  text: 'Message-ID: used before, for another message or some of these recipients; send it with a new Message-ID',
};
const tooManyAttempts: SmtpReply = {
  code: 454,
  enhancedCode: '4.7.0',
  text: 'Too many failed sign-ins from this address, try again in a minute',
};

/** Mail programs keep a connection open for what is written next (RFC 5321 §4.5.3.2.7: five minutes). */
const idleMs = 5 * 60_000;

export function startSubmission(options: SubmissionListenerOptions): Promise<SmtpServer> {
  const { edges, messaging, disk, log, isImplicitTls } = options;
  const renewed = async (user: object | undefined): Promise<EdgeSession | undefined> => {
    try {
      return await edges.signIns.renew(user as EdgeSession, 'submission');
    } catch (error) {
      if (errorCode(error) === 'EDGES_SIGN_IN_REFUSED') return undefined;
      throw error;
    }
  };
  return createSmtpServer({
    host: options.host,
    port: options.port,
    hostname: options.hostname,
    tls: options.tls,
    budget: options.budget,
    onClosed: options.onClosed,
    limits: {
      // As much as the same content may be by REST, in base64.
      maxMessageBytes: Math.ceil(messaging.limits.maxAttachmentBytes * 1.4) + 1_000_000,
      maxRecipients: messaging.limits.maxRecipients,
      maxConnections: options.maxConnections,
      maxConnectionsPerPeer: options.maxConnectionsPerAddress,
      maxConnectionsPerNetwork: options.maxConnections,
      idleMs,
    },
    submission: {
      isImplicitTls,
      async signIn(credentials) {
        try {
          return { user: await edges.signIns.signIn({ ...credentials, protocol: 'submission' }) };
        } catch (error) {
          const code = errorCode(error);
          if (code === 'EDGES_SIGN_IN_REFUSED') return badPassword;
          if (code === 'EDGES_ATTEMPTS_EXCEEDED') return tooManyAttempts;
          throw error;
        }
      },
      async onSender({ mailFrom, user, remoteAddress }) {
        const from = findDirectAddress(mailFrom);
        if (from === undefined) return badAddress;
        const session = await renewed(user);
        if (session === undefined) return badPassword;
        return replyOf(() => messaging.authorizeSender(session.client, from, { remoteAddress }));
      },
    },
    handlers: {
      onOffer: ({ sizeBytes = 0 }) => deferring(() => disk.requireRoom(sizeBytes)),
      async onRecipient(text) {
        const address = findDirectAddress(text);
        if (address === undefined) return badAddress;
        return (await messaging.isKnownRecipient(address)) === false ? unknownHere : 'accept';
      },
      async onMessage({ mailFrom, recipients, message, user, remoteAddress }) {
        const session = await renewed(user);
        if (session === undefined) return badPassword;
        return replyOf(async () => {
          messaging.limitSends(session.client, () => {});
          const mail = { from: mailFrom, to: recipients, message };
          const answer = await messaging.submit(session.client, mail, { remoteAddress });
          requireAll(answer);
        });
      },
      onError(error) {
        log.warn({ code: errorCode(error), problem: errorText(error) }, 'a submission connection failed');
      },
    },
  });
}

/** Each recipient was accepted at RCPT, so none is left out in silence. */
function requireAll({ refused }: SubmitAnswer): void {
  if (refused.length > 0) throw new TypeError('a recipient was accepted and then refused');
}

async function replyOf(work: () => Promise<void>): Promise<SmtpReply | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    switch (error.code) {
      case 'MESSAGING_SENDER_NOT_OWNED':
      case 'MESSAGING_SENDER_NOT_HOSTED':
        return notYours;
      case 'MESSAGING_RATE_LIMITED':
        return { code: 451, enhancedCode: '4.7.28', text: 'This account sends too fast, try again later' };
      case 'ORGANIZATION_DAY_FULL':
        return { code: 452, enhancedCode: '4.7.28', text: textOf(error) };
      case 'MESSAGING_TOO_LARGE':
        return { code: 552, enhancedCode: '5.3.4', text: textOf(error) };
      case 'MESSAGING_ID_REUSED':
        return idReused;
      case 'MESSAGING_REQUEST_INVALID':
        return { code: 554, enhancedCode: '5.6.0', text: textOf(error) };
      default:
        throw error;
    }
  }
}

/** In one line, as long as a reply may be (RFC 5321 §4.5.3.1.5). */
function textOf(error: CodedError): string {
  const details = error.problems.map(({ field, detail }) => `${field}: ${detail}`).join(' ');
  return (details === '' ? error.publicMessage : details).replace(/[^\x20-\x7e]+/g, ' ').slice(0, 400);
}

function deferring(check: () => void): SmtpReply | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (errorCode(error) !== 'PLATFORM_DISK_LOW') throw error;
    return { code: 452, enhancedCode: '4.3.1', text: 'Not enough disk space, try again later' };
  }
}
