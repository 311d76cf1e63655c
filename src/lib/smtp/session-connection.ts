import type { Socket } from 'node:net';
import type { SMTPServer } from 'smtp-server';
import { SMTPConnection } from 'smtp-server/lib/smtp-connection.js';
import type { ConnectionTable, RateWatch, TableConnection } from '../../core/index.ts';
import { replyToRefused } from './connection-table.ts';
import { maxRefusedRecipients } from './limits.ts';
import type { Offers } from './offers.ts';
import type { SmtpReply } from './reply.ts';

const lineFeed = 0x0a;

const enhancedCode = /^[245]\.\d{1,3}\.\d{1,3} /;

/** Commands that do not lead to a message. */
const uselessCommands: ReadonlySet<string> = new Set(['NOOP', 'RSET', 'VRFY', 'EXPN', 'HELP']);

// `MAIL FROM:<"a b"@c.example>` (RFC 5321 §4.1.2), without angle brackets in the quotes, which would end the
// path for a careless reader.
const quotedPath = /^([^:]*:\s*<)("(?:[ !#-;=?-[\]-~]|\\[ -;=?-~])*")(@.*)$/s;

/** These begin a session; said again, they do not lead to a message either. */
const greetings: ReadonlySet<string> = new Set(['HELO', 'EHLO']);

const controlCharacter = /\p{Cc}/u;

/** Commands that a client sends in one piece (RFC 2920 §3.1), and which can be answered in one. */
const gatheredCommands: ReadonlySet<string> = new Set(['MAIL', 'RCPT', 'DATA']);

export interface SessionRules {
  readonly table: ConnectionTable;
  readonly offers: Offers;
  readonly rates: RateWatch;
  readonly maxUselessCommands: number;
  readonly maxLineMs: number;
  readonly maxHandshakeMs: number;
  readonly maxSessionMs: number;
}

/**
 * The library's session with these differences: it greets at once (the library waits 100 ms for talkers
 * before the greeting, on every connection), it reads quoted local parts, replies to commands that came
 * together leave together (RFC 2920 §3.2), a reply text that starts with an enhanced code keeps it (the
 * library derives one from the basic code), AUTH is announced under TLS alone, it is entered into a table
 * that divides the connections, a message is admitted before the 354, control characters in commands are
 * refused, and it ends after a time whatever it does, after too many commands that lead to nothing, when a
 * message arrives too slowly, and when a line or a handshake is not ended.
 */
export class SessionConnection extends SMTPConnection implements TableConnection {
  readonly #rules: SessionRules;
  readonly #timer: NodeJS.Timeout;
  #lastCommandMs = performance.now();
  #hasDelivered = false;
  #uselessCount = 0;
  #refusedRecipients = 0;
  /** The word of the last command. */
  #command = '';
  #endWatch = (): void => {};
  #gathering: Socket | undefined;
  #lineTimer: NodeJS.Timeout | undefined;

