/**
 * The addresses of a mailbox-list, or with `allowsGroups` an address-list, by the grammar of RFC 5322 §3.4,
 * without its obsolete forms but for points in a display name (RFC 5322 §4.1), which many write, and with
 * UTF-8 in it (RFC 6532 §3.2). Undefined for anything else: a value that readers could parse in two ways,
 * such as `<b@x.example> <a@x.example>`, is not accepted. `value` is unfolded.
 */
export function readAddressList(
  value: string,
  { allowsGroups = false }: { readonly allowsGroups?: boolean } = {},
): string[] | undefined {
  const tokens = readTokens(value);
  return tokens && new AddressReader(tokens, allowsGroups).read();
}

const quotedString = /"(?:[^"\\<>@]|\\[^<>@])*"/g;
const plainComment = /\([^()\\<>@"]*\)/g;
// A backslash right before the bracket might quote it.
const oneInAngles = /^([^<>"()]*)(?<!\\)<([^<>]*)>[ \t]*$/;

/**
 * The address of a mailbox whose display name should be quoted and is not, such as
 * `Smith, Bob MD <a@d.example>`: exactly one address stands in angle brackets, at the end, and no other may
 * be one of a list. Undefined for anything else. Two readers can differ about the name here, so it
 * counts only where something else, a certificate, vouches for the address.
 */
export function readUnquotedMailbox(value: string): string | undefined {
  if (/\p{Cc}/u.test(value.replaceAll('\t', ' '))) return undefined;
  // A comment or quoted string with an address in it is left, and then refused.
  const plain = value.replaceAll(quotedString, '').replaceAll(plainComment, ' ');
  const [, name = '', inner] = oneInAngles.exec(plain) ?? [];
  const [address, ...others] = (inner === undefined ? undefined : readAddressList(inner)) ?? [];
  if (address === undefined || others.length > 0) return undefined;
  const isList = /[,;:]/.test(name);
  const isForeign = (word: string): boolean =>
    /.@./.test(word) && word.toLowerCase() !== address.toLowerCase();
  return isList && name.split(/[\s,;:]/).some(isForeign) ? undefined : address;
}

type Special = '<' | '>' | ',' | ';' | ':' | '@';

interface Token {
  readonly kind: 'atom' | 'quoted' | 'literal' | Special;
  /** As written; of a quoted string with its quotes. */
  readonly text: string;
  /** White space or a comment stands before it. */
  readonly isApart: boolean;
}

// Sticky, one for each kind; none can backtrack over the text that it has matched.
const patterns: readonly (readonly [kind: Token['kind'] | 'blank', pattern: RegExp])[] = [
  ['blank', /[ \t]+/y],
  ['atom', /[\w!#$%&'*+/=?^`{|}~.\u0080-\uffff-]+/y],
  ['quoted', /"(?:[\t !#-[\]-~\u0080-\uffff]|\\[\t -~\u0080-\uffff])*"/y],
  ['literal', /\[[!-Z^-~]*\]/y],
];
const specials: ReadonlySet<string> = new Set<Special>(['<', '>', ',', ';', ':', '@']);

function readTokens(value: string): Token[] | undefined {
  const tokens: Token[] = [];
  let isApart = false;
  for (let at = 0; at < value.length;) {
    const end = value[at] === '(' ? endOfComment(value, at) : at;
    if (end === undefined) return undefined;
    if (end > at) {
      at = end;
      isApart = true;
      continue;
    }
    const token = readToken(value, at);
    if (token === undefined) return undefined;
    at += token.text.length;
    if (token.kind === 'blank') isApart = true;
    else {
      tokens.push({ kind: token.kind, text: token.text, isApart });
      isApart = false;
    }
  }
  return tokens;
}

function readToken(
  value: string,
  at: number,
): { readonly kind: Token['kind'] | 'blank'; readonly text: string } | undefined {
  const character = value.charAt(at);
  if (specials.has(character)) return { kind: character as Special, text: character };
  for (const [kind, pattern] of patterns) {
    pattern.lastIndex = at;
    const text = pattern.exec(value)?.[0];
    if (text !== undefined) return { kind, text };
  }
  return undefined;
}

/**
 * The offset behind a comment, which may hold others; undefined if it does not end, or holds a control
 * character.
 */
function endOfComment(value: string, start: number): number | undefined {
  let depth = 0;
  for (let at = start; at < value.length; at++) {
    const character = value.charAt(at);
    if (character !== '\t' && (character < ' ' || character === '\u007f')) return undefined;
    if (character === '\\') at++;
    else if (character === '(') depth++;
    else if (character === ')' && --depth === 0) return at + 1;
  }
  return undefined;
}

class AddressReader {
  readonly #tokens: readonly Token[];
  readonly #allowsGroups: boolean;
  #next = 0;

  constructor(tokens: readonly Token[], allowsGroups: boolean) {
    this.#tokens = tokens;
    this.#allowsGroups = allowsGroups;
  }

  read(): string[] | undefined {
    const mailboxes: string[] = [];
    do {
      const found = this.#readAddress();
      if (found === undefined) return undefined;
      mailboxes.push(...found);
    } while (this.#take(','));
    return this.#next === this.#tokens.length ? mailboxes : undefined;
  }

  #readAddress(): string[] | undefined {
    const start = this.#next;
    const mailbox = this.#readMailbox();
    if (mailbox !== undefined) return [mailbox];
    this.#next = start;
    return this.#allowsGroups ? this.#readGroup() : undefined;
  }

  #readMailbox(): string | undefined {
    const start = this.#next;
    const bare = this.#readAddrSpec();
    if (bare !== undefined) return bare;
    this.#next = start;
    this.#skipPhrase();
    if (!this.#take('<')) return undefined;
    const address = this.#readAddrSpec();
    return this.#take('>') ? address : undefined;
  }

  /** A group in a group is none, and a group may be empty (RFC 5322 §3.4). */
  #readGroup(): string[] | undefined {
    if (!this.#skipPhrase() || !this.#take(':')) return undefined;
    const mailboxes: string[] = [];
    if (this.#take(';')) return mailboxes;
    do {
      const mailbox = this.#readMailbox();
      if (mailbox === undefined) return undefined;
      mailboxes.push(mailbox);
    } while (this.#take(','));
    return this.#take(';') ? mailboxes : undefined;
  }

  /** Local part, `@` and domain without anything between them (RFC 5322 §3.4.1). */
  #readAddrSpec(): string | undefined {
    const [local, at, domain] = this.#tokens.slice(this.#next, this.#next + 3);
    if (local === undefined || domain === undefined || at?.kind !== '@') return undefined;
    if (at.isApart || domain.isApart) return undefined;
    const isLocal = local.kind === 'quoted' || isDotAtom(local);
    if (!isLocal || !(domain.kind === 'literal' || isDotAtom(domain))) return undefined;
    this.#next += 3;
    return `${local.text}@${domain.text}`;
  }

  /** A display name; returns false if there is none. */
  #skipPhrase(): boolean {
    const start = this.#next;
    while (this.#isWord(this.#tokens[this.#next]?.kind)) this.#next++;
    return this.#next > start;
  }

  #isWord(kind: Token['kind'] | undefined): boolean {
    return kind === 'atom' || kind === 'quoted';
  }

  #take(kind: Special): boolean {
    const isNext = this.#tokens[this.#next]?.kind === kind;
    if (isNext) this.#next++;
    return isNext;
  }
}

function isDotAtom({ kind, text }: Token): boolean {
  return kind === 'atom' && !text.startsWith('.') && !text.endsWith('.') && !text.includes('..');
}
