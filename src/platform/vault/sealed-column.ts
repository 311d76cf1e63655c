/** A column of sealed values, or of references to contents in parts (`ContentStore`), so that `openhisp verify` can open each of them. */
export interface SealedColumn {
  readonly table: string;
  /** The column that names the row. */
  readonly key: string;
  readonly column: string;
  /** The context in which the value of a row was sealed. */
  context(key: string): string;
}
