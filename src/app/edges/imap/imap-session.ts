import { CodedError, errorCode, type Log } from '../../../core/index.ts';
import {
  mailFlags,
  type FlagChange,
  type MailItem,
  type MailboxState,
} from '../../../service/edges/index.ts';
import type { EdgeConnection } from '../connection.ts';
import { openMailbox, type Mailbox, type MailboxDependencies } from '../mailbox/open-mailbox.ts';
import { isSignInRefusal, readPlain } from '../sign-in.ts';
import { allFlags, fetchMessage, parseFetch, readFlags, writeFlags, type FactsCache } from './fetch.ts';
import { readCommand, type BadCommand, type Command, type Token } from './read-command.ts';
import { SearchRefusal, searchMessages } from './search.ts';
import { isInRanges, parseSequenceSet } from './sequence-set.ts';
import { writeString } from './write-values.ts';

export interface ImapDependencies extends MailboxDependencies {
  readonly cache: FactsCache;
  readonly log: Log;
}

const maxSignIns = 3;
const maxBadCommands = 20;
const beforeSignInMs = 60_000;
/** RFC 9051 §5.4: at least thirty minutes. */
const idleMs = 31 * 60_000;
/** Of a list of messages that is sent in one piece. */
const listOctets = 65_536;
/** A change of which no word came is seen after this time. */
const lookMs = 30_000;

/** What the tagged answer says; empty if it was given already, undefined at the end of the session. */
type Result = string | undefined;

/**
 * IMAP4rev1 (RFC 3501) with STARTTLS, SASL PLAIN and SASL-IR, LITERAL-, IDLE, UIDPLUS, UNSELECT, NAMESPACE
 * and ID: one mailbox, INBOX. A password only inside TLS. A message that was fetched whole or marked as seen
 * is acknowledged where the account says so; one that is expunged always.
 */
export async function serveImap(connection: EdgeConnection, deps: ImapDependencies): Promise<void> {
  connection.setIdleTimeout(beforeSignInMs);
  const session = new ImapSession(connection, deps);
  if (!(await session.greet())) return;
  try {
    while (!connection.isClosing && (await session.step()));
    if (connection.isClosing) await connection.write('* BYE The server is closing\r\n');
  } finally {
    session.close();
  }
}

class ImapSession {
  readonly #connection: EdgeConnection;
  readonly #deps: ImapDependencies;
  #failedSignIns = 0;
  #badCommands = 0;
  #mailbox: Mailbox | undefined;
  /** While INBOX is selected: its messages by uid, as the client has been told. */
  #view: MailItem[] | undefined;
  #isReadOnly = false;
  #known: MailboxState | undefined;

  constructor(connection: EdgeConnection, deps: ImapDependencies) {
    this.#connection = connection;
    this.#deps = deps;
  }

  greet(): Promise<boolean> {
    return this.#say(`* OK [CAPABILITY ${this.#capabilities()}] ${this.#deps.hostname} ready`);
  }

  close(): void {
    this.#mailbox?.close();
  }

