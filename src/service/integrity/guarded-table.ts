/** A table whose rows carry a MAC in the column `mac`. */
export interface GuardedTable {
  readonly table: string;
  /** The column that names a row. */
  readonly key: string;
  /** The columns that the MAC covers, the key among them. Another order or choice is another MAC. */
  readonly columns: readonly string[];
}
