import { openReader } from '../sqlite/files.ts';
import type { StoredValue } from '../storage.ts';

export interface TableShape {
  readonly name: string;
  readonly columns: readonly string[];
}

/** The state of a database file at one moment. */
export interface SqliteSnapshot {
  /** Every table, those that others refer to before them. */
  readonly tables: readonly TableShape[];
  /** Values in the order of the shape's columns. One table at a time. */
  rows(shape: TableShape): Iterable<readonly StoredValue[]>;
  close(): void;
}

/** Opens a file for reading. Later writes to it are not seen. */
export function openSnapshot(file: string): SqliteSnapshot {
  const { handle } = openReader(file);

  function texts(sql: string, ...parameters: readonly string[]): string[] {
    return handle
      .prepare<unknown[], string>(sql)
      .pluck()
      .all(...parameters);
  }

  // The first read in the transaction fixes the state that all later ones see.
  handle.exec('begin');
  const names =
    texts(`select name from sqlite_master where type = 'table' and name not like 'sqlite\\_%' escape '\\'
    order by name`);
  const references = new Map(
    names.map((name) => [name, texts('select distinct "table" from pragma_foreign_key_list(?)', name)]),
  );
  const ordered = new Set<string>();
  const visit = (name: string): void => {
    for (const other of references.get(name) ?? []) if (other !== name && !ordered.has(other)) visit(other);
    ordered.add(name);
  };
  names.forEach(visit);
  return {
    tables: [...ordered].map((name) => ({
      name,
      columns: texts('select name from pragma_table_info(?) order by name', name),
    })),
    rows: ({ name, columns }) =>
      handle
        .prepare<[], readonly StoredValue[]>(
          `select ${columns.map((column) => `"${column}"`).join(', ')} from "${name}"`,
        )
        .raw()
        .safeIntegers()
        .iterate(),
    close: () => handle.close(),
  };
}
