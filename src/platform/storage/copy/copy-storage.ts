import { sql } from 'kysely';
import { PlatformError } from '../../errors.ts';
import { tablesOf, type AnyTransaction, type Storage, type StoredValue } from '../storage.ts';
import { createHash } from 'node:crypto';
import { openReader } from '../sqlite/files.ts';

export interface StorageCopyOptions {
  /**
   * The SQLite file, brought up to date by this program (`Storage.migrate`). Nothing should write to it
   * meanwhile.
   */
  readonly file: string;
  /** PostgreSQL, brought up to date by this program. */
  readonly to: Storage;
  /** Called for each table that was copied or compared. */
  readonly onTable?: (table: CopiedTable) => void;
}

export interface CopiedTable {
  readonly name: string;
  readonly rowCount: number;
  /** Of all rows, in 64 hexadecimal digits; the same for the same rows in any order. */
  readonly hash: string;
}

/** The schema version of each database: its rows record when, so they stay. */
const migrationTable = 'schema_migration';
/** Tables in which a migration puts rows into a new database; the file's rows replace those. */
const seededTables: ReadonlySet<string> = new Set([
  'legal_hold_state',
  'organization_state',
  'trust_state',
  'verification_state',
]);
/** Rows read back at once. */
const fetchCount = 50;

/**
 * Copies everything of a SQLite file into PostgreSQL, in one transaction: each table is read back and
 * compared before the commit. Throws PLATFORM_STORAGE_COPY_REFUSED for a target that is not empty or whose
 * tables are different ones, and PLATFORM_STORAGE_COPY_DIFFERS if a table was not read back as it was
 * written; the target is unchanged then.
 */
export async function copyStorage(options: StorageCopyOptions): Promise<readonly CopiedTable[]> {
  return withSnapshot(options, async (snapshot, tx) => {
    await requireEmpty(tx, snapshot.tables);
    const copied: CopiedTable[] = [];
    for (const shape of snapshot.tables.filter(isCopied)) {
      const source = new TableDigest();
      if (seededTables.has(shape.name)) await sql`delete from ${sql.table(shape.name)}`.execute(tablesOf(tx));
      await copyTable(options.to, tx, shape, digested(snapshot.rows(shape), source));
      const target = await digestTarget(tx, shape);
      requireSame(shape, source, target);
      const table = { name: shape.name, rowCount: source.rowCount, hash: source.hash };
      copied.push(table);
      options.onTable?.(table);
    }
    return copied;
  });
}

/** Throws PLATFORM_STORAGE_COPY_REFUSED if `copyStorage` would, without copying anything. */
export async function requireCopyable(options: Pick<StorageCopyOptions, 'file' | 'to'>): Promise<void> {
  await withSnapshot(options, (snapshot, tx) => requireEmpty(tx, snapshot.tables));
}

/**
 * Reads both databases and compares them table by table. Throws PLATFORM_STORAGE_COPY_DIFFERS for the first
 * table whose rows differ.
 */
export async function compareStorage(options: StorageCopyOptions): Promise<readonly CopiedTable[]> {
  return withSnapshot(options, async (snapshot, tx) => {
    const compared: CopiedTable[] = [];
    for (const shape of snapshot.tables.filter(isCopied)) {
      const source = new TableDigest();
      for (const row of snapshot.rows(shape)) source.add(row);
      requireSame(shape, source, await digestTarget(tx, shape));
      const table = { name: shape.name, rowCount: source.rowCount, hash: source.hash };
      compared.push(table);
      options.onTable?.(table);
    }
    return compared;
  });
}

const isCopied = ({ name }: TableShape): boolean => name !== migrationTable;

async function withSnapshot<R>(
  { file, to }: StorageCopyOptions,
  work: (snapshot: SqliteSnapshot, tx: AnyTransaction) => Promise<R>,
): Promise<R> {
  const snapshot = openSnapshot(file);
  try {
    return await to.transaction(async (tx) => {
      await requireSameTables(tx, snapshot);
      return work(snapshot, tx);
    });
  } finally {
    snapshot.close();
  }
}

async function requireSameTables(tx: AnyTransaction, snapshot: SqliteSnapshot): Promise<void> {
  const { rows } = await sql<{ table_name: string; column_name: string }>`
    select c.table_name::text as table_name, c.column_name::text as column_name
    from information_schema.columns c
    join information_schema.tables t on t.table_schema = c.table_schema and t.table_name = c.table_name
    where c.table_schema = current_schema() and t.table_type = 'BASE TABLE'`.execute(tablesOf(tx));
  const target = new Set(rows.map((row) => `${row.table_name}.${row.column_name}`));
  const source = new Set(
    snapshot.tables.flatMap(({ name, columns }) => columns.map((column) => `${name}.${column}`)),
  );
  const different = differenceOf(source, target);
  if (different.length > 0)
    throw new PlatformError(
      'PLATFORM_STORAGE_COPY_REFUSED',
      `the databases have different columns; both must be brought up to date by this program, and the target must be this service's alone: ${different.slice(0, 10).join(', ')}`,
    );
  const [shape] = snapshot.tables.filter(({ name }) => name === migrationTable);
  const applied = shape === undefined ? [] : [...snapshot.rows({ ...shape, columns: ['name'] })];
  const { rows: targetApplied } = await sql<{
    name: string;
  }>`select name from ${sql.table(migrationTable)}`.execute(tablesOf(tx));
  const missing = differenceOf(
    new Set(applied.map(([name]) => String(name))),
    new Set(targetApplied.map(({ name }) => name)),
  );
  if (missing.length > 0)
    throw new PlatformError(
      'PLATFORM_STORAGE_COPY_REFUSED',
      `the databases are of different versions: ${missing.join(', ')}`,
    );
}

