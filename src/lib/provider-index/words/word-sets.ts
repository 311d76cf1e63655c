import {
  matchLevels,
  minMisspelt,
  minNumberLength,
  type MatchLevel,
  type QueryWord,
  type WordField,
  type WordTerm,
} from '../../search-words/index.ts';
import { alternateKeys, type ColumnName } from '../columns.ts';
import { groupsWithAlternatePrefix, groupsWithPrefix } from '../find-groups.ts';
import type { WordClass, WordContext, WordSets } from './context.ts';
import type { TextColumn } from '../text-column.ts';
import { wordColumns, type WordColumnName } from '../word-columns.ts';
import { findNear } from './near-words.ts';
import { createRowCollector, type RowCollector } from './row-set.ts';
import type { WordColumn } from './word-column.ts';

/** In these columns words may be misspelt. */
const nearColumns: ReadonlySet<WordColumnName> = new Set([
  'firstName',
  'middleName',
  'lastName',
  'otherNames',
  'organization',
  'specialty',
  'street',
  'city',
  'state',
]);

/** The rows of a word; the sets must not be written to. */
export function findWordRows(word: QueryWord, context: WordContext): WordSets {
  const key = JSON.stringify([word.text, word.isNumber, word.terms]);
  const known = context.knownWords.get(key);
  if (known !== undefined) return known.result;
  const found = context.pool.keep(() => collectRows(word, context), bitsOf);
  context.knownWords.set(key, found);
  return found.result;
}

function bitsOf({ all, classes }: WordSets): Uint32Array[] {
  return [all, ...classes.map(({ rows }) => rows)].flatMap((set) => (set.kind === 'bits' ? set.bits : []));
}

function collectRows(word: QueryWord, context: WordContext): WordSets {
  const classes = createClasses(context);
  for (const [place, term] of word.terms.entries()) addTerm(term, place === 0, classes, context);
  if (word.isNumber && word.text.length >= minNumberLength) addNumbers(word.text, classes, context);
  return classes.finish();
}

/** The same and the rows where the word is misspelt. */
export function addNearRows(word: QueryWord, sets: WordSets, context: WordContext): WordSets {
  if (word.edits === 0 && word.nearTerms.length === 0) return sets;
  const classes = createClasses(context);
  for (const term of word.nearTerms) addTerm(term, false, classes, context);
  if (word.edits > 0) addNear(word, classes, context);
  const near = classes.finish();
  if (near.classes.length === 0) return sets;
  const all = createRowCollector(context.pool);
  for (const one of [sets, near]) all.addSet(one.all);
  return { all: all.finish(true), classes: [...sets.classes, ...near.classes] };
}

// What begins with the word itself has it as a whole word, too.
function addTerm(
  { text, isWhole, level, fields }: WordTerm,
  isOwn: boolean,
  classes: Classes,
  context: WordContext,
): void {
  const bytes = Buffer.from(text);
  for (const [name, words] of context.words) {
    const { field } = wordColumns[name];
    if (fields !== undefined && !fields.includes(field)) continue;
    const isExact = isWhole || level === matchLevels.exact;
    // Mostly nothing but the word itself begins with a whole word.
    const isBegun = !isWhole && !(isExact && words.isOnlyBegunBy(bytes));
    const begun = level === matchLevels.near ? level : matchLevels.prefix;
    if (isBegun) addWords(words, bytes, false, classes.at(begun, field));
    if (isExact) addWords(words, bytes, true, classes.at(level, field, isOwn && isBegun));
  }
}

interface Classes {
  /** `isCovered`: the rows are in another class, too. */
  at(level: MatchLevel, field: WordField, isCovered?: boolean): RowCollector;
  finish(): WordSets;
}

function createClasses({ pool }: WordContext): Classes {
  interface Collected {
    readonly level: MatchLevel;
    readonly field: WordField;
    readonly rows: RowCollector;
    isCovered: boolean;
  }
  const collectors = new Map<string, Collected>();
  return {
    at(level, field, isCovered = false) {
      const key = `${level} ${field}`;
      let known = collectors.get(key);
      if (known === undefined) {
        known = { level, field, rows: createRowCollector(pool), isCovered };
        collectors.set(key, known);
      }
      known.isCovered &&= isCovered;
      return known.rows;
    },
    finish() {
      const all = createRowCollector(pool);
      const classes: WordClass[] = [];
      for (const { level, field, rows: collector, isCovered } of collectors.values()) {
        const rows = collector.finish(false);
        if (rows.count === 0) continue;
        classes.push({ level, field, rows });
        if (!isCovered) all.addSet(rows);
      }
      return { all: all.finish(true), classes };
    },
  };
}

function addWords(words: WordColumn, text: Uint8Array, isWhole: boolean, into: RowCollector): void {
  const bits = words.frequentRows(text, isWhole);
  // Its number of rows is not needed.
  if (bits !== undefined) into.addSet({ kind: 'bits', bits, count: 0 });
  else addRange(words, words.find(text, isWhole), into);
}

function addRange(
  { column, groupsOf }: WordColumn,
  [first, end]: readonly [number, number],
  into: RowCollector,
): void {
  into.addGroups(column, groupsOf(first, end));
}

function addNumbers(digits: string, classes: Classes, { columns }: WordContext): void {
  const column = (name: ColumnName): TextColumn => columns.get(name) as TextColumn;
  const levelFor = (isWhole: boolean): MatchLevel => (isWhole ? matchLevels.exact : matchLevels.prefix);
  const npi = column('npi');
  classes
    .at(levelFor(digits.length === npiLength), 'name')
    .addRange(npi, ...groupsWithPrefix(npi, Buffer.from(digits)));
  const zip = column('zip');
  classes
    .at(levelFor(digits.length === zipLength || digits.length === longZipLength), 'place')
    .addRange(zip.alternate ?? zip, ...findAlternate(zip, digits, 'zip-prefix'));
  const phone = column('phone');
  const plain = withoutCountry(digits);
  const numbers = classes.at(levelFor(plain.length === phoneLength), 'place');
  numbers.addRange(phone.alternate ?? phone, ...findAlternate(phone, plain, 'phone-prefix'));
}

const npiLength = 10;
const zipLength = 5;
const longZipLength = 9;
const phoneLength = 10;

// No area code begins with 1 (NANP).
function withoutCountry(digits: string): string {
  return digits.startsWith('1') ? digits.slice(1) : digits;
}

function findAlternate(
  column: TextColumn,
  digits: string,
  match: keyof typeof alternateKeys,
): readonly [number, number] {
  return groupsWithAlternatePrefix(column, Buffer.from(digits), alternateKeys[match]);
}

function addNear({ text, isLast, edits }: QueryWord, classes: Classes, context: WordContext): void {
  const wanted = Buffer.from(text);
  const isShort = text.length < minMisspelt;
  for (const [name, words] of context.words) {
    if (!nearColumns.has(name)) continue;
    const into = classes.at(matchLevels.near, wordColumns[name].field);
    for (const range of findNear(words, wanted, edits, isLast && !isShort, isShort ? minMisspelt : 0))
      addRange(words, range, into);
  }
}
