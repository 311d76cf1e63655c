import { isWithin } from './edit-distance.ts';
import { wordsOf, type TextWord } from './split-words.ts';
import {
  abbreviations,
  fillers,
  initialisms,
  nicknames,
  phrases,
  specialtyNames,
  titles,
} from './word-tables.ts';

/** Where a word of a record is, in the order in which matches count. */
export type WordField = 'name' | 'specialty' | 'organization' | 'place' | 'address';

/** How well a word of a record fits one of the query; larger is better. */
export const matchLevels = { none: 0, near: 1, prefix: 2, exact: 3 } as const;
export type MatchLevel = (typeof matchLevels)[keyof typeof matchLevels];

/** One way in which a word of the query can be in a record. */
export interface WordTerm {
  /** Folded. */
  readonly text: string;
  /** Only the very word, not those that begin with it. */
  readonly isWhole: boolean;
  /** The level of the word itself; what only begins with it is a prefix. */
  readonly level: MatchLevel;
  /** Everywhere if absent. */
  readonly fields?: readonly WordField[];
}

export interface QueryWord {
  /** Folded; for a number its digits. */
  readonly text: string;
  readonly isNumber: boolean;
  readonly isLast: boolean;
  /** The word itself first. */
  readonly terms: readonly WordTerm[];
  /**
   * Edits by which a word may differ if too little is found otherwise; a word of fewer than
   * {@link minMisspelt} letters only from longer ones.
   */
  readonly edits: 0 | 1 | 2;
  /** What the word is called otherwise if it is misspelt. */
  readonly nearTerms: readonly WordTerm[];
}

/** Of two words that differ by an edit the longer one has at least so many letters. */
export const minMisspelt = 5;
/** From so many letters on two edits are allowed. */
const minMisspeltTwice = 9;

/** Further words are ignored. */
const maxWords = 16;
/** From this length on the beginning of a word stands for what it is called otherwise. */
const minAliasLength = 4;

