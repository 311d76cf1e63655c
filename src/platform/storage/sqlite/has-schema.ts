import SqliteDatabase from 'better-sqlite3';

/**
 * False for a file that this program never wrote to: an empty one, or another program's. True also if the
 * file cannot be read or is no database; opening it then says why.
 */
export function hasSchema(file: string): boolean {
  try {
    const database = new SqliteDatabase(file, { readonly: true, timeout: 5000 });
    try {
      return (
        database.prepare("select 1 from sqlite_master where name = 'schema_migration'").get() !== undefined
      );
    } finally {
      database.close();
    }
  } catch {
    return true;
  }
}