  async step(): Promise<boolean> {
    const command = await readCommand(this.#connection);
    if (command === 'ended') return false;
    if ('fault' in command) return this.#bad(command);
    try {
      const result = await this.#run(command);
      if (result === undefined) return false;
      if (this.#mailbox !== undefined) this.#badCommands = 0;
      return result === '' || (await this.#say(`${command.tag} ${result}`));
    } catch (error) {
      return this.#fail(command, error);
    }
  }

  async #fail({ tag }: Command, error: unknown): Promise<boolean> {
    if (error instanceof SyntaxError) return this.#bad({ tag, fault: error.message });
    if (error instanceof SearchRefusal) return this.#say(`${tag} NO [${error.code}] ${error.message}`);
    if (isSignInRefusal(error)) {
      await this.#say('* BYE This account was disabled');
      return false;
    }
    if (!(error instanceof CodedError) || error.kind !== 'unavailable')
      this.#deps.log.error({ code: errorCode(error) }, 'a command of an IMAP client failed');
    const text = error instanceof CodedError ? error.publicMessage : 'An internal error occurred';
    return this.#say(`${tag} NO [UNAVAILABLE] ${text}`);
  }

  /** Who says nothing else than what cannot be understood is not listened to for ever. */
  async #bad({ tag, fault }: BadCommand): Promise<boolean> {
    await this.#say(`${tag} BAD ${fault}`);
    if (++this.#badCommands < maxBadCommands) return true;
    await this.#say('* BYE Too many commands that are not understood');
    return false;
  }

  #say(line: string): Promise<boolean> {
    return this.#connection.write(Buffer.from(`${line}\r\n`, 'latin1'));
  }

  #capabilities(): string {
    const before = this.#connection.isSecure ? 'AUTH=PLAIN' : 'STARTTLS LOGINDISABLED';
    const shown = this.#mailbox === undefined ? `${before} ` : '';
    return `IMAP4rev1 ${shown}SASL-IR LITERAL- ID IDLE NAMESPACE UIDPLUS UNSELECT`;
  }