// A whole telephone number, or one that is being typed with the punctuation of one; a ZIP+4. First what is
// left as it is: addresses and hosts.
const numberForms =
  /\S*(?:@|\.[a-z])\S*|(?:(?<!\w)|(?=\())(?:\+?1[-.\s]*)?\(?[0-9]{3}\)?[-.\s]*[0-9]{3}[-.\s]*[0-9]{4}\b|\([0-9]{3}\)\s*[0-9]{1,3}(?:[-.\s][0-9]{0,3})?(?!\w)|(?<!\w|\w[-_/]|[0-9]\.)(?:[0-9]{3}[-.][0-9]{3}(?:[-.][0-9]{0,3})?|[0-9]{5}-[0-9]{1,4})(?!\w|[-.]\w)/gi;
const dashes = /[‐-―−﹘﹣－]/g;

// Letters with dots between them (`N.Y.`, `Ph.D.`), not in an address or a host.
const initials = /(?<![\p{L}\p{N}@._-])(?:\p{L}{1,2}\.){1,5}\p{L}{0,2}(?![\p{L}\p{N}@._-])/gu;
const possessive = /\p{L}['’‘`´ʼ′]s$/iu;

/** The words of what somebody types into one box. Empty if there is no letter and no digit. */
export function parseWords(text: string): QueryWord[] {
  const joined = text
    .replace(dashes, '-')
    .replace(numberForms, (part) => (/[a-z]|@/i.test(part) ? part : ` ${part.replace(/[^0-9]/g, '')} `))
    .trimStart();
  const isOpen = /[\p{L}\p{N}]$/u.test(text);
  const spans = wordsOf(joined, 'query');
  const found = spans.map(({ text: word }) => word);
  const owners = new Set(
    spans.filter(({ start, end }) => possessive.test(joined.slice(start, end))).map(({ text: word }) => word),
  );
  const joint = findJoint(joined, spans);
  const isTitle = (at: number): boolean =>
    titles.has(found[at] as string) ||
    joint.some(({ meant, places }) => titles.has(meant) && places.includes(at));
  const last = found.length - 1;
  const kept = found.filter((word, at) => !isTitle(at) && !(fillers.has(word) && (at < last || !isOpen)));
  const words = [...new Set(kept.length > 0 ? kept : found)].slice(0, maxWords);
  return words.map((word) => {
    const others = joint.filter(({ places }) => places.some((at) => found[at] === word));
    return toQueryWord(word, isOpen && word === found[last], owners.has(word), others);
  });
}

/** Words of the query that together mean one word. */
interface Joint {
  readonly meant: string;
  /** Of the words. */
  readonly places: readonly number[];
}

// A record may be written either way, so the words stay, and each of them is also found by the one word.
function findJoint(joined: string, spans: readonly TextWord[]): Joint[] {
  const lettered = [...joined.matchAll(initials)].map(({ 0: letters, index }) => ({
    meant: letters.replaceAll('.', '').toLowerCase(),
    places: [...spans.keys()].filter((at) => {
      const { start, end } = spans[at] as TextWord;
      return start >= index && end <= index + letters.length;
    }),
  }));
  const phrased = phrases.flatMap(([typed, meant]) =>
    [...spans.keys()]
      .filter((from) => typed.every((word, at) => spans[from + at]?.text === word))
      .map((from) => ({ meant, places: typed.map((_, at) => from + at) })),
  );
  return [...lettered.filter(({ meant }) => initialisms.has(meant)), ...phrased];
}

function toQueryWord(
  text: string,
  isLast: boolean,
  isPossessive: boolean,
  joint: readonly Joint[],
): QueryWord {
  const isNumber = /^[0-9]+$/.test(text);
  const hasDigit = /[0-9]/.test(text);
  const edits = hasDigit || text.length < minMisspelt - 1 ? 0 : text.length < minMisspeltTwice ? 1 : 2;
  return {
    text,
    isNumber,
    isLast,
    terms: [
      { text, isWhole: false, level: matchLevels.exact },
      // A telephone number with the country's 1, in a text that has it without.
      ...(isNumber && text.length === 11 && text.startsWith('1')
        ? [{ text: text.slice(1), isWhole: true, level: matchLevels.exact }]
        : []),
      ...(isPossessive ? [{ text: text.slice(0, -1), isWhole: true, level: matchLevels.prefix }] : []),
      ...aliasesOf(text, isLast && !hasDigit),
      ...joint.flatMap(({ meant }) => [
        { text: meant, isWhole: true, level: matchLevels.exact },
        ...aliasesOf(meant, false),
      ]),
    ],
    edits,
    nearTerms: edits === 0 || text.length < minMisspelt ? [] : nearAliases(text, edits),
  };
}

/** True for two short forms of a given name, or for one and the name; folded words. */
export function areShortForms(one: string, other: string): boolean {
  return nicknamed.get(one)?.some(({ text }) => text === other) ?? false;
}

type Aliases = ReadonlyMap<string, readonly WordTerm[]>;

const places: readonly WordField[] = ['name', 'organization', 'specialty', 'place'];

const abbreviated = readGroups(abbreviations, (word) => ({
  text: word,
  isWhole: true,
  level: matchLevels.exact,
  fields: places,
}));
const nicknamed = readNicknames();
const specialties = readSpecialties();
// For words that are being typed.
const sortedKeys = [abbreviated, nicknamed, specialties].map((aliases) => ({
  aliases,
  keys: [...aliases.keys()].filter((key) => key.length > minAliasLength).toSorted(),
}));

function aliasesOf(text: string, isLast: boolean): WordTerm[] {
  const own = [abbreviated, nicknamed, specialties].flatMap((aliases) => aliases.get(text) ?? []);
  if (text.endsWith('s') && !specialties.has(text)) own.push(...oneOf(text.slice(0, -1)));
  const begun = isLast && text.length >= minAliasLength ? aliasesOfBegun(text) : [];
  const terms = new Map<string, WordTerm>();
  for (const term of [...own, ...begun]) {
    // Words that begin with the query's word are found anyway.
    if (term.text.startsWith(text) && term.level < matchLevels.exact) continue;
    const key = `${term.text} ${term.isWhole} ${term.fields?.join() ?? ''}`;
    if (!terms.has(key)) terms.set(key, term);
  }
  return [...terms.values()];
}

// Of several cardiologists one is looked for.
function oneOf(text: string): readonly WordTerm[] {
  const terms = specialties.get(text);
  if (terms === undefined) return [];
  return [
    { text, isWhole: true, level: matchLevels.prefix, fields: ['specialty', 'organization'] },
    ...terms,
  ];
}

function aliasesOfBegun(text: string): WordTerm[] {
  return sortedKeys.flatMap(({ aliases, keys }) =>
    keys
      .filter((key) => key.length > text.length && key.startsWith(text))
      .flatMap((key) => aliases.get(key) ?? [])
      .map((term) => ({ ...term, level: matchLevels.prefix })),
  );
}

function nearAliases(text: string, edits: number): WordTerm[] {
  const wanted = Buffer.from(text);
  return [...specialties]
    .filter(
      ([key]) =>
        key.length >= minMisspelt &&
        key !== text &&
        key[0] === text[0] &&
        isWithin(wanted, Buffer.from(key), edits, false),
    )
    .flatMap(([, terms]) => terms.map((term) => ({ ...term, level: matchLevels.near })));
}

function linesOf(table: string): string[][] {
  return table
    .trim()
    .split('\n')
    .map((line) => line.split(' '));
}

function addTo(aliases: Map<string, WordTerm[]>, key: string, terms: readonly WordTerm[]): void {
  aliases.set(key, [...(aliases.get(key) ?? []), ...terms]);
}

function readGroups(table: string, toTerm: (word: string) => WordTerm): Aliases {
  const aliases = new Map<string, WordTerm[]>();
  for (const group of linesOf(table))
    for (const word of group)
      addTo(
        aliases,
        word,
        group.filter((other) => other !== word).map((other) => toTerm(other)),
      );
  return aliases;
}

// A short form stands for the formal name and the other way round, and for the other short forms.
function readNicknames(): Aliases {
  return readGroups(nicknames, (word) => ({
    text: word,
    isWhole: true,
    level: matchLevels.prefix,
    fields: ['name'],
  }));
}

function readSpecialties(): Aliases {
  const aliases = new Map<string, WordTerm[]>();
  for (const [word = '', , ...names] of linesOf(specialtyNames))
    addTo(
      aliases,
      word,
      names.map((text) => ({
        text,
        isWhole: false,
        level: matchLevels.prefix,
        fields: /[0-9]/.test(text) ? ['specialty'] : ['specialty', 'organization'],
      })),
    );
  return aliases;
}

/** How a word of a record in a field fits a word of the query. */
export function levelOf({ terms }: Pick<QueryWord, 'terms'>, word: string, field: WordField): MatchLevel {
  let best: MatchLevel = matchLevels.none;
  for (const { text, isWhole, level, fields } of terms) {
    if (fields !== undefined && !fields.includes(field)) continue;
    const found = word === text ? level : !isWhole && word.startsWith(text) ? matchLevels.prefix : 0;
    if (found > best) best = found;
  }
  return best;
}
