import { randomUUID } from 'node:crypto';
import {
  CodedError,
  errorCode,
  type Budget,
  type Clock,
  type Log,
  type Reservation,
} from '../../../core/index.ts';
import { findDirectAddress, type DirectAddress } from '../../../lib/values/index.ts';
import { edgesOverloaded, toldByLine, type Edges, type EdgeSession } from '../../../service/edges/index.ts';
import type { AddressCheck, InboundPayload, Messaging, Outcome } from '../../../service/messaging/index.ts';
import type { EdgeConnection } from '../connection.ts';
import { isSignInRefusal } from '../sign-in.ts';
import { cutLine, showMessage, toSendRequest, type HandedPart, type ShownMessage } from './line-message.ts';

export interface LineDependencies {
  readonly edges: Pick<Edges, 'signIns' | 'leases' | 'offers'>;
  readonly messaging: Pick<
    Messaging,
    | 'limits'
    | 'limitSends'
    | 'send'
    | 'checkRecipients'
    | 'listInbox'
    | 'readInbox'
    | 'acknowledge'
    | 'listOutcomes'
    | 'noteTold'
  >;
  /** Memory for messages that are sent or fetched, by account. */
  readonly budget: Budget;
  readonly clock: Clock;
  readonly log: Log;
}

const maxCommandOctets = 4096;
const maxSignIns = 3;
const beforeSignInMs = 60_000;
const idleMs = 5 * 60_000;
/** A client that lets the memory of a message wait longer in all for its commands is cut off. */
const longestHoldMs = 10 * 60_000;
/**
 * A client stores the id of what it sent after it has closed the connection; a status that came before would
 * be acknowledged and lost.
 */
const holdStatusMs = 10_000;
/** A message that a client failed to take so often waits behind all others. */
const maxOffers = 3;
/** Clients read at most 511 octets of this line. */
const maxMailLine = 510;

/** What the client has been given and has not confirmed. */
type Given =
  | { readonly kind: 'status'; readonly outcome: Outcome }
  | { readonly kind: 'mail'; readonly copyId: string; readonly shown: ShownMessage };

interface Draft {
  to: DirectAddress[];
  text: Buffer | undefined;
  parts: HandedPart[];
  octets: number;
  requestsFinalDelivery: boolean | undefined;
}

const emptyDraft = (): Draft => ({
  to: [],
  text: undefined,
  parts: [],
  octets: 0,
  requestsFinalDelivery: undefined,
});

/**
 * The line protocol of OpenEMR and LibreHealth EHR: lines that end in LF, counted octets, one answer for each
 * command. Nothing leaves the queue before the client has confirmed it, and nothing is confirmed to the
 * client before it is stored.
 */
export async function serveLine(
  connection: EdgeConnection,
  deps: LineDependencies,
  holdMs: number = longestHoldMs,
): Promise<void> {
  connection.setIdleTimeout(beforeSignInMs);
  const session = new LineSession(connection, deps, holdMs);
  try {
    while (!connection.isClosing && (await session.step()));
  } finally {
    await session.close();
  }
}

class LineSession {
  readonly #connection: EdgeConnection;
  readonly #deps: LineDependencies;
  readonly #sessionId = randomUUID();
  #session: EdgeSession | undefined;
  #failedSignIns = 0;
  #draft = emptyDraft();
  #given: Given | undefined;
  #hasLease = false;
  /** Of the draft, and of the message that was given. */
  #drafted: Reservation | undefined;
  #shown: Reservation | undefined;
  readonly #holdMs: number;
  /** How long commands were waited for while memory was held. */
  #waitedMs = 0;

  constructor(connection: EdgeConnection, deps: LineDependencies, holdMs: number) {
    this.#connection = connection;
    this.#deps = deps;
    this.#holdMs = holdMs;
  }

  /** One command and its answer; false at the end of the session. */
  async step(): Promise<boolean> {
    const line = await this.#readCommand();
    if (line === undefined) return false;
    if (line === 'too-long') {
      await this.#answer('ERROR the line is too long');
      return false;
    }
    const text = line.toString('utf8');
    const [, word = '', rest = ''] = /^(\S*) ?(.*)$/s.exec(text) ?? [];
    try {
      return await this.#run(word.toUpperCase(), rest);
    } catch (error) {
      return this.#refuse(error);
    }
  }

  async #readCommand(): Promise<Buffer | 'too-long' | undefined> {
    const { reader } = this.#connection;
    if (this.#drafted === undefined && this.#shown === undefined) {
      this.#waitedMs = 0;
      return reader.readLine(maxCommandOctets);
    }
    const began = performance.now();
    const timer = setTimeout(() => this.#connection.destroy(), this.#holdMs - this.#waitedMs);
    try {
      return await reader.readLine(maxCommandOctets);
    } finally {
      clearTimeout(timer);
      this.#waitedMs += performance.now() - began;
    }
  }

