import type { EdgeConnection } from '../connection.ts';

/** A word of a command: an atom, a text that was quoted or a literal, or a list in parentheses. */
export type Token =
  | { readonly kind: 'atom'; readonly text: string }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'list'; readonly items: readonly Token[] };

export interface Command {
  readonly tag: string;
  /** Upper-cased. */
  readonly name: string;
  readonly words: readonly Token[];
  /** The message behind APPEND, which nobody has read yet. */
  readonly upload?: Upload;
}

export interface Upload {
  readonly octets: number;
  /** True for a client that sends nothing before it is told to. */
  readonly isWaiting: boolean;
}

/** A command that cannot be read; `tag` is `*` if it has none. */
export interface BadCommand {
  readonly tag: string;
  readonly fault: string;
}

/** A command line without its literals. */
const maxLineOctets = 16_384;
/** All literals of a command; they are names, passwords and search words. */
const maxLiteralOctets = 16_384;
const maxDepth = 20;

/** The next command. `ended`: the connection has ended, or what came cannot be followed any further. */
export async function readCommand(connection: EdgeConnection): Promise<Command | BadCommand | 'ended'> {
  const pieces: (string | Literal)[] = [];
  let octets = 0;
  let literalOctets = 0;
  for (;;) {
    const line = await connection.reader.readLine(maxLineOctets);
    if (line === undefined) return 'ended';
    if (line === 'too-long' || (octets += line.length) > maxLineOctets) {
      await connection.write('* BYE The command is too long\r\n');
      return 'ended';
    }
    const text = line.toString('latin1');
    const announced = /\{(\d{1,20})(\+?)\}$/.exec(text);
    if (announced === null) {
      pieces.push(text);
      return parseCommand(pieces);
    }
    const [whole, count = '', plus] = announced;
    pieces.push(text.slice(0, -whole.length));
    const appending = /^\S+ APPEND /i.test(startOf(pieces)) ? parseCommand(pieces) : undefined;
    // A mailbox's name may be a literal, too.
    if (appending !== undefined && 'words' in appending && appending.words.length > 0)
      return { ...appending, upload: { octets: Number(count), isWaiting: plus === '' } };
    literalOctets += Number(count);
    if (literalOctets > maxLiteralOctets) {
      const tag = tagOf(pieces);
      // A client that waits is told so; the octets of one that does not wait are skipped.
      if (plus === '') return { tag, fault: 'The literal is too large' };
      if (literalOctets > 100 * maxLiteralOctets) {
        await connection.write('* BYE The literal is too large to be skipped\r\n');
        return 'ended';
      }
      if (!(await connection.reader.skipOctets(Number(count)))) return 'ended';
      await connection.reader.readLine(maxLineOctets);
      return { tag, fault: 'The literal is too large' };
    }
    if (plus === '' && !(await connection.write('+ Go on\r\n'))) return 'ended';
    const literal = await connection.reader.readOctets(Number(count));
    if (literal === undefined) return 'ended';
    pieces.push({ literal: literal.toString('utf8') });
  }
}

interface Literal {
  readonly literal: string;
}

const startOf = ([first]: readonly (string | Literal)[]): string => (typeof first === 'string' ? first : '');

const tagOf = (pieces: readonly (string | Literal)[]): string =>
  /^([!#$&',-./0-9:;<=>?@A-Z[\]^_`a-z|~]{1,100}) /.exec(startOf(pieces))?.[1] ?? '*';

function parseCommand(pieces: readonly (string | Literal)[]): Command | BadCommand {
  const tag = tagOf(pieces);
  if (tag === '*') return { tag, fault: 'A command begins with a tag' };
  try {
    const parser = new Parser(pieces, tag.length + 1);
    const name = parser.word();
    if (name === undefined) return { tag, fault: 'The command is missing' };
    return { tag, name: name.toUpperCase(), words: parser.rest() };
  } catch (error) {
    if (error instanceof SyntaxError) return { tag, fault: error.message };
    throw error;
  }
}

/** Texts of one quality: what is not UTF-8 is Latin-1. */
function decode(text: string): string {
  return /[\x80-\xff]/.test(text) ? Buffer.from(text, 'latin1').toString('utf8') : text;
}

class Parser {
  readonly #pieces: readonly (string | Literal)[];
  #piece = 0;
  #at: number;

  constructor(pieces: readonly (string | Literal)[], at: number) {
    this.#pieces = pieces;
    this.#at = at;
  }

  /** The next character of the line, or undefined before a literal and at the end. */
  #next(): string | undefined {
    const piece = this.#pieces[this.#piece];
    return typeof piece === 'string' ? piece[this.#at] : undefined;
  }

  #takeLiteral(): string | undefined {
    const piece = this.#pieces[this.#piece];
    const following = this.#pieces[this.#piece + 1];
    if (typeof piece === 'string' && this.#at < piece.length) return undefined;
    if (typeof following !== 'object') return undefined;
    this.#piece += 2;
    this.#at = 0;
    return following.literal;
  }

  word(): string | undefined {
    let text = '';
    for (let next = this.#next(); next !== undefined && next !== ' '; next = this.#next()) {
      text += next;
      this.#at++;
    }
    return text === '' ? undefined : text;
  }

  rest(): Token[] {
    const tokens = this.#list(0, false);
    if (this.#next() !== undefined) throw new SyntaxError('A parenthesis closes nothing');
    return tokens;
  }

  #list(depth: number, isInside: boolean): Token[] {
    if (depth > maxDepth) throw new SyntaxError('Too many parentheses');
    const items: Token[] = [];
    for (;;) {
      while (this.#next() === ' ') this.#at++;
      const literal = this.#takeLiteral();
      if (literal !== undefined) {
        items.push({ kind: 'text', text: literal });
        continue;
      }
      const next = this.#next();
      if (next === undefined || next === ')') {
        if (isInside !== (next === ')')) throw new SyntaxError('The parentheses do not match');
        return items;
      }
      if (next === '(') {
        this.#at++;
        items.push({ kind: 'list', items: this.#list(depth + 1, true) });
        this.#at++;
      } else if (next === '"') items.push({ kind: 'text', text: this.#quoted() });
      else items.push({ kind: 'atom', text: this.#atom() });
    }
  }

  #quoted(): string {
    let text = '';
    for (this.#at++; ; this.#at++) {
      let next = this.#next();
      if (next === '\\') next = (this.#at++, this.#next());
      else if (next === '"') {
        this.#at++;
        return decode(text);
      }
      if (next === undefined) throw new SyntaxError('A quoted text does not end');
      text += next;
    }
  }

  /** With the brackets of `BODY[HEADER.FIELDS (From)]<0.100>`, blanks and parentheses in them included. */
  #atom(): string {
    let text = '';
    let isInBrackets = false;
    for (;;) {
      const next = this.#next();
      if (next === undefined && isInBrackets) throw new SyntaxError('A bracket does not close');
      if (next === undefined || (!isInBrackets && (next === ' ' || next === '(' || next === ')')))
        return decode(text);
      if (next === '[') isInBrackets = true;
      if (next === ']') isInBrackets = false;
      text += next;
      this.#at++;
    }
  }
}
