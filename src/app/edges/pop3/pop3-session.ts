import { CodedError, errorCode, type Log } from '../../../core/index.ts';
import type { EdgeSession, MailItem } from '../../../service/edges/index.ts';
import type { EdgeConnection } from '../connection.ts';
import { openMailbox, type Mailbox, type MailboxDependencies } from '../mailbox/open-mailbox.ts';
import { isSignInRefusal, readPlain } from '../sign-in.ts';
import { writeDotted } from './dotted.ts';

export interface Pop3Dependencies extends MailboxDependencies {
  readonly log: Log;
}

/** RFC 2449 §4: a command line has at most 255 octets; a password of ours in base64 fits. */
const maxCommandOctets = 1024;
const maxSignIns = 3;
const maxBadCommands = 20;
const beforeSignInMs = 60_000;
/** RFC 1939 §3. */
const idleMs = 10 * 60_000;
/** Clients wait so long for the answer to a password; messages not measured by then are shown next time. */
const longestMeasuringMs = 20_000;

/**
 * POP3 (RFC 1939) with CAPA, UIDL, TOP, STLS (RFC 2595), SASL PLAIN (RFC 5034): a password only inside TLS.
 * Messages are removed at QUIT alone; one that is removed, or was fetched where the account says so, is
 * acknowledged.
 */
export async function servePop3(
  connection: EdgeConnection,
  deps: Pop3Dependencies,
  measuringMs: number = longestMeasuringMs,
): Promise<void> {
  connection.setIdleTimeout(beforeSignInMs);
  if (!(await connection.write(`+OK ${deps.hostname} ready\r\n`))) return;
  const session = new Pop3Session(connection, deps, measuringMs);
  try {
    while (!connection.isClosing && (await session.step()));
  } finally {
    session.close();
  }
}

class Pop3Session {
  readonly #connection: EdgeConnection;
  readonly #deps: Pop3Dependencies;
  readonly #measuringMs: number;
  #username: string | undefined;
  #failedSignIns = 0;
  #badCommands = 0;
  #mailbox: Mailbox | undefined;
  #items: readonly MailItem[] = [];
  #sizes = new Map<number, number>();
  readonly #deleted = new Set<number>();
  /** Fetched whole, and not yet noted so. */
  readonly #fetched = new Set<MailItem>();

  constructor(connection: EdgeConnection, deps: Pop3Dependencies, measuringMs: number) {
    this.#connection = connection;
    this.#deps = deps;
    this.#measuringMs = measuringMs;
  }

  async step(): Promise<boolean> {
    const line = await this.#connection.reader.readLine(maxCommandOctets);
    if (line === undefined) return false;
    if (line === 'too-long') {
      await this.#err('The line is too long');
      return false;
    }
    const [, word = '', rest = ''] = /^(\S*) ?(.*)$/s.exec(line.toString('utf8')) ?? [];
    try {
      return await this.#run(word.toUpperCase(), rest);
    } catch (error) {
      if (isSignInRefusal(error)) {
        await this.#err('[AUTH] This account was disabled, or its password revoked');
        return false;
      }
      this.#noteFailure(error);
      const text = error instanceof CodedError ? error.publicMessage : 'An internal error occurred';
      // RFC 1939 §6: QUIT ends the session also where messages could not be removed.
      return (await this.#err(`[SYS/TEMP] ${text}`)) && word.toUpperCase() !== 'QUIT';
    }
  }

  close(): void {
    this.#mailbox?.close();
  }

  async #run(word: string, rest: string): Promise<boolean> {
    await this.#mailbox?.renew();
    switch (word) {
      case 'QUIT':
        return this.#quit();
      case 'CAPA':
        return this.#capa();
      case 'NOOP':
        // RFC 1939 §5: of the transaction state.
        return this.#mailbox === undefined ? this.#bad() : this.#ok();
    }
    return this.#mailbox === undefined ? this.#authorize(word, rest) : this.#transact(word, rest.trim());
  }

