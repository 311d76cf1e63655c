import { oneLine } from './shown-text.ts';

/**
 * One line of CSV (RFC 4180), without its end. Values come from outside: a text that a spreadsheet would run
 * as a formula gets an apostrophe in front, and characters that a terminal obeys, that end the line, or that
 * hide or reorder text are escaped.
 */
export function toCsvLine(values: readonly (string | number)[]): string {
  return values.map(toCell).join(',');
}

function toCell(value: string | number): string {
  const isFormula = typeof value === 'string' && /^[=+\-@\t\r]/.test(value);
  const text = oneLine(isFormula ? `'${value}` : String(value));
  return /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
