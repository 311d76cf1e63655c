import { CodedError, errorCode, type Log } from '../../../core/index.ts';
import { parseEntity } from '../../../lib/mime/index.ts';
import {
  mailboxNames,
  mailFlags,
  type EdgeSession,
  type FlagChange,
  type MailboxName,
  type MailboxState,
  type MailItem,
} from '../../../service/edges/index.ts';
import type { EdgeConnection } from '../connection.ts';
import { openMailbox, type Mailbox, type MailboxDependencies } from '../mailbox/open-mailbox.ts';
import { isSignInRefusal, readPlain } from '../sign-in.ts';
import {
  allFlags,
  allKeywords,
  fetchMessage,
  parseFetch,
  readFlags,
  writeFlags,
  type FactsCache,
} from './fetch.ts';
import { readCommand, type BadCommand, type Command, type Token, type Upload } from './read-command.ts';
import { SearchRefusal, searchMessages } from './search.ts';
import { isInRanges, parseSequenceSet, writeSet } from './sequence-set.ts';
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
/** Of a message that is stored already, only the header is looked at. */
const maxAppendedHeader = 65_536;
const maxAppended = 64_000_000;
/** A change of which no word came is seen after this time. */
const lookMs = 30_000;

/** What the tagged answer says; empty if it was given already, undefined at the end of the session. */
type Result = string | undefined;