  async #authorize(word: string, rest: string): Promise<boolean> {
    switch (word) {
      case 'STLS':
        return this.#startTls();
      case 'USER':
        if (!this.#connection.isSecure) return this.#err('Begin TLS first (STLS)');
        if (rest === '') return this.#bad();
        this.#username = rest.trim();
        return this.#ok('Now the password');
      case 'PASS': {
        const username = this.#username;
        this.#username = undefined;
        if (username === undefined) return this.#bad();
        return this.#signIn(username, rest);
      }
      case 'AUTH':
        return this.#authenticate(rest);
      default:
        return this.#bad();
    }
  }

  async #startTls(): Promise<boolean> {
    if (this.#connection.isSecure) return this.#bad();
    // Octets that came with the command are not of the secured session (RFC 2595 §4).
    if (this.#connection.reader.hasMore()) return false;
    await this.#ok('Begin TLS');
    return this.#connection.startTls();
  }

  async #authenticate(rest: string): Promise<boolean> {
    if (!this.#connection.isSecure) return this.#err('Begin TLS first (STLS)');
    const [mechanism = '', initial] = rest.trim().split(/ +/, 2);
    // Some programs ask so which there are.
    if (mechanism === '') return this.#connection.write('+OK\r\nPLAIN\r\n.\r\n');
    if (mechanism.toUpperCase() !== 'PLAIN') return this.#err('The only mechanism is PLAIN');
    let response = initial;
    if (response === undefined) {
      if (!(await this.#connection.write('+ \r\n'))) return false;
      const line = await this.#connection.reader.readLine(maxCommandOctets);
      if (!Buffer.isBuffer(line)) return false;
      response = line.toString('latin1');
    }
    const credentials = readPlain(response);
    if (credentials === undefined) return this.#err('The response cannot be read');
    return this.#signIn(credentials.username, credentials.password);
  }

  async #signIn(username: string, password: string): Promise<boolean> {
    let session: EdgeSession;
    try {
      session = await this.#deps.edges.signIns.signIn({
        username,
        password,
        protocol: 'pop3',
        remoteAddress: this.#connection.remoteAddress,
      });
    } catch (error) {
      if (!isSignInRefusal(error)) throw error;
      await this.#err(`[AUTH] ${error.publicMessage}`);
      return ++this.#failedSignIns < maxSignIns;
    }
    const { remoteAddress } = this.#connection;
    this.#connection.noteSignIn();
    const mailbox = openMailbox(this.#deps, session, 'pop3', remoteAddress);
    try {
      await mailbox.refresh();
      this.#items = await this.#measure(mailbox, await mailbox.openList());
    } catch (error) {
      mailbox.close();
      throw error;
    }
    this.#mailbox = mailbox;
    this.#connection.setIdleTimeout(idleMs);
    return this.#ok(`${this.#items.length} messages`);
  }

  /** The oldest messages, whose sizes are known in time; each one measured stays known. */
  async #measure(mailbox: Mailbox, items: readonly MailItem[]): Promise<readonly MailItem[]> {
    const endMs = performance.now() + this.#measuringMs;
    let measured = 0;
    for (const [index, item] of items.entries()) {
      if (item.sizeBytes === undefined && measured++ > 0 && performance.now() > endMs)
        return items.slice(0, index);
      this.#sizes.set(item.uid, await mailbox.size(item));
    }
    return items;
  }