  async #run(command: Command): Promise<Result> {
    switch (command.name) {
      case 'CAPABILITY':
        await this.#say(`* CAPABILITY ${this.#capabilities()}`);
        return 'OK done';
      case 'NOOP':
        await this.#tellChanges(true);
        return 'OK done';
      case 'LOGOUT':
        await this.#say('* BYE Signing out');
        await this.#say(`${command.tag} OK bye`);
        return undefined;
      case 'ID':
        await this.#say('* ID ("name" "openhisp")');
        return 'OK done';
    }
    return this.#mailbox === undefined ? this.#beforeSignIn(command) : this.#signedIn(command, this.#mailbox);
  }

  async #beforeSignIn({ tag, name, words }: Command): Promise<Result> {
    const { isSecure } = this.#connection;
    switch (name) {
      case 'STARTTLS':
        if (isSecure) return 'BAD TLS is already on';
        // Octets that came with the command are not of the secured session (RFC 9051 §11.1).
        if (this.#connection.reader.hasMore()) return undefined;
        await this.#say(`${tag} OK begin TLS`);
        return (await this.#connection.startTls()) ? '' : undefined;
      case 'LOGIN':
        if (!isSecure) return 'NO [PRIVACYREQUIRED] Begin TLS first (STARTTLS)';
        if (words.length !== 2) throw new SyntaxError('LOGIN needs a user name and a password');
        return this.#signIn(textOf(words[0]), textOf(words[1]));
      case 'AUTHENTICATE':
        if (!isSecure) return 'NO [PRIVACYREQUIRED] Begin TLS first (STARTTLS)';
        return this.#authenticate(words);
      default:
        throw new SyntaxError(knownCommands.has(name) ? 'Sign in first' : 'The command is not known');
    }
  }

  async #authenticate([mechanism, initial]: readonly Token[]): Promise<Result> {
    if (textOf(mechanism).toUpperCase() !== 'PLAIN') return 'NO The only mechanism is PLAIN';
    let response = initial === undefined ? undefined : textOf(initial);
    if (response === undefined) {
      if (!(await this.#connection.write('+ \r\n'))) return undefined;
      const line = await this.#connection.reader.readLine(1024);
      if (!Buffer.isBuffer(line)) return undefined;
      response = line.toString('latin1');
    }
    if (response === '*') return 'BAD cancelled';
    const credentials = readPlain(response);
    if (credentials === undefined) throw new SyntaxError('The response cannot be read');
    return this.#signIn(credentials.username, credentials.password);
  }

  async #signIn(username: string, password: string): Promise<Result> {
    const { remoteAddress } = this.#connection;
    try {
      const session = await this.#deps.edges.signIns.signIn({
        username,
        password,
        protocol: 'imap',
        remoteAddress,
      });
      this.#mailbox = openMailbox(this.#deps, session, 'imap', remoteAddress);
    } catch (error) {
      if (!isSignInRefusal(error)) throw error;
      const code = errorCode(error) === 'EDGES_SIGN_IN_REFUSED' ? 'AUTHENTICATIONFAILED' : 'UNAVAILABLE';
      if (++this.#failedSignIns < maxSignIns) return `NO [${code}] ${error.publicMessage}`;
      await this.#say(`* BYE ${error.publicMessage}`);
      return undefined;
    }
    this.#connection.setIdleTimeout(idleMs);
    return `OK [CAPABILITY ${this.#capabilities()}] signed in`;
  }

  async #signedIn(command: Command, mailbox: Mailbox): Promise<Result> {
    const { name, words, tag } = command;
    switch (name) {
      case 'SELECT':
      case 'EXAMINE':
        return this.#select(mailbox, textOf(words[0]), name === 'EXAMINE');
      case 'LIST':
      case 'LSUB':
        return this.#list(name, textOf(words[0]), textOf(words[1]));
      case 'STATUS':
        return this.#status(mailbox, textOf(words[0]), words[1]);
      case 'NAMESPACE':
        await this.#say('* NAMESPACE (("" "/")) NIL NIL');
        return 'OK done';
      case 'SUBSCRIBE':
      case 'UNSUBSCRIBE':
        return isInbox(textOf(words[0])) ? 'OK done' : 'NO [NONEXISTENT] The only mailbox is INBOX';
      case 'CREATE':
      case 'DELETE':
      case 'RENAME':
      case 'APPEND':
        return 'NO [CANNOT] The only mailbox is INBOX, and it holds what was received';
      case 'IDLE':
        return this.#idle(tag);
      case 'STARTTLS':
      case 'LOGIN':
      case 'AUTHENTICATE':
        return 'BAD already signed in';
    }
    if (!knownCommands.has(name)) throw new SyntaxError('The command is not known');
    const view = this.#view;
    if (view === undefined) throw new SyntaxError('Select INBOX first');
    return this.#selected(command, mailbox, view);
  }

  async #selected({ name, words }: Command, mailbox: Mailbox, view: MailItem[]): Promise<Result> {
    switch (name) {
      case 'CHECK':
        await this.#tellChanges(true);
        return 'OK done';
      case 'CLOSE':
        if (!this.#isReadOnly) await mailbox.remove(view.filter(isDeleted));
        this.#view = undefined;
        return 'OK closed';
      case 'UNSELECT':
        this.#view = undefined;
        return 'OK closed';
      case 'EXPUNGE':
        return this.#expunge(mailbox, view.filter(isDeleted));
      case 'SEARCH':
        return this.#search(mailbox, words, false);
      case 'FETCH':
        return this.#fetch(mailbox, words, false);
      case 'STORE':
        return this.#store(mailbox, words, false);
      case 'COPY':
      case 'MOVE':
        return 'NO [TRYCREATE] The only mailbox is INBOX';
      case 'UID': {
        const [first, ...rest] = words;
        switch (textOf(first).toUpperCase()) {
          case 'SEARCH':
            return this.#search(mailbox, rest, true);
          case 'FETCH':
            return this.#fetch(mailbox, rest, true);
          case 'STORE':
            return this.#store(mailbox, rest, true);
          case 'EXPUNGE':
            return this.#expunge(mailbox, this.#pick(rest[0], true).filter(isDeleted));
          case 'COPY':
          case 'MOVE':
            return 'NO [TRYCREATE] The only mailbox is INBOX';
        }
      }
    }
    throw new SyntaxError('The command is not known');
  }

  async #select(mailbox: Mailbox, name: string, isReadOnly: boolean): Promise<Result> {
    this.#view = undefined;
    if (!isInbox(name)) return 'NO [NONEXISTENT] The only mailbox is INBOX';
    const state = await mailbox.refresh();
    const view = [...(await mailbox.list())];
    this.#known = state;
    this.#view = view;
    this.#isReadOnly = isReadOnly;
    const unseen = view.findIndex(({ flags }) => (flags & mailFlags.seen) === 0);
    for (const line of [
      `* ${view.length} EXISTS`,
      '* 0 RECENT',
      `* FLAGS (${allFlags})`,
      `* OK [PERMANENTFLAGS (${isReadOnly ? '' : allFlags})] These are kept`,
      ...(unseen === -1 ? [] : [`* OK [UNSEEN ${unseen + 1}] The first unseen`]),
      `* OK [UIDVALIDITY ${state.uidValidity}] UIDs are valid`,
      `* OK [UIDNEXT ${Math.max(state.uidNext, (view.at(-1)?.uid ?? 0) + 1)}] The next one`,
    ])
      await this.#say(line);
    return isReadOnly ? 'OK [READ-ONLY] examined' : 'OK [READ-WRITE] selected';
  }

  async #list(name: string, reference: string, pattern: string): Promise<Result> {
    if (pattern === '') await this.#say(`* ${name} (\\Noselect) "/" ""`);
    else if (matchesInbox(reference + pattern)) await this.#say(`* ${name} (\\HasNoChildren) "/" INBOX`);
    return 'OK done';
  }

  async #status(mailbox: Mailbox, name: string, wanted: Token | undefined): Promise<Result> {
    if (wanted?.kind !== 'list') throw new SyntaxError('STATUS needs a list of items');
    if (!isInbox(name)) return 'NO [NONEXISTENT] The only mailbox is INBOX';
    const state = await mailbox.refresh();
    const items = await mailbox.list();
    const values: Readonly<Record<string, number>> = {
      MESSAGES: items.length,
      RECENT: 0,
      UIDNEXT: state.uidNext,
      UIDVALIDITY: state.uidValidity,
      UNSEEN: items.filter(({ flags }) => (flags & mailFlags.seen) === 0).length,
    };
    const shown = wanted.items.map((item) => {
      const word = textOf(item).toUpperCase();
      const value = values[word];
      if (value === undefined) throw new SyntaxError(`STATUS does not know ${word.slice(0, 20)}`);
      return `${word} ${value}`;
    });
    await this.#say(`* STATUS ${writeString(name)} (${shown.join(' ')})`);
    return 'OK done';
  }

  /** The messages of a sequence set, in order. */
  #pick(set: Token | undefined, byUid: boolean): readonly MailItem[] {
    const view = this.#view ?? [];
    const largest = byUid ? (view.at(-1)?.uid ?? 0) : view.length;
    const ranges = parseSequenceSet(textOf(set), largest);
    if (ranges === undefined) throw new SyntaxError('A set of message numbers is not readable');
    const isPicked = (item: MailItem, index: number): boolean =>
      isInRanges(ranges, byUid ? item.uid : index + 1);
    const picked = view.filter(isPicked);
    // Programs ask an empty mailbox for `1:*`, and one of three messages for `4:*` and `1:500`: what is there
    // is the answer, not a fault.
    if (!byUid && picked.length === 0 && !textOf(set).includes('*'))
      throw new SyntaxError('There is no message of that number');
    return picked;
  }

  #numberOf({ uid }: MailItem): number {
    const view = this.#view ?? [];
    let [low, high] = [0, view.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((view[middle]?.uid ?? 0) < uid) low = middle + 1;
      else high = middle;
    }
    return low + 1;
  }

  #replace(item: MailItem): void {
    const view = this.#view ?? [];
    const index = this.#numberOf(item) - 1;
    if (view[index]?.uid === item.uid) view[index] = item;
  }

  async #fetch(mailbox: Mailbox, [set, what]: readonly Token[], byUid: boolean): Promise<Result> {
    const request = parseFetch(what);
    if (request === undefined) throw new SyntaxError('FETCH does not know an item');
    const fields = byUid && !request.fields.includes('UID') ? ['UID', ...request.fields] : request.fields;
    let areSome = true;
    // Lists of flags are sent in pieces of many messages; a message's octets go alone, so that what was sent
    // is known of each.
    const isList = request.sections.length === 0;
    let waiting: Buffer[] = [];
    let octets = 0;
    const flush = async (): Promise<boolean> => {
      const all = Buffer.concat(waiting);
      waiting = [];
      octets = 0;
      return all.length === 0 || this.#connection.write(all);
    };
    for (const picked of this.#pick(set, byUid)) {
      let item = picked;
      const isNewlySeen = request.marksSeen && !this.#isReadOnly && (item.flags & mailFlags.seen) === 0;
      const shown = isNewlySeen && !fields.includes('FLAGS') ? [...fields, 'FLAGS'] : fields;
      if (isNewlySeen) item = { ...item, flags: item.flags | mailFlags.seen };
      const fetched = await fetchMessage(mailbox, this.#deps.cache, item, { ...request, fields: shown });
      if (fetched === undefined) {
        // It was deleted for good, which no session is told in the middle of a FETCH.
        areSome = false;
        await mailbox.remove([item]);
        continue;
      }
      const head = Buffer.from(`* ${this.#numberOf(item)} FETCH (`);
      waiting.push(head, fetched.answer, Buffer.from(')\r\n'));
      octets += fetched.answer.length;
      if ((!isList || octets > listOctets) && !(await flush())) return undefined;
      // Only now: what did not reach the client is neither seen nor acknowledged.
      if (isNewlySeen) {
        await mailbox.changeFlags([item], { kind: 'add', flags: mailFlags.seen });
        this.#replace(item);
      } else if (fetched.isWhole && !this.#isReadOnly) await mailbox.noteFetched(item);
    }
    if (!(await flush())) return undefined;
    return areSome ? 'OK done' : 'NO [EXPUNGEISSUED] Some messages are gone';
  }

  async #store(mailbox: Mailbox, [set, how, ...rest]: readonly Token[], byUid: boolean): Promise<Result> {
    if (this.#isReadOnly) return 'NO [READ-ONLY] The mailbox is open for reading alone';
    const [, sign, silent] = /^([+-]?)FLAGS(\.SILENT)?$/i.exec(textOf(how)) ?? [];
    if (sign === undefined) throw new SyntaxError('STORE changes FLAGS, +FLAGS or -FLAGS');
    const [only] = rest;
    const names = only?.kind === 'list' ? only.items : rest;
    const kinds = { '': 'replace', '+': 'add', '-': 'remove' } as const;
    const change: FlagChange = { kind: kinds[sign as '' | '+' | '-'], flags: readFlags(names.map(textOf)) };
    const items = this.#pick(set, byUid);
    const changed = await mailbox.changeFlags(items, change);
    for (const item of items) {
      const flags = changed.get(item.uid);
      if (flags === undefined) continue;
      this.#replace({ ...item, flags });
      const uid = byUid ? `UID ${item.uid} ` : '';
      if (silent === undefined)
        await this.#say(`* ${this.#numberOf(item)} FETCH (${uid}FLAGS (${writeFlags(flags)}))`);
    }
    return 'OK done';
  }

  async #expunge(mailbox: Mailbox, items: readonly MailItem[]): Promise<Result> {
    if (this.#isReadOnly) return 'NO [READ-ONLY] The mailbox is open for reading alone';
    await mailbox.remove(items);
    await this.#tellChanges(true);
    return 'OK done';
  }

  async #search(mailbox: Mailbox, words: readonly Token[], byUid: boolean): Promise<Result> {
    const { cache } = this.#deps;
    const found = await searchMessages({ mailbox, cache, items: this.#view ?? [] }, words);
    const numbers = found.map(({ item, number }) => (byUid ? item.uid : number));
    await this.#say(['* SEARCH', ...numbers].join(' '));
    return 'OK done';
  }

  /**
   * Tells what this or any other session changed since. That messages are gone may be told between commands
   * alone, since it changes the numbers of the others.
   */
  async #tellChanges(mayRemove: boolean): Promise<void> {
    const [mailbox, view, known] = [this.#mailbox, this.#view, this.#known];
    if (mailbox === undefined || view === undefined || known === undefined) return;
    const state = await mailbox.refresh();
    if (state.changeNumber === known.changeNumber && state.removals === known.removals) return;
    if (state.uidValidity !== known.uidValidity) throw new TypeError('the mailbox has another form now');
    const isWhole = mayRemove && state.removals !== known.removals;
    const items = await mailbox.list(isWhole ? undefined : known.changeNumber);
    if (isWhole) await this.#tellRemoved(view, new Set(items.map(({ uid }) => uid)));
    const last = view.at(-1)?.uid ?? 0;
    for (const item of items) {
      if (item.uid > last) {
        view.push(item);
        continue;
      }
      const number = this.#numberOf(item);
      const shown = view[number - 1];
      if (shown?.uid !== item.uid) continue;
      view[number - 1] = item;
      if (shown.flags !== item.flags)
        await this.#say(`* ${number} FETCH (UID ${item.uid} FLAGS (${writeFlags(item.flags)}))`);
    }
    if (view.at(-1)?.uid !== last && view.length > 0) await this.#say(`* ${view.length} EXISTS`);
    this.#known = isWhole ? state : { ...state, removals: known.removals };
  }

  async #tellRemoved(view: MailItem[], left: ReadonlySet<number>): Promise<void> {
    for (let index = view.length - 1; index >= 0; index--) {
      if (left.has(view[index]?.uid ?? 0)) continue;
      view.splice(index, 1);
      await this.#say(`* ${index + 1} EXPUNGE`);
    }
  }

  async #idle(tag: string): Promise<Result> {
    if (!(await this.#connection.write('+ idling\r\n'))) return undefined;
    let wake: () => void = () => {};
    const endListening = this.#mailbox?.onChanged(() => wake());
    const line = this.#connection.reader.readLine(1024);
    try {
      for (;;) {
        const changed = new Promise<'changed'>((resolve) => (wake = () => resolve('changed')));
        await this.#tellChanges(true);
        const timer = setTimeout(() => wake(), lookMs);
        const next = await Promise.race([line, changed]);
        clearTimeout(timer);
        if (next === 'changed') continue;
        if (!Buffer.isBuffer(next)) return undefined;
        return next.toString('latin1').toUpperCase() === 'DONE' ? 'OK done' : `BAD ${tag}: DONE was expected`;
      }
    } finally {
      endListening?.();
    }
  }
}

const knownCommands: ReadonlySet<string> = new Set(
  'STARTTLS LOGIN AUTHENTICATE SELECT EXAMINE CREATE DELETE RENAME SUBSCRIBE UNSUBSCRIBE LIST LSUB STATUS APPEND IDLE NAMESPACE CHECK CLOSE UNSELECT EXPUNGE SEARCH FETCH STORE COPY MOVE UID'.split(
    ' ',
  ),
);

const isInbox = (name: string): boolean => name.toUpperCase() === 'INBOX';
const isDeleted = ({ flags }: MailItem): boolean => (flags & mailFlags.deleted) !== 0;

/** Whether a pattern of LIST, with `*` and `%`, finds INBOX. */
function matchesInbox(pattern: string): boolean {
  if (pattern.length > 200) return false;
  const escaped = pattern.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replace(/[*%]+/g, '.*');
  return new RegExp(`^${escaped}$`, 'i').test('INBOX');
}

function textOf(token: Token | undefined): string {
  if (token === undefined || token.kind === 'list') throw new SyntaxError('A word is missing');
  return token.text;
}