/**
 * IMAP4rev1 (RFC 3501) with STARTTLS, SASL PLAIN and SASL-IR, LITERAL-, IDLE, UIDPLUS, MOVE, SPECIAL-USE,
 * UNSELECT, NAMESPACE and ID: INBOX, Trash, and Sent for reading alone. A password only inside TLS. A message
 * that was fetched whole or marked as seen is acknowledged where the account says so; one that is expunged or
 * moved always.
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
  #session: EdgeSession | undefined;
  /** INBOX, from the sign-in on. */
  #mailbox: Mailbox | undefined;
  /** The mailbox that was selected last. */
  #current: Mailbox | undefined;
  readonly #others = new Map<MailboxName, Mailbox>();
  /** While a mailbox is selected: its messages by uid, as the client has been told. */
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
    for (const mailbox of this.#others.values()) mailbox.close();
  }

  #closeView(): void {
    this.#view = undefined;
    this.#current?.closeList();
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
    if (error instanceof ListRefusal) {
      await this.#say('* BYE [UNAVAILABLE] No memory is left for a mailbox that grew so much');
      return false;
    }
    if (isSignInRefusal(error)) {
      await this.#say('* BYE This account was disabled, or its password revoked');
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
    return `IMAP4rev1 ${shown}SASL-IR LITERAL- ID IDLE NAMESPACE UIDPLUS MOVE SPECIAL-USE UNSELECT`;
  }

  async #run(command: Command): Promise<Result> {
    if (command.upload !== undefined) return this.#append(command, command.upload);
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
      this.#session = session;
      this.#connection.noteSignIn();
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
    await (this.#current ?? mailbox).renew();
    switch (name) {
      case 'SELECT':
      case 'EXAMINE':
        return this.#select(mailbox, textOf(words[0]), name === 'EXAMINE');
      case 'LIST':
      case 'LSUB':
        return this.#list(mailbox, name, words);
      case 'STATUS':
        return this.#status(mailbox, textOf(words[0]), words[1]);
      case 'NAMESPACE':
        await this.#say('* NAMESPACE (("" "/")) NIL NIL');
        return 'OK done';
      case 'SUBSCRIBE':
      case 'UNSUBSCRIBE':
        return this.#find(mailbox, textOf(words[0])) === undefined ? noSuchMailbox : 'OK done';
      case 'CREATE':
        return this.#find(mailbox, textOf(words[0])) === undefined
          ? `NO [CANNOT] ${theMailboxes}`
          : 'NO [ALREADYEXISTS] There is a mailbox of that name';
      case 'DELETE':
      case 'RENAME':
        return `NO [CANNOT] ${theMailboxes}`;
      case 'APPEND':
        throw new SyntaxError('APPEND needs a mailbox and a message');
      case 'IDLE':
        return this.#idle(tag);
      case 'STARTTLS':
      case 'LOGIN':
      case 'AUTHENTICATE':
        return 'BAD already signed in';
    }
    if (!knownCommands.has(name)) throw new SyntaxError('The command is not known');
    const view = this.#view;
    if (view === undefined) throw new SyntaxError('Select a mailbox first');
    return this.#selected(command, this.#current ?? mailbox, view);
  }

  async #selected({ name, words }: Command, mailbox: Mailbox, view: MailItem[]): Promise<Result> {
    switch (name) {
      case 'CHECK':
        await this.#tellChanges(true);
        return 'OK done';
      case 'CLOSE':
        if (!this.#isReadOnly) await mailbox.remove(view.filter(isDeleted));
        this.#closeView();
        return 'OK closed';
      case 'UNSELECT':
        this.#closeView();
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
        return this.#copy(mailbox, words, false, name === 'MOVE');
      case 'UID': {
        const [first, ...rest] = words;
        const byUid = textOf(first).toUpperCase();
        switch (byUid) {
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
            return this.#copy(mailbox, rest, true, byUid === 'MOVE');
        }
      }
    }
    throw new SyntaxError('The command is not known');
  }

  /** The mailbox of that name, in any case of letters. */
  #find(inbox: Mailbox, name: string): Mailbox | undefined {
    const found = mailboxNames.find((known) => known.toUpperCase() === name.toUpperCase());
    if (found === undefined || (found === 'Sent' && !inbox.keepsSent)) return undefined;
    if (found === 'INBOX') return inbox;
    const { remoteAddress } = this.#connection;
    const open =
      this.#others.get(found) ??
      openMailbox(this.#deps, this.#session as EdgeSession, 'imap', remoteAddress, found);
    this.#others.set(found, open);
    return open;
  }

  async #select(inbox: Mailbox, name: string, isExamined: boolean): Promise<Result> {
    this.#closeView();
    const mailbox = this.#find(inbox, name);
    if (mailbox === undefined) return noSuchMailbox;
    const isSent = mailbox.name === 'Sent';
    const isReadOnly = isExamined || isSent;
    this.#current = mailbox;
    const state = await mailbox.refresh();
    const view = await mailbox.openList();
    this.#known = state;
    this.#view = view;
    this.#isReadOnly = isReadOnly;
    const unseen = view.findIndex(({ flags }) => (flags & mailFlags.seen) === 0);
    for (const line of [
      `* ${view.length} EXISTS`,
      '* 0 RECENT',
      `* FLAGS (${allFlags}${isSent ? ` ${allKeywords}` : ''})`,
      `* OK [PERMANENTFLAGS (${isReadOnly ? '' : allFlags})] These are kept`,
      ...(unseen === -1 ? [] : [`* OK [UNSEEN ${unseen + 1}] The first unseen`]),
      `* OK [UIDVALIDITY ${state.uidValidity}] UIDs are valid`,
      `* OK [UIDNEXT ${Math.max(state.uidNext, (view.at(-1)?.uid ?? 0) + 1)}] The next one`,
    ])
      await this.#say(line);
    return isReadOnly ? 'OK [READ-ONLY] for reading alone' : 'OK [READ-WRITE] selected';
  }

  /** Options and what is to be returned are told to all alike (RFC 5258, RFC 6154). */
  async #list(inbox: Mailbox, name: string, words: readonly Token[]): Promise<Result> {
    const options = words[0]?.kind === 'list' ? words[0].items.map(textOf) : [];
    const [reference, wanted] = words[0]?.kind === 'list' ? words.slice(1) : words;
    const patterns = wanted?.kind === 'list' ? wanted.items.map(textOf) : [textOf(wanted)];
    if (patterns.length === 1 && patterns[0] === '') {
      await this.#say(`* ${name} (\\Noselect) "/" ""`);
      return 'OK done';
    }
    const isSpecial = options.some((option) => option.toUpperCase() === 'SPECIAL-USE');
    for (const mailbox of mailboxNames) {
      if (this.#find(inbox, mailbox) === undefined || (isSpecial && mailbox === 'INBOX')) continue;
      if (!patterns.some((pattern) => matches(textOf(reference) + pattern, mailbox))) continue;
      const use = mailbox === 'INBOX' ? '' : ` \\${mailbox}`;
      await this.#say(`* ${name} (\\HasNoChildren${use}) "/" ${mailbox}`);
    }
    return 'OK done';
  }

  async #status(inbox: Mailbox, name: string, wanted: Token | undefined): Promise<Result> {
    if (wanted?.kind !== 'list') throw new SyntaxError('STATUS needs a list of items');
    const mailbox = this.#find(inbox, name);
    if (mailbox === undefined) return noSuchMailbox;
    const state = await mailbox.refresh();
    const { messages, unseen } = await mailbox.counts();
    const values: Readonly<Record<string, number>> = {
      MESSAGES: messages,
      RECENT: 0,
      UIDNEXT: state.uidNext,
      UIDVALIDITY: state.uidValidity,
      UNSEEN: unseen,
    };
    const shown = wanted.items.map((item) => {
      const word = textOf(item).toUpperCase();
      const value = values[word];
      if (value === undefined) throw new SyntaxError('STATUS does not know an item');
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
    // Without a list it would take all flags away.
    if (only === undefined) throw new SyntaxError('STORE needs a list of flags');
    const names = only.kind === 'list' ? only.items : rest;
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

  /** Between INBOX and Trash, so that programs that delete by moving can, and can take it back. */
  async #copy(
    mailbox: Mailbox,
    [set, name]: readonly Token[],
    byUid: boolean,
    isMove: boolean,
  ): Promise<Result> {
    const items = this.#pick(set, byUid);
    const target = this.#find(this.#mailbox ?? mailbox, textOf(name));
    if (target === undefined) return noSuchMailbox;
    if (target.name === 'Sent' || mailbox.name === 'Sent' || target.name === mailbox.name)
      return `NO [CANNOT] Messages go from INBOX to Trash and back. ${theMailboxes}`;
    if (isMove && this.#isReadOnly) return 'NO [READ-ONLY] The mailbox is open for reading alone';
    const copied = await mailbox.copy(items, target.name, isMove);
    const code =
      copied.size === 0
        ? ''
        : `[COPYUID ${(await target.refresh()).uidValidity} ${writeSet([...copied.keys()])} ${writeSet([...copied.values()])}] `;
    if (!isMove) return `OK ${code}copied`;
    // RFC 6851 §4.3: before the numbers change.
    await this.#say(`* OK ${code}moved`);
    await this.#tellChanges(true);
    return 'OK done';
  }

  /**
   * Programs store what they have sent: it is in Sent already, so that they are told where, and nothing is
   * kept twice. Anything else is refused, before it is sent where the client waits.
   */
  async #append({ tag, words }: Command, upload: Upload): Promise<Result> {
    const { reader } = this.#connection;
    const inbox = this.#mailbox;
    const sent = inbox && this.#find(inbox, textOf(words[0]));
    const isTaken = sent?.name === 'Sent' && upload.octets > 0;
    if (!isTaken && upload.isWaiting) return inbox === undefined ? 'BAD Sign in first' : refusedAppend;
    if (upload.octets > maxAppended && upload.isWaiting) return 'NO [LIMIT] The message is too large';
    if (upload.isWaiting && !(await this.#connection.write('+ Go on\r\n'))) return undefined;
    if (upload.octets > maxAppended) {
      await this.#say(`${tag} NO [LIMIT] The message is too large`);
      await this.#say('* BYE The message is too large to be skipped');
      return undefined;
    }
    const kept = Math.min(upload.octets, maxAppendedHeader);
    const start = await reader.readOctets(kept);
    if (start === undefined || !(await reader.skipOctets(upload.octets - kept))) return undefined;
    if (!Buffer.isBuffer(await reader.readLine(1024))) return undefined;
    if (!isTaken || inbox === undefined) return inbox === undefined ? 'BAD Sign in first' : refusedAppend;
    const wireId = parseEntity(start).header('message-id')?.trim() ?? '';
    await inbox.renew();
    const uid = await inbox.findSent(wireId);
    if (uid === undefined) return refusedAppend;
    const { uidValidity } = await sent.refresh();
    return `OK [APPENDUID ${uidValidity} ${uid}] It is there already`;
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
    const [mailbox, view, known] = [this.#current, this.#view, this.#known];
    if (mailbox === undefined || view === undefined || known === undefined) return;
    const state = await mailbox.refresh();
    if (state.changeNumber === known.changeNumber && state.removals === known.removals) return;
    if (state.uidValidity !== known.uidValidity) throw new TypeError('the mailbox has another form now');
    const isWhole = mayRemove && state.removals !== known.removals;
    // Not the whole list again, which would need as much memory as the one that is open.
    const items = await mailbox.list(known.changeNumber);
    if (isWhole) await this.#tellRemoved(view, await mailbox.uids());
    const last = view.at(-1)?.uid ?? 0;
    const added = items.filter(({ uid }) => uid > last).length;
    if (added > 0 && !mailbox.growList(view.length + added)) throw new ListRefusal();
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

/** There is no memory for what came into the open mailbox. */
class ListRefusal extends Error {}

const knownCommands: ReadonlySet<string> = new Set(
  'STARTTLS LOGIN AUTHENTICATE SELECT EXAMINE CREATE DELETE RENAME SUBSCRIBE UNSUBSCRIBE LIST LSUB STATUS APPEND IDLE NAMESPACE CHECK CLOSE UNSELECT EXPUNGE SEARCH FETCH STORE COPY MOVE UID'.split(
    ' ',
  ),
);

const theMailboxes = 'The mailboxes are INBOX, Trash and Sent, which shows what was sent';
const noSuchMailbox = `NO [NONEXISTENT] ${theMailboxes}`;
const refusedAppend =
  'NO [CANNOT] Only what this account has sent can be stored, in Sent, where it is already';
const isDeleted = ({ flags }: MailItem): boolean => (flags & mailFlags.deleted) !== 0;

/** Whether a pattern of LIST, with `*` and `%`, finds a mailbox. */
function matches(pattern: string, mailbox: string): boolean {
  if (pattern.length > 200) return false;
  const escaped = pattern.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replace(/[*%]+/g, '.*');
  return new RegExp(`^${escaped}$`, 'i').test(mailbox);
}

function textOf(token: Token | undefined): string {
  if (token === undefined || token.kind === 'list') throw new SyntaxError('A word is missing');
  return token.text;
}