  constructor(server: SMTPServer, socket: Socket, rules: SessionRules) {
    super(server, socket);
    this.#rules = rules;
    this.#timer = setTimeout(
      () => this.send(421, '4.4.2 This session has lasted too long', false),
      rules.maxSessionMs,
    ).unref();
  }

  // Not the socket's own event: STARTTLS puts another socket in its place.
  override _onClose(): void {
    super._onClose();
    this.#leave();
  }

  override init(): void {
    this._setListeners(() => {
      const refusal = this.#rules.table.enter(this);
      if (refusal === undefined) this.connectionReady();
      else this.#refuse(replyToRefused(refusal));
    });
  }

  // Called by the constructor of the library's class, and again when TLS begins.
  override _createParser(): ReturnType<SMTPConnection['_createParser']> {
    const parser = super._createParser();
    parser.once('pipe', (socket) => {
      clearTimeout(this.#lineTimer);
      this.#lineTimer = undefined;
      socket.on('data', (chunk: Buffer) => this.#watchLine(chunk.at(-1) === lineFeed));
    });
    return parser;
  }

  // The library waits for LF as long as for the next command, also behind a CR that was meant as the end.
  #watchLine(hasEnded: boolean): void {
    // What came with STARTTLS is dropped; the timer is that of the handshake.
    if (this._upgrading) return;
    if (hasEnded) {
      clearTimeout(this.#lineTimer);
      this.#lineTimer = undefined;
      return;
    }
    this.#lineTimer ??= setTimeout(() => {
      this.#lineTimer = undefined;
      // In a message, or behind a command that is being decided on.
      if (this._dataStream || this._handlerPending) return this.#watchLine(false);
      this.send(500, '5.5.2 A command line ends with CRLF', false);
      this.close();
    }, this.#rules.maxLineMs).unref();
  }

  idleSinceMs(): number | undefined {
    return this._handlerPending || this._dataStream ? undefined : this.#lastCommandMs;
  }

  hasAsked(): boolean {
    return this.#hasDelivered || Boolean(this.session.user);
  }

  evict(): void {
    this.send(421, '4.3.2 Idle while others wait for a connection', false);
  }

  override _onCommand(command: Buffer, callback?: () => void): void {
    this.#lastCommandMs = performance.now();
    const word = command.toString('latin1', 0, 5).trim().toUpperCase();
    this.#command = word;
    const isRepeated = greetings.has(word) && this.hostNameAppearsAs !== false;
    if (uselessCommands.has(word) || isRepeated) this.#uselessCount++;
    if (this.#uselessCount > this.#rules.maxUselessCommands)
      return this.send(421, '4.7.0 Too many commands without a message', false);
    if (gatheredCommands.has(word)) this.#gatherReplies();
    else this.#sendGathered();
    // Not of what follows AUTH, which is base64 or refused, nor of what came before TLS, which is dropped.
    if (!this._nextHandler && !this._upgrading && controlCharacter.test(command.toString())) {
      this.send(500, '5.5.2 A command holds no control characters', false);
      return void setImmediate(() => callback?.());
    }
    super._onCommand(command, callback);
  }

  #gatherReplies(): void {
    if (this.#gathering !== undefined || !this._socket) return;
    this.#gathering = this._socket;
    this.#gathering.cork();
    setImmediate(() => this.#sendGathered());
  }

  // The next step may replace the socket, so no data may be left in it.
  #sendGathered(): void {
    this.#gathering?.uncork();
    this.#gathering = undefined;
  }

  // The library cuts a path at blanks and at-signs, also at those in quotes: it checks all but the characters
  // of the local part.
  override _parseAddressCommand(
    name: string,
    command: Buffer | string,
  ): ReturnType<SMTPConnection['_parseAddressCommand']> {
    const [, before, local, after] = quotedPath.exec(command.toString()) ?? [];
    if (before === undefined || local === undefined || after === undefined)
      return super._parseAddressCommand(name, command);
    const parsed = super._parseAddressCommand(name, `${before}${'x'.repeat(local.length)}${after}`);
    return parsed && { ...parsed, address: `${local}${parsed.address.slice(local.length)}` };
  }

  override handler_DATA(command: Buffer, callback: () => void): void {
    const hasRecipients = this.session.envelope.rcptTo.length > 0;
    const refusal = hasRecipients && this._parser ? this.#rules.offers.open(this.session) : undefined;
    if (refusal !== undefined) {
      this.#refuse(refusal);
      return callback();
    }
    super.handler_DATA(command, callback);
    this.#watchRate();
  }

  // A handshake that is never finished is as little as a line that is not ended.
  override handler_STARTTLS(command: Buffer, callback: () => void): void {
    super.handler_STARTTLS(command, callback);
    if (!this._upgrading) return;
    clearTimeout(this.#lineTimer);
    this.#lineTimer = setTimeout(
      () => this._socket && this._socket.destroy(),
      this.#rules.maxHandshakeMs,
    ).unref();
  }

  #watchRate(): void {
    const [parser, stream] = [this._parser, this._dataStream];
    if (!parser || !stream) return;
    this.#endWatch = this.#rules.rates.watch(
      () => parser.dataBytes,
      () => this.send(421, '4.4.2 The message comes too slowly', false),
    );
    stream.once('end', this.#endWatch);
  }

  override send(code: number, data?: string | string[] | null, context?: string | false): void {
    if (code >= 400) this.#noteRefusal();
    else if (context === 'DATA_OK') {
      this.#uselessCount = this.#refusedRecipients = 0;
      this.#hasDelivered = true;
    }
    const hasOwnCode = typeof data === 'string' && enhancedCode.test(data);
    super.send(code, this.#withoutAuth(data), hasOwnCode ? false : context);
  }

  // Announced before TLS, it would invite a careless client to send its password in clear.
  #withoutAuth(data: Parameters<SMTPConnection['send']>[1]): typeof data {
    return Array.isArray(data) && !this.secure ? data.filter((text) => !text.startsWith('AUTH ')) : data;
  }

  #noteRefusal(): void {
    const isOfRecipient = this.#command === 'RCPT' && this.session.envelope.mailFrom !== false;
    if (!isOfRecipient || ++this.#refusedRecipients > maxRefusedRecipients) this.#uselessCount++;
  }

  #refuse({ code, enhancedCode: enhanced, text }: SmtpReply): void {
    this.send(code, enhanced === undefined ? text : `${enhanced} ${text}`, false);
  }

  #leave(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#lineTimer);
    this.#endWatch();
    this.#rules.table.leave(this);
    this.#rules.offers.leave(this.session);
  }
}
