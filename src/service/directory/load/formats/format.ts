/**
 * The kinds of directory files: how a row of each becomes a record.
 * Used by `service/directory/load`.
 * Begin with this interface, then `own.ts`, the smallest one.
 */
import { DirectoryError } from '../../errors.ts';
import { partText } from '../blank-values.ts';
import type { RowDraft } from '../row.ts';

/** A way to read rows of one kind of file. */
export interface RowFormat {
  readonly name: 'own' | 'directtrust' | 'nppes' | 'npd';
  /** Columns that are read, by position; the others need not be cut out. */
  readonly wanted: readonly boolean[];
  /** None for a row that is skipped, several where one row stands for several records. */
  read(fields: readonly string[], line: number): readonly RowDraft[];
  /**
   * NPIs, as numbers, for which the file has every record: an increment removes their records that it does
   * not contain. Complete when all rows are read.
   */
  readonly coveredNpis?: ReadonlySet<number>;
}

/** Column names as they are compared: lower case, everything but letters and digits as one underscore. */
export function normalizeColumn(name: string): string {
  return name
    .replace(/^\ufeff/, '')
    .trim()
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_|_$/g, '');
}

/** The place of the first of the given names in the header, or -1. */
export function findColumn(header: readonly string[], ...names: readonly string[]): number {
  for (const name of names) {
    const at = header.indexOf(name);
    if (at >= 0) return at;
  }
  return -1;
}

/** The lines of a street address, with the suite behind the street. */
export function joinLines(street: string, suite: string): string {
  return [partText(street), partText(suite)].filter((line) => line !== '').join(', ');
}

/** As programs name columns that have no name. */
const unnamed = /^(?:|unnamed_[0-9]+|column_?[0-9]+)$/;

/** True for the columns without a name that a spreadsheet leaves behind the last one. */
export function isUnnamedEnd(header: readonly string[], column: number): boolean {
  return header.every((name, at) => at < column || unnamed.test(name));
}

export function wantedColumns(count: number, columns: readonly number[]): boolean[] {
  const wanted = new Set(columns);
  return Array.from({ length: count }, (_, column) => wanted.has(column));
}

/** Of a column that is read, two may have different values. Throws DIRECTORY_FORMAT_UNKNOWN. */
export function refuseRepeated(header: readonly string[], wanted: readonly boolean[]): void {
  const repeated = header.find(
    (name, column) => wanted[column] === true && header.lastIndexOf(name) > column,
  );
  if (repeated === undefined) return;
  throw new DirectoryError(
    'DIRECTORY_FORMAT_UNKNOWN',
    `The header has a repeated column: ${shownName(repeated)}`,
  );
}

/** A column's name in an error. */
export function shownName(column: string): string {
  if (column === '') return '(without a name)';
  return column.length <= maxShownName ? column : `${column.slice(0, maxShownName)}…`;
}

const maxShownName = 64;
