/**
 * A column of encrypted values, or of references to contents in chunks (`ContentStore`), so that
 * `openhisp verify` can decrypt each of them.
 */
export interface EncryptedColumn {
  readonly table: string;
  /** The column that names the row. */
  readonly key: string;
  readonly column: string;
  /** The context in which the value of a row was encrypted. */
  context(key: string): string;
}
