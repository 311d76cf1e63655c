/**
 * Conditions of partial indexes. SQLite uses such an index only where its condition is written word for word,
 * so the index and the queries that use it make the text here. The values are words of the program, never
 * from outside.
 */
export function inWords(column: string, words: readonly string[]): string {
  return `${column} in (${words.map(quoted).join(', ')})`;
}

/** The same with `or`, for an index that rows enter and leave often (see `baseline/messaging.ts`). */
export function orWords(column: string, words: readonly string[]): string {
  return words.map((word) => `${column} = ${quoted(word)}`).join(' or ');
}

function quoted(word: string): string {
  if (!/^[\w-]+$/.test(word)) throw new TypeError(`not a word: ${word}`);
  return `'${word}'`;
}