function differenceOf(a: ReadonlySet<string>, b: ReadonlySet<string>): readonly string[] {
  return [...a, ...b].filter((entry) => !a.has(entry) || !b.has(entry));
}

// A node that starts on the target meanwhile waits, and then finds the copied rows.
async function requireEmpty(tx: AnyTransaction, shapes: readonly TableShape[]): Promise<void> {
  const db = tablesOf<unknown>(tx);
  const names = shapes.filter(isCopied).map(({ name }) => name);
  await sql`lock table ${sql.join(names.map((name) => sql.table(name)))} in share row exclusive mode`.execute(
    db,
  );
  const full: string[] = [];
  for (const name of names.filter((one) => !seededTables.has(one))) {
    const { rows } = await sql`select 1 as found from ${sql.table(name)} limit 1`.execute(db);
    if (rows.length > 0) full.push(name);
  }
  if (full.length > 0)
    throw new PlatformError(
      'PLATFORM_STORAGE_COPY_REFUSED',
      `the target is not empty: ${full.slice(0, 10).join(', ')} ${full.length === 1 ? 'has' : 'have'} rows. Name an empty database, or create this one anew if nothing in it is needed`,
    );
}

async function copyTable(
  to: Storage,
  tx: AnyTransaction,
  { name, columns }: TableShape,
  rows: Iterable<readonly StoredValue[]>,
): Promise<void> {
  try {
    await to.bulkInsert(tx, { table: name, columns, rows });
  } catch (error) {
    if (!(error instanceof PlatformError) || error.code !== 'PLATFORM_STORAGE_TEXT_INVALID') throw error;
    throw new PlatformError('PLATFORM_STORAGE_COPY_REFUSED', `table ${name}: ${error.message}`);
  }
}

function* digested(
  rows: Iterable<readonly StoredValue[]>,
  digest: TableDigest,
): Iterable<readonly StoredValue[]> {
  for (const row of rows) {
    digest.add(row);
    yield row;
  }
}

async function digestTarget(tx: AnyTransaction, { name, columns }: TableShape): Promise<TableDigest> {
  const db = tablesOf<unknown>(tx);
  const digest = new TableDigest();
  const list = sql.join(columns.map((column) => sql.ref(column)));
  await sql`declare copied no scroll cursor for select ${list} from ${sql.table(name)}`.execute(db);
  for (;;) {
    const { rows } = await sql<Record<string, StoredValue>>`fetch ${sql.lit(fetchCount)} from copied`.execute(
      db,
    );
    for (const row of rows) digest.add(columns.map((column) => row[column] ?? null));
    if (rows.length < fetchCount) break;
  }
  await sql`close copied`.execute(db);
  return digest;
}

function requireSame(shape: TableShape, source: TableDigest, target: TableDigest): void {
  if (source.rowCount === target.rowCount && source.hash === target.hash) return;
  throw new PlatformError(
    'PLATFORM_STORAGE_COPY_DIFFERS',
    `table ${shape.name} differs: ${source.rowCount} rows with hash ${source.hash} in the file, ${target.rowCount} with ${target.hash} in PostgreSQL`,
  );
}

const modulus = 1n << 256n;

/**
 * Counts and hashes the rows of a table independently of their order: the sum of the rows' SHA-256 modulo
 * 2^256. A row that is there twice counts twice.
 */
class TableDigest {
  rowCount = 0;
  #sum = 0n;

  /** Takes a row's values in the order that all rows have. */
  add(values: readonly StoredValue[]): void {
    const hash = createHash('sha256');
    for (const value of values) {
      // Kind and length make different rows different texts.
      if (value === null) hash.update('-');
      else if (value instanceof Uint8Array) hash.update(`b${value.byteLength}:`).update(value);
      else {
        const text = String(value);
        hash.update(`${typeof value === 'string' ? 't' : 'n'}${text.length}:${text}`);
      }
    }
    this.rowCount++;
    this.#sum = (this.#sum + BigInt(`0x${hash.digest('hex')}`)) % modulus;
  }

  /** 64 hexadecimal digits. */
  get hash(): string {
    return this.#sum.toString(16).padStart(64, '0');
  }
}

interface TableShape {
  readonly name: string;
  readonly columns: readonly string[];
}

/** The state of a database file at one moment. */
interface SqliteSnapshot {
  /** Every table, those that others refer to before them. */
  readonly tables: readonly TableShape[];
  /** Values in the order of the shape's columns. One table at a time. */
  rows(shape: TableShape): Iterable<readonly StoredValue[]>;
  close(): void;
}

/** Opens a file for reading. Later writes to it are not seen. */
function openSnapshot(file: string): SqliteSnapshot {
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
