/**
 * One line of CSV (RFC 4180), without its end. A text that a spreadsheet would run as a formula gets an
 * apostrophe in front: values come from outside.
 */
export function toCsvLine(values: readonly (string | number)[]): string {
  return values.map(toCell).join(',');
}

function toCell(value: string | number): string {
  const text = typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
