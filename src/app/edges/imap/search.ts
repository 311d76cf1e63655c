import { decodeWords, parseEntity, readDate, type MimeEntity } from '../../../lib/mime/index.ts';
import { mailFlags, type MailItem } from '../../../service/edges/index.ts';
import type { Mailbox } from '../mailbox/open-mailbox.ts';
import { findFacts, keywordBit, type FactsCache } from './fetch.ts';
import { isInRanges, parseSequenceSet } from './sequence-set.ts';
import type { Token } from './read-command.ts';
import { readDay } from './write-values.ts';

/** What a condition is asked about. */
interface Candidate {
  readonly item: MailItem;
  /** From 1. */
  readonly number: number;
  /** Undefined if it is gone. */
  header(): Promise<MimeEntity | undefined>;
  bytes(): Promise<Uint8Array | undefined>;
}

/** `cost` 0 needs the row alone, 1 the header, 2 the content. */
interface Condition {
  readonly cost: 0 | 1 | 2;
  matches(candidate: Candidate): boolean | Promise<boolean>;
}

export interface SearchContext {
  readonly mailbox: Mailbox;
  readonly cache: FactsCache;
  readonly items: readonly MailItem[];
}

const maxConditions = 200;
/** A search through contents ends after this time; what it found by then would be wrong. */
const maxSearchMs = 30_000;

/** A search that is understood, and that a client may make smaller or write otherwise. */
export class SearchRefusal extends Error {
  /** Response code (RFC 9051 §7.1). */
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** The matching messages with their numbers. Throws SyntaxError, SearchRefusal. */
export async function searchMessages(
  { mailbox, cache, items }: SearchContext,
  words: readonly Token[],
): Promise<readonly { readonly item: MailItem; readonly number: number }[]> {
  const parser = new SearchParser(words, items);
  const condition = allOf(parser.all());
  const found: { item: MailItem; number: number }[] = [];
  const untilMs = performance.now() + maxSearchMs;
  for (const [index, item] of items.entries()) {
    if (index % 1000 === 999) await new Promise((resolve) => setImmediate(resolve));
    if (performance.now() > untilMs)
      throw new SearchRefusal('LIMIT', 'The search takes too long: narrow it by date, flag or UID');
    const candidate: Candidate = {
      item,
      number: index + 1,
      async header() {
        const facts = await findFacts(mailbox, cache, item);
        return facts && parseEntity(facts.header);
      },
      bytes: () => mailbox.read(item),
    };
    const matches = condition.matches(candidate);
    // Waiting for what is known costs more than the rest, in a mailbox of a hundred thousand.
    if (typeof matches === 'boolean' ? matches : await matches) found.push({ item, number: index + 1 });
  }
  return found;
}

/** What is cheap is asked first, so that a message is read only if the rest fits. */
function allOf(conditions: readonly Condition[]): Condition {
  const ordered = conditions.toSorted((left, right) => left.cost - right.cost);
  return {
    cost: ordered.at(-1)?.cost ?? 0,
    matches(candidate) {
      for (const [index, condition] of ordered.entries()) {
        const matches = condition.matches(candidate);
        if (matches === false) return false;
        if (matches !== true) return allLater(matches, ordered.slice(index + 1), candidate);
      }
      return true;
    },
  };
}

async function allLater(
  first: Promise<boolean>,
  others: readonly Condition[],
  candidate: Candidate,
): Promise<boolean> {
  if (!(await first)) return false;
  for (const condition of others) if (!(await condition.matches(candidate))) return false;
  return true;
}

class SearchParser {
  readonly #words: readonly Token[];
  readonly #items: readonly MailItem[];
  #at = 0;
  #count: { conditions: number };

  constructor(words: readonly Token[], items: readonly MailItem[], count = { conditions: 0 }) {
    this.#words = words;
    this.#items = items;
    this.#count = count;
  }

