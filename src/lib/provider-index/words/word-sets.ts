import {
  matchLevels,
  minNumberLength,
  type MatchLevel,
  type QueryWord,
  type WordField,
} from '../../search-words/index.ts';
import { alternateKeys, type ColumnName } from '../columns.ts';
import { groupsWithAlternatePrefix, groupsWithPrefix } from '../find-groups.ts';
import type { WordContext } from './context.ts';
import type { TextColumn } from '../text-column.ts';
import { wordColumns, type WordColumnName } from '../word-columns.ts';
import { findNear } from './near-words.ts';
import { createRowCollector, type RowCollector, type RowSet } from './row-set.ts';
import type { WordColumn } from './word-column.ts';

/** Rows that a word of the query fits in the same way. */
export interface WordClass {
  readonly level: MatchLevel;
  readonly field: WordField;
  readonly rows: RowSet;
}

/** The rows of one word of the query. */
export interface WordSets {
  readonly all: RowSet;
  /** Those in the classes may be in several; empty classes are left out. */
  readonly classes: readonly WordClass[];
}

/** In these columns words may be misspelt. */
const nearColumns: ReadonlySet<WordColumnName> = new Set([
  'firstName',
  'middleName',
  'lastName',
  'organization',
  'specialty',
  'street',
  'city',
  'state',
]);

/** The rows of a word, with `isNear` also those where it is misspelt. */
export function findWordRows(word: QueryWord, isNear: boolean, context: WordContext): WordSets {
  const classes = createClasses(context);
  for (const term of word.terms) {
    const text = Buffer.from(term.text);
    for (const [name, words] of context.words) {
      const { field } = wordColumns[name];
      if (term.fields !== undefined && !term.fields.includes(field)) continue;
      if (!term.isWhole) addWords(words, text, false, classes.at(matchLevels.prefix, field));
      if (term.isWhole || term.level === matchLevels.exact)
        addWords(words, text, true, classes.at(term.level, field));
    }
  }
  if (word.isNumber && word.text.length >= minNumberLength) addNumbers(word.text, classes, context);
  if (isNear && word.edits > 0) addNear(word, classes, context);
  return classes.finish();
}

interface Classes {
  at(level: MatchLevel, field: WordField): RowCollector;
  finish(): WordSets;
}

function createClasses({ pool }: WordContext): Classes {
  const collectors = new Map<string, Omit<WordClass, 'rows'> & { readonly rows: RowCollector }>();
  return {
    at(level, field) {
      const key = `${level} ${field}`;
      const known = collectors.get(key);
      if (known !== undefined) return known.rows;
      const rows = createRowCollector(pool);
      collectors.set(key, { level, field, rows });
      return rows;
    },
    finish() {
      const classes = [...collectors.values()]
        .map(({ rows, ...rest }) => ({ ...rest, rows: rows.finish() }))
        .filter(({ rows }) => rows.count > 0);
      const [only, ...others] = classes;
      if (only !== undefined && others.length === 0) return { all: only.rows, classes };
      const all = createRowCollector(pool);
      for (const { rows } of classes) all.addSet(rows);
      return { all: all.finish(), classes };
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
  { column, starts, groups }: WordColumn,
  [first, end]: readonly [number, number],
  into: RowCollector,
): void {
  into.addGroups(column, groups.subarray(starts[first], starts[end]));
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
  for (const text of [plain, `1${plain}`])
    numbers.addRange(phone.alternate ?? phone, ...findAlternate(phone, text, 'phone-prefix'));
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
  for (const [name, words] of context.words) {
    if (!nearColumns.has(name)) continue;
    const into = classes.at(matchLevels.near, wordColumns[name].field);
    for (const range of findNear(words, wanted, edits, isLast)) addRange(words, range, into);
  }
}
