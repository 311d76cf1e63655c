import { oneLine } from '../../core/index.ts';
import type { CliContext } from './context.ts';

export interface JsonOption {
  readonly json?: true;
}

/** Prints a list: one line for each entry, or all of them as one JSON array. */
export function printList<Entry>(
  context: CliContext,
  { json }: JsonOption,
  entries: readonly Entry[],
  format: (entry: Entry) => string,
): void {
  if (json === true) context.print(JSON.stringify(entries, undefined, 2));
  else printLines(context, entries.map(format));
}

/** One line with a tab between its fields, which may be text of others. */
export function toRow(fields: readonly (string | number)[]): string {
  return fields.map((field) => oneLine(String(field))).join('\t');
}

/** Lines with text of others, each of which stays one line. */
export function printLines(context: Pick<CliContext, 'print'>, lines: readonly string[]): void {
  for (const line of lines) context.print(line.split('\t').map(oneLine).join('\t'));
}