  #transact(word: string, rest: string): Promise<boolean> {
    switch (word) {
      case 'STAT': {
        const left = this.#left();
        return this.#ok(`${left.length} ${left.reduce((sum, [, item]) => sum + this.#sizeOf(item), 0)}`);
      }
      case 'LIST':
        return this.#list(rest, (item) => String(this.#sizeOf(item)));
      case 'UIDL':
        // Not the UID, which another message may have after a restore.
        return this.#list(rest, ({ copyId, recipientId = '' }) => copyId ?? recipientId);
      case 'RETR':
        return this.#give(rest);
      case 'TOP': {
        const [number = '', count = ''] = rest.split(/ +/);
        return /^\d{1,9}$/.test(count) ? this.#give(number, Number(count)) : this.#bad();
      }
      case 'DELE': {
        const item = this.#find(rest);
        if (item === undefined) return this.#err('Message not found');
        this.#deleted.add(item.uid);
        return this.#ok('Marked');
      }
      case 'RSET':
        this.#deleted.clear();
        return this.#ok();
      default:
        return this.#bad();
    }
  }

  #sizeOf({ uid }: MailItem): number {
    return this.#sizes.get(uid) ?? 0;
  }

  /** Message numbers from 1, and messages that are not marked. */
  #left(): readonly (readonly [number: number, item: MailItem])[] {
    return this.#items
      .map((item, index) => [index + 1, item] as const)
      .filter(([, { uid }]) => !this.#deleted.has(uid));
  }

  #find(text: string): MailItem | undefined {
    const item = /^\d{1,9}$/.test(text) ? this.#items[Number(text) - 1] : undefined;
    return item === undefined || this.#deleted.has(item.uid) ? undefined : item;
  }

  async #list(rest: string, describe: (item: MailItem) => string): Promise<boolean> {
    if (rest !== '') {
      const item = this.#find(rest);
      return item === undefined ? this.#err('Message not found') : this.#ok(`${rest} ${describe(item)}`);
    }
    const lines = this.#left().map(([number, item]) => `${number} ${describe(item)}\r\n`);
    return this.#connection.write(`+OK\r\n${lines.join('')}.\r\n`);
  }

  async #give(number: string, bodyLines?: number): Promise<boolean> {
    const item = this.#find(number);
    const bytes = item && (await this.#mailbox?.read(item));
    if (item === undefined || bytes === undefined) return this.#err('Message not found');
    if (!(await this.#connection.write('+OK\r\n'))) return false;
    if (!(await this.#connection.write(writeDotted(bytes, bodyLines)))) return false;
    if (bodyLines !== undefined) return true;
    this.#fetched.add(item);
    // The answer was given: what fails now is done at QUIT.
    await this.#noteFetched().catch((error: unknown) => this.#noteFailure(error));
    return true;
  }

  async #noteFetched(): Promise<void> {
    for (const item of this.#fetched) {
      await this.#mailbox?.noteFetched(item);
      this.#fetched.delete(item);
    }
  }

  #noteFailure(error: unknown): void {
    this.#deps.log.error({ code: errorCode(error) }, 'a command of a POP3 client failed');
  }

  async #quit(): Promise<boolean> {
    await this.#noteFetched();
    const removed = this.#items.filter(({ uid }) => this.#deleted.has(uid));
    if (removed.length > 0) await this.#mailbox?.remove(removed);
    await this.#ok('Bye');
    return false;
  }

  async #capa(): Promise<boolean> {
    const lines = [
      'TOP',
      'UIDL',
      'RESP-CODES',
      'AUTH-RESP-CODE',
      'PIPELINING',
      ...(this.#connection.isSecure ? ['USER', 'SASL PLAIN'] : ['STLS']),
      'IMPLEMENTATION openhisp',
    ];
    return this.#connection.write(`+OK\r\n${lines.map((line) => `${line}\r\n`).join('')}.\r\n`);
  }

  #ok(text = ''): Promise<boolean> {
    return this.#connection.write(`+OK ${text}`.trimEnd() + '\r\n');
  }

  #err(text: string): Promise<boolean> {
    return this.#connection.write(`-ERR ${text}\r\n`);
  }

  /** Who only says what cannot be understood is not listened to for ever. */
  async #bad(): Promise<boolean> {
    await this.#err('Not understood, or not possible now');
    return ++this.#badCommands < maxBadCommands;
  }
}
