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
  else entries.forEach((entry) => context.print(format(entry)));
}
