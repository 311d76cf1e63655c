import { type Reservation, createByteCollector } from '../../core/index.ts';
import type { SMTPServerAddress, SMTPServerDataStream, SMTPServerSession } from 'smtp-server';
import { readPath } from './address.ts';
import type { SmtpHandlers, SmtpHeader, SmtpRecipientContext } from './handlers.ts';
import { maxHeaderBytes } from './limits.ts';
import type { SmtpReply } from './reply.ts';
import type { Readable } from 'node:stream';

const notAscii: SmtpReply = {
  code: 553,
  enhancedCode: '5.6.7',
  text: 'Addresses beyond ASCII are not supported',
};
const unknownParameter: SmtpReply = { code: 555, enhancedCode: '5.5.4', text: 'Unknown parameter' };
export const failedHere: SmtpReply = {
  code: 451,
  enhancedCode: '4.3.0',
  text: 'Local error, try again later',
};
export const noMemory: SmtpReply = {
  code: 452,
  enhancedCode: '4.3.1',
  text: 'Too much mail at once, try again later',
};
const tooLarge: SmtpReply = { code: 552, enhancedCode: '5.3.4', text: 'The message exceeds the size limit' };

// Parameters of the extensions that EHLO announces (RFC 1870, RFC 6152); RCPT TO has none.
export const mailParameters: ReadonlySet<string> = new Set(['SIZE', 'BODY']);
/** With the one of AUTH (RFC 4954 §5), which some mail servers give; what it says is not relied on. */
export const submissionParameters: ReadonlySet<string> = new Set([...mailParameters, 'AUTH']);
const rcptParameters: ReadonlySet<string> = new Set();

/** RFC 5321 §4.1.1.11: parameters that were not announced are refused, not ignored. */
export function findPathFault(
  { address, args }: SMTPServerAddress,
  known: ReadonlySet<string>,
): SmtpReply | undefined {
  if (readPath(address) === undefined) return notAscii;
  const isKnown = Object.keys(args === false ? {} : args).every((name) => known.has(name));
  return isKnown ? undefined : unknownParameter;
}

/**
 * What a handler decides: the library turns the error into the reply, and null accepts. An exception gives
 * 451.
 */
export async function decide(
  handlers: Pick<SmtpHandlers, 'onError'>,
  ask: () => Promise<SmtpReply | undefined | void>,
): Promise<Error | null> {
  try {
    const reply = await ask();
    return reply === undefined ? null : replyError(reply);
  } catch (error) {
    handlers.onError?.(error);
    return replyError(failedHere);
  }
}

export async function decideRecipient(
  path: SMTPServerAddress,
  session: SMTPServerSession,
  handlers: SmtpHandlers,
): Promise<Error | null> {
  const fault = findPathFault(path, rcptParameters);
  if (fault !== undefined) return replyError(fault);
  return decide(handlers, async () => {
    const decision = await handlers.onRecipient(readPath(path.address) ?? '', contextOf(session));
    return decision === 'accept' ? undefined : decision;
  });
}

interface Receiving {
  readonly handlers: SmtpHandlers;
  readonly limits: { readonly maxMessageBytes: number };
  /** Released when the message was passed on. */
  readonly reservation: Reservation;
}

/** Collects the message and passes it on; null means that it was accepted. */
export async function takeMessage(
  stream: SMTPServerDataStream,
  session: SMTPServerSession,
  { handlers, limits, reservation }: Receiving,
): Promise<Error | null> {
  const context = contextOf(session);
  const recipients = session.envelope.rcptTo.map((rcpt) => readPath(rcpt.address) ?? rcpt.address);
  return decide(handlers, async () => {
    const collected = await collectMessage(stream, {
      maxBytes: limits.maxMessageBytes,
      reservation,
      maxHeaderBytes,
      checkHeader: (header) => checkHeader(handlers, { ...context, recipients, header }),
    });
    if (collected.outcome === 'refused') return collected.reply;
    if (collected.outcome === 'too-large') return tooLarge;
    if (collected.outcome !== 'whole') return noMemory;
    const { message } = collected;
    return handlers.onMessage({ ...context, recipients, message, isSecure: session.secure });
  }).finally(() => reservation.release());
}

