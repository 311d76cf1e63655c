import { forEachOtherName, type FilterMatch, type TextField } from '../provider-record/index.ts';
import { wordsOf } from '../search-words/index.ts';
import { allGroups, type FilterContext } from './filter-context.ts';
import { gatherRows, selectGroups, type Selector } from './selector.ts';
import { wantedSpellings, withoutMarks } from './spellings.ts';
import type { TextColumn } from './text-column.ts';
import type { WordColumn } from './words/word-column.ts';

/**
 * The rows where a first or last name is one of the person's other names; undefined for other fields, and if
 * there are none.
 */
export function findInOtherNames(
  field: TextField,
  match: FilterMatch,
  folded: string,
  { columns, words }: FilterContext,
): Selector | undefined {
  const column = columns.get('otherNames');
  if (column === undefined || column.groupCount === 1 || folded === '') return undefined;
  if (field !== 'lastName' && field !== 'firstName') return undefined;
  const spelled = match === 'name-prefix' ? wantedSpellings(folded, 'text').map(({ text }) => text) : [];
  const candidates =
    match === 'contains'
      ? allGroups(column)
      : groupsOfWords([folded, ...spelled], column, words.get('otherNames'));
  const groups = candidates.filter((group) =>
    namesIn(column, group, field).some((name) => fits(name, match, folded, spelled)),
  );
  if (groups.length === 0) return undefined;
  const found = selectGroups(column, groups);
  return { kind: 'rows', rows: gatherRows(found), count: found.count };
}

/** Groups with the first word of one of the texts, or its beginning: a name that begins so has it. */
function groupsOfWords(
  texts: readonly string[],
  column: TextColumn,
  words: WordColumn | undefined,
): Uint32Array {
  const found = new Set<number>();
  for (const text of new Set(texts)) {
    const [first] = wordsOf(text, 'query');
    // Signs alone.
    if (first === undefined || words === undefined) return allGroups(column);
    const [from, to] = words.find(Buffer.from(first.text), false);
    for (const group of words.groupsOf(from, to)) found.add(group);
  }
  return Uint32Array.from(found).sort();
}

function namesIn(column: TextColumn, group: number, field: 'lastName' | 'firstName'): string[] {
  const text = Buffer.from(column.scratch.buffer, column.scratch.byteOffset, column.loadFolded(group));
  const names: string[] = [];
  forEachOtherName(text, 0, text.length, (start, comma, end) => {
    if (field === 'lastName') names.push(text.toString('utf8', start, comma));
    else if (comma < end) names.push(text.toString('utf8', comma + 2, end));
  });
  return names;
}

function fits(name: string, match: FilterMatch, wanted: string, spelled: readonly string[]): boolean {
  if (match === 'exact') return name === wanted;
  if (match === 'contains') return name.includes(wanted);
  if (name.startsWith(wanted)) return true;
  if (spelled.length === 0) return false;
  const names = [name, withoutMarks(name, 'nothing'), withoutMarks(name, 'blank')];
  return spelled.some((other) => names.some((one) => one.startsWith(other)));
}
