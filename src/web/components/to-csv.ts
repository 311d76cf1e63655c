export interface CsvColumn<Row> {
  readonly name: string;
  readonly value: (row: Row) => string | number | null;
}

/** A spreadsheet must not run text of others as a formula. `core` has this, too, and may not be imported. */
function cell(value: string | number | null): string {
  if (typeof value === 'number') return String(value);
  const text = (value ?? '').replace(/^[=+\-@\t\r]/, "'$&");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function toCsv<Row>(columns: readonly CsvColumn<Row>[], rows: readonly Row[]): string {
  const lines = [
    columns.map(({ name }) => cell(name)),
    ...rows.map((row) => columns.map((one) => cell(one.value(row)))),
  ];
  return lines.map((line) => `${line.join(',')}\r\n`).join('');
}