function checkHeader(handlers: SmtpHandlers, header: SmtpHeader): SmtpReply | undefined {
  try {
    return handlers.onHeader?.(header);
  } catch (error) {
    handlers.onError?.(error);
    return failedHere;
  }
}

export function contextOf(session: SMTPServerSession): SmtpRecipientContext {
  const { mailFrom } = session.envelope;
  return {
    mailFrom: mailFrom === false ? '' : (readPath(mailFrom.address) ?? ''),
    remoteAddress: session.remoteAddress,
    ...(typeof session.user === 'object' && session.user !== null && { user: session.user as object }),
  };
}

export function replyError({ code, enhancedCode, text }: SmtpReply): Error {
  const message = enhancedCode === undefined ? text : `${enhancedCode} ${text}`;
  return Object.assign(new Error(message), { responseCode: code });
}

interface Collecting {
  readonly maxBytes: number;
  /** The memory reserved for this message; it grows with the message. */
  readonly reservation: Reservation;
  /** Called with the header as soon as it is complete; with a reply, nothing of the message is kept. */
  readonly checkHeader?: ((header: Buffer) => SmtpReply | undefined) | undefined;
  /** A header that has not ended by then is checked as it is. */
  readonly maxHeaderBytes: number;
}

export type CollectedMessage =
  | { readonly outcome: 'whole'; readonly message: Buffer }
  | { readonly outcome: 'too-large' | 'no-memory' | 'broken-off' }
  | { readonly outcome: 'refused'; readonly reply: SmtpReply };

const headerEnd = Buffer.from('\r\n\r\n');

/**
 * Reads a message to its end, keeping nothing once it is over the limit or the budget or its header was
 * refused: the rest is read and dropped, because SMTP allows a reply only after the message.
 */
export async function collectMessage(
  stream: Readable,
  { maxBytes, reservation, checkHeader, maxHeaderBytes }: Collecting,
): Promise<CollectedMessage> {
  const collector = createByteCollector(reservation.amount, maxBytes);
  let failure: Exclude<CollectedMessage, { outcome: 'whole' }> | undefined;
  let isChecked = checkHeader === undefined;
  // The end of the header may be split between two chunks.
  let searchFrom = 0;
  const fail = (why: Exclude<CollectedMessage, { outcome: 'whole' }>): void => {
    failure ??= why;
    collector.drop();
    reservation.release();
  };

  function check(isEnd: boolean): void {
    if (isChecked) return;
    const head = collector.peek();
    const at = head.indexOf(headerEnd, searchFrom);
    searchFrom = Math.max(0, head.length - headerEnd.length);
    if (at < 0 && !isEnd && head.length < maxHeaderBytes) return;
    isChecked = true;
    const reply = checkHeader?.(at < 0 ? head : head.subarray(0, at + headerEnd.length));
    if (reply !== undefined) fail({ outcome: 'refused', reply });
  }

  function take(chunk: Buffer): void {
    if (failure !== undefined) return;
    if (collector.length + chunk.length > maxBytes) fail({ outcome: 'too-large' });
    else if (!makeRoom(chunk.length)) fail({ outcome: 'no-memory' });
    else {
      collector.add(chunk);
      check(false);
    }
  }

  if (!(await readWhole(stream, take))) fail({ outcome: 'broken-off' });
  else if (failure === undefined) check(true);
  if (failure !== undefined) return failure;
  return { outcome: 'whole', message: collector.take() };

  function makeRoom(bytes: number): boolean {
    const missing = collector.capacityFor(bytes) - reservation.amount;
    return missing <= 0 || reservation.grow(missing) === undefined;
  }
}

/**
 * False if the stream breaks off. Its events cost a fraction of its iterator, which counts for small
 * messages.
 */
function readWhole(stream: Readable, take: (chunk: Buffer) => void): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  stream.on('data', (chunk: Buffer) => {
    try {
      take(chunk);
    } catch {
      // No memory for it: the sender tries again, as after a message that breaks off.
      resolve(false);
    }
  });
  stream.once('end', () => resolve(true));
  stream.once('error', () => resolve(false));
  stream.once('close', () => resolve(false));
  return promise;
}