  all(): Condition[] {
    const conditions: Condition[] = [];
    if (this.#peekWord() === 'CHARSET') {
      this.#at++;
      if (!/^(utf-8|us-ascii)$/i.test(this.#text()))
        // By NO, clients know that another one may do (RFC 3501 §6.4.4).
        throw new SearchRefusal('BADCHARSET (UTF-8 US-ASCII)', 'The charset is not known');
    }
    while (this.#at < this.#words.length) conditions.push(this.#one());
    if (conditions.length === 0) throw new SyntaxError('A search needs a condition');
    return conditions;
  }

  #peekWord(): string | undefined {
    const token = this.#words[this.#at];
    return token?.kind === 'atom' ? token.text.toUpperCase() : undefined;
  }

  #text(): string {
    const token = this.#words[this.#at++];
    if (token === undefined || token.kind === 'list')
      throw new SyntaxError('A search condition lacks its value');
    return token.text;
  }

  #one(): Condition {
    if (++this.#count.conditions > maxConditions) throw new SyntaxError('Too many search conditions');
    const token = this.#words[this.#at++];
    if (token === undefined) throw new SyntaxError('A search condition is missing');
    if (token.kind === 'list') return allOf(new SearchParser(token.items, this.#items, this.#count).all());
    const word = token.text.toUpperCase();
    const flag = flagConditions[word];
    if (flag !== undefined) return { cost: 0, matches: ({ item }) => (item.flags & flag[0]) === flag[1] };
    switch (word) {
      case 'ALL':
      case 'OLD':
        return constant(true);
      case 'NEW':
      case 'RECENT':
        return constant(false);
      case 'KEYWORD':
      case 'UNKEYWORD': {
        const bit = keywordBit(this.#text());
        const isWanted = word === 'KEYWORD';
        return { cost: 0, matches: ({ item }) => ((item.flags & bit) !== 0) === isWanted };
      }
      case 'NOT': {
        const inner = this.#one();
        return {
          cost: inner.cost,
          matches(candidate) {
            const matches = inner.matches(candidate);
            return typeof matches === 'boolean' ? !matches : matches.then((found) => !found);
          },
        };
      }
      case 'OR': {
        const [left, right] = [this.#one(), this.#one()].toSorted((one, other) => one.cost - other.cost);
        if (left === undefined || right === undefined) throw new SyntaxError('OR needs two conditions');
        return {
          cost: right.cost,
          matches(candidate) {
            const matches = left.matches(candidate);
            if (typeof matches !== 'boolean')
              return matches.then((found) => found || right.matches(candidate));
            return matches || right.matches(candidate);
          },
        };
      }
      case 'LARGER':
      case 'SMALLER':
        return this.#bySize(word);
      case 'BEFORE':
      case 'ON':
      case 'SINCE': {
        const isWanted = this.#dayTest(word);
        return { cost: 0, matches: ({ item }) => isWanted(item.receivedAt.getTime()) };
      }
      case 'SENTBEFORE':
      case 'SENTON':
      case 'SENTSINCE': {
        const isWanted = this.#dayTest(word.slice(4));
        return headerCondition((header) => {
          const at = readDate(header.header('date') ?? '');
          return at !== undefined && isWanted(at.getTime());
        });
      }
      case 'FROM':
      case 'TO':
      case 'CC':
      case 'BCC':
      case 'SUBJECT':
        return this.#byField(word, this.#text());
      case 'HEADER':
        return this.#byField(this.#text(), this.#text());
      case 'BODY':
      case 'TEXT':
        return this.#byContent(word, this.#text());
      case 'UID': {
        const ranges = parseSequenceSet(this.#text(), this.#items.at(-1)?.uid ?? 0);
        if (ranges === undefined) throw new SyntaxError('UID needs a set of numbers');
        return { cost: 0, matches: ({ item }) => isInRanges(ranges, item.uid) };
      }
    }
    const ranges = parseSequenceSet(token.text, this.#items.length);
    if (ranges === undefined) throw new SyntaxError('A search condition is not known');
    return { cost: 0, matches: ({ number }) => isInRanges(ranges, number) };
  }

  #bySize(word: string): Condition {
    const text = this.#text();
    if (!/^\d{1,10}$/.test(text)) throw new SyntaxError(`${word} needs a number`);
    const size = Number(text);
    const isWanted = (bytes: number): boolean => (word === 'LARGER' ? bytes > size : bytes < size);
    return {
      cost: 0,
      matches: ({ item, bytes }) =>
        item.sizeBytes === undefined
          ? bytes().then((message) => isWanted(message?.length ?? 0))
          : isWanted(item.sizeBytes),
    };
  }

  #dayTest(word: string): (atMs: number) => boolean {
    const day = readDay(this.#text());
    if (day === undefined) throw new SyntaxError('A date has the form 1-Feb-2026');
    if (word === 'BEFORE') return (atMs) => atMs < day;
    if (word === 'SINCE') return (atMs) => atMs >= day;
    return (atMs) => atMs >= day && atMs < day + dayMs;
  }

  #byField(name: string, text: string): Condition {
    const wanted = text.toLowerCase();
    return headerCondition((header) =>
      header.headers(name).some((value) => decodeWords(value).toLowerCase().includes(wanted)),
    );
  }

  #byContent(word: string, text: string): Condition {
    const wanted = text.toLowerCase();
    return {
      cost: 2,
      async matches({ bytes }) {
        const message = await bytes();
        if (message === undefined) return false;
        const entity = parseEntity(message);
        const searched = word === 'BODY' ? entity.bodyBytes : entity.bytes;
        return Buffer.from(searched).toString('utf8').toLowerCase().includes(wanted);
      },
    };
  }
}

const dayMs = 86_400_000;

const constant = (result: boolean): Condition => ({ cost: 0, matches: () => result });

function headerCondition(test: (header: MimeEntity) => boolean): Condition {
  return {
    cost: 1,
    async matches(candidate) {
      const header = await candidate.header();
      return header !== undefined && test(header);
    },
  };
}

/** Bits that are looked at, and how they must be. */
const flagConditions: Readonly<Record<string, readonly [mask: number, value: number]>> = Object.fromEntries(
  Object.entries(mailFlags).flatMap(([name, bit]) => [
    [name.toUpperCase(), [bit, bit]],
    [`UN${name.toUpperCase()}`, [bit, 0]],
  ]),
);