  async close(): Promise<void> {
    this.#endDraft();
    this.#endGiven();
    const accountId = this.#session?.account.accountId;
    if (this.#hasLease && accountId !== undefined)
      await this.#deps.edges.leases.release(accountId, this.#sessionId);
  }

  #run(word: string, rest: string): Promise<boolean> {
    switch (word) {
      case 'INFO':
        return this.#answer('OK');
      case 'AUTH':
        return this.#signIn(rest);
      case 'BYE':
      case 'QUIT':
        return Promise.resolve(false);
      case 'OK':
        // After SEND as well, where there is nothing to confirm.
        return this.#confirmStatus();
    }
    if (this.#session === undefined) return this.#answer('ERROR sign in first');
    switch (word) {
      case 'TO':
        return this.#addRecipient(rest.trim());
      case 'TEXT':
        return this.#addText(rest);
      case 'ADD':
        return this.#addPart(rest);
      case 'SET':
        return this.#setOption(rest);
      case 'SEND':
        return this.#send();
      case 'CHECK':
        return this.#check();
      case 'SHOW':
        return this.#show(rest);
      case 'DONE':
        return this.#done();
      default:
        return this.#answer('ERROR unknown command');
    }
  }

  async #signIn(rest: string): Promise<boolean> {
    const space = rest.indexOf(' ');
    const username = space === -1 ? rest : rest.slice(0, space);
    const password = space === -1 ? '' : rest.slice(space + 1);
    if (this.#session !== undefined) return this.#answer('ERROR already signed in');
    try {
      this.#session = await this.#deps.edges.signIns.signIn({
        username,
        password,
        protocol: 'line',
        remoteAddress: this.#connection.remoteAddress,
      });
    } catch (error) {
      if (!isSignInRefusal(error)) throw error;
      await this.#answer(`ERROR ${error.publicMessage}`);
      return ++this.#failedSignIns < maxSignIns && errorCode(error) !== 'EDGES_ATTEMPTS_EXCEEDED';
    }
    this.#connection.noteSignIn();
    this.#connection.setIdleTimeout(idleMs);
    return this.#answer('OK');
  }

  /** The session as it is now. Throws EDGES_SIGN_IN_REFUSED. */
  async #renewed(): Promise<EdgeSession> {
    this.#session = await this.#deps.edges.signIns.renew(this.#session as EdgeSession, 'line');
    return this.#session;
  }

  #sender({ account }: EdgeSession): DirectAddress {
    return findDirectAddress(account.username) as DirectAddress;
  }

  async #addRecipient(text: string): Promise<boolean> {
    const session = await this.#renewed();
    const { messaging } = this.#deps;
    if (this.#draft.to.length >= messaging.limits.maxRecipients)
      return this.#answer(`ERROR at most ${messaging.limits.maxRecipients} recipients are allowed`);
    const address = findDirectAddress(text);
    if (address === undefined) return this.#answer(`ERROR not a Direct address: ${text}`);
    const [check] = await messaging.checkRecipients(session.client, {
      from: this.#sender(session),
      texts: [address],
    });
    const refusal = check && describeRefusal(check, address);
    if (refusal !== undefined) return this.#answer(`ERROR ${refusal}`);
    if (!this.#draft.to.includes(address)) this.#draft.to.push(address);
    return this.#answer('OK', address);
  }

  async #addText(rest: string): Promise<boolean> {
    if (this.#draft.text !== undefined) return this.#answer('ERROR the text was given already');
    const text = await this.#takeOctets(rest.trim());
    if (!Buffer.isBuffer(text)) return text;
    this.#draft.text = text;
    return this.#answer('OK');
  }

  async #addPart(rest: string): Promise<boolean> {
    // The name is the rest of the line, blanks and all, and may be empty.
    const [, kind = '', count = '', name = ''] = /^(\S+) (\S+) ?(.*)$/s.exec(rest) ?? [];
    if (!['CDA', 'CCR', 'TEXT', 'RAW'].includes(kind.toUpperCase()))
      return this.#answer('ERROR the kinds of parts are CDA, CCR, TEXT and RAW');
    if (this.#draft.parts.length >= this.#deps.messaging.limits.maxAttachments)
      return this.#answer(
        `ERROR at most ${this.#deps.messaging.limits.maxAttachments} attachments are allowed`,
      );
    const content = await this.#takeOctets(count);
    if (!Buffer.isBuffer(content)) return content;
    this.#draft.parts.push({ kind: kind.toUpperCase(), name, content });
    return this.#answer('OK');
  }

  /** The counted octets of a part; otherwise whether the session goes on. */
  async #takeOctets(count: string): Promise<Buffer | boolean> {
    const { maxAttachmentBytes } = this.#deps.messaging.limits;
    if (!/^\d{1,9}$/.test(count)) return this.#answer('ERROR the number of octets is missing');
    if (this.#draft.octets + Number(count) > maxAttachmentBytes)
      return this.#answer(`ERROR the message is too large: at most ${maxAttachmentBytes} octets are allowed`);
    this.#reserve(Number(count));
    await this.#answer('BEGIN');
    const octets = await this.#connection.reader.readOctets(Number(count));
    if (octets === undefined) return false;
    this.#draft.octets += octets.length;
    return octets;
  }

  /** Throws EDGES_OVERLOADED. */
  #reserve(octets: number): void {
    if (this.#drafted === undefined) {
      const memory = this.#hold(octets);
      if (memory === undefined) throw edgesOverloaded();
      this.#drafted = memory;
    } else if (this.#drafted.grow(octets) !== undefined) throw edgesOverloaded();
  }

  #hold(octets: number): Reservation | undefined {
    const memory = this.#deps.budget.reserve(this.#session?.account.accountId ?? '', octets);
    return typeof memory === 'string' ? undefined : memory;
  }

  /** As it came, and its parts as they are shown; at most what no other account's hold can keep from it. */
  #holdShown({ sizeBytes }: { readonly sizeBytes: number }): boolean {
    this.#shown = this.#hold(Math.min(2 * sizeBytes, this.#deps.budget.total / 2));
    return this.#shown !== undefined;
  }

  #endDraft(): void {
    this.#draft = emptyDraft();
    this.#drafted?.release();
    this.#drafted = undefined;
  }

  #endGiven(): void {
    this.#given = undefined;
    this.#shown?.release();
    this.#shown = undefined;
  }

  #setOption(rest: string): Promise<boolean> {
    const [, value] = /^FINAL ([01])$/i.exec(rest.trim()) ?? [];
    if (value === undefined) return this.#answer('ERROR the only option is FINAL, with 0 or 1');
    this.#draft.requestsFinalDelivery = value === '1';
    return this.#answer('OK');
  }

  /** A draft that is refused is over, too: a client that tries again begins with its recipient. */
  async #send(): Promise<boolean> {
    try {
      return await this.#sendDraft();
    } finally {
      this.#endDraft();
    }
  }

  async #sendDraft(): Promise<boolean> {
    const session = await this.#renewed();
    const { messaging, log } = this.#deps;
    const draft = this.#draft;
    if (draft.to.length === 0) return this.#answer('ERROR no recipient was accepted');
    messaging.limitSends(session.client, () => {});
    const request = toSendRequest({
      ...draft,
      from: this.#sender(session),
      packedFor: session.client.packedFor,
    });
    const answer = await messaging.send(session.client, request, this.#origin());
    const uuid = answer.messageId.replace(/^urn:uuid:/, '');
    const queued = draft.to.map((address, position) => `QUEUED ${address} ${idOf(uuid, position)}`);
    const isTold = await this.#connection.write(queued.map((line) => `${line}\n`).join(''));
    if (!isTold)
      log.warn(
        { messageId: answer.messageId },
        'a client was gone before it learnt that its message was sent',
      );
    return isTold;
  }

  async #check(): Promise<boolean> {
    const session = await this.#renewed();
    const { edges, messaging, clock } = this.#deps;
    this.#endGiven();
    // Several pollers may share one account: each item is given to one of them.
    this.#hasLease = await edges.leases.take(session.account.accountId, this.#sessionId);
    if (!this.#hasLease) return this.#answer('NONE');
    const acceptedBefore = new Date(clock.now().getTime() - holdStatusMs);
    const [outcome] = await messaging.listOutcomes(session.client, {
      acceptedBefore,
      sentBy: toldByLine(session.account),
      limit: 1,
    });
    if (outcome !== undefined) {
      this.#given = { kind: 'status', outcome };
      const code = outcome.isDelivered ? 'dispatched' : 'failed';
      const text = outcome.isDelivered ? '' : ` ${outcome.statusCode} ${outcome.address}: ${outcome.text}`;
      return this.#answer(`STATUS ${idOf(outcome.messageUuid, outcome.position)} ${code}${text}`);
    }
    return this.#giveMail(session);
  }

  async #giveMail(session: EdgeSession): Promise<boolean> {
    const { edges, messaging, log } = this.#deps;
    const { messages } = await messaging.listInbox(session.client, { limit: 100 });
    if (messages.length === 0) return this.#answer('NONE');
    const copies = messages.map(({ messageId, sizeBytes }) => ({ id: uuidOfUrn(messageId), sizeBytes }));
    const offers = await edges.offers.count(copies.map(({ id }) => id));
    // By arrival, behind them those that were not taken, from the least often offered on.
    const rank = ({ id }: { readonly id: string }): number => Math.max(maxOffers - 1, offers.get(id) ?? 0);
    // One for which there is no memory now does not keep back those behind it.
    const copyId = copies
      .toSorted((left, right) => rank(left) - rank(right))
      .find((copy) => this.#holdShown(copy))?.id;
    if (copyId === undefined) throw edgesOverloaded();
    const times = await edges.offers.note(copyId);
    if (times === maxOffers)
      log.warn(
        { copyId, edgeAccount: session.account.accountId },
        'a client did not take a received message three times; the others go first from now on',
      );
    const payload = JSON.parse(
      Buffer.from(await messaging.readInbox(session.client, copyId, false, this.#origin())).toString(),
    ) as InboundPayload;
    const shown = showMessage(payload);
    const { fromDirectAddress, toDirectAddress } = payload.envelopeInfo;
    const line = `MAIL ${toDirectAddress[0] ?? ''} ${fromDirectAddress} ${shown.attachments.length} `;
    this.#given = { kind: 'mail', copyId, shown };
    // Only the message's id can be shortened; it is for people, and stays the same each time.
    return this.#answer(line + copyId.slice(0, Math.max(8, maxMailLine - line.length)));
  }

  #show(rest: string): Promise<boolean> {
    const given = this.#given;
    if (given?.kind !== 'mail') return this.#answer('ERROR there is no message to show; CHECK first');
    const position = /^\d{1,3}$/.test(rest.trim()) ? Number(rest) : Number.NaN;
    const reply = position === 0 ? given.shown.main : given.shown.attachment(position);
    if (reply === undefined) return this.#answer('ERROR the message has no such part');
    return this.#connection.write(reply);
  }

  async #done(): Promise<boolean> {
    const given = this.#given;
    if (given?.kind !== 'mail') return this.#answer('ERROR there is no message to confirm');
    const session = await this.#renewed();
    await this.#deps.messaging.acknowledge(session.client, given.copyId, this.#origin());
    await this.#deps.edges.offers.taken(given.copyId);
    this.#endGiven();
    return this.#answer('OK');
  }

  async #confirmStatus(): Promise<boolean> {
    const given = this.#given;
    if (this.#session === undefined || given?.kind !== 'status') return true;
    await this.#deps.messaging.noteTold(this.#session.client, given.outcome.recipientId);
    this.#endGiven();
    return this.#answer('OK');
  }

  async #refuse(error: unknown): Promise<boolean> {
    if (isSignInRefusal(error)) {
      await this.#answer('ERROR this account was disabled, or its password revoked');
      return false;
    }
    const { log } = this.#deps;
    if (!(error instanceof CodedError) || error.kind === 'internal')
      log.error({ code: errorCode(error) }, 'a command of a line edge failed');
    const detail =
      error instanceof CodedError
        ? error.problems?.map((problem) => problem.detail).join(' ') || error.publicMessage
        : 'An internal error occurred. Try again later.';
    return this.#answer(`ERROR ${detail}`);
  }

  #origin(): { readonly remoteAddress: string } {
    return { remoteAddress: this.#connection.remoteAddress };
  }

  async #answer(...lines: readonly string[]): Promise<boolean> {
    return this.#connection.write(lines.map((line) => `${cutLine(line, answerOctets(line))}\n`).join(''));
  }
}

/** A refusal is shown to the clinician, and clients read 255 octets of it. */
const answerOctets = (line: string): number => (line.startsWith('ERROR') ? 254 : maxMailLine);

/** No blanks, at most 64 octets; the recipient's place makes it one recipient's. */
const idOf = (uuid: string, position: number): string => (position === 0 ? uuid : `${uuid}.${position}`);

const uuidOfUrn = (messageId: string): string => messageId.replace(/^urn:uuid:/, '');

/** Undefined for what may go, and for what is not known now and may turn out well. */
function describeRefusal(check: AddressCheck, address: string): string | undefined {
  if (check.reason === 'sender-certificate')
    return 'your own address has no valid certificate; ask your HISP';
  if (check.reason === 'unknown-recipient') return `there is no address ${address} here`;
  if (check.hasCertificate === false) return `no certificate was found for ${address}; it may be misspelt`;
  if (check.isTrusted === false) return `the certificate of ${address} is not trusted`;
  return undefined;
}
