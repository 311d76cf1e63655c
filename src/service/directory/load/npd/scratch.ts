import { rmSync } from 'node:fs';
import path from 'node:path';
import SqliteDatabase, { type Database, type Statement } from 'better-sqlite3';
import { DirectoryError } from '../../errors.ts';
import { maxStagedItems } from '../../limits.ts';

const cacheKibibytes = 128 * 1024;

/**
 * A SQLite database for data that is needed until its process ends: in one transaction that is never
 * committed, in a file that has no name once it is open, so that it is gone with the process, however that
 * ends.
 */
export function openScratch(folder: string): Database {
  const name = path.join(folder, `npd-${process.pid}-${Math.random().toString(36).slice(2)}`);
  const db = new SqliteDatabase(name);
  db.exec(`pragma journal_mode = memory; pragma synchronous = off; pragma locking_mode = exclusive;
    pragma cache_size = -${cacheKibibytes}; begin exclusive`);
  rmSync(name);
  return db;
}

/** Numbers keys from 0 in the order in which they come. */
class NumberTable<Key extends readonly unknown[]> {
  readonly #find: Statement<unknown[], number>;
  readonly #add: Statement<unknown[]>;
  #size = 0;

  constructor(db: Database, table: string, columns: readonly string[]) {
    db.exec(`create table ${table} (${columns.join(', ')}, number integer not null,
      primary key (${columns.join(', ')})) without rowid`);
    const isKey = columns.map((column) => `${column} = ?`).join(' and ');
    this.#find = db.prepare<unknown[], number>(`select number from ${table} where ${isKey}`).pluck();
    this.#add = db.prepare(`insert into ${table} values (${columns.map(() => '?').join(', ')}, ?)`);
  }

  get size(): number {
    return this.#size;
  }

  /** The number of a key, or -1. */
  find(...key: Key): number {
    return onDisk(() => this.#find.get(...key)) ?? -1;
  }

  /**
   * The number of a key, a new one if it has none. Throws DIRECTORY_RELEASE_INVALID when there are too many,
   * DIRECTORY_DISK_LOW.
   */
  add(...key: Key): number {
    const found = this.find(...key);
    if (found >= 0) return found;
    if (this.#size >= maxStagedItems)
      throw new DirectoryError(
        'DIRECTORY_RELEASE_INVALID',
        `The release has more than ${maxStagedItems} Direct addresses, roles or organizations to be linked`,
      );
    onDisk(() => this.#add.run(...key, this.#size));
    return this.#size++;
  }
}

export class IdTable extends NumberTable<readonly [id: string]> {
  constructor(db: Database, table: string) {
    super(db, table, ['id']);
  }
}

export class PairTable extends NumberTable<readonly [first: number, second: number]> {
  constructor(db: Database, table: string) {
    super(db, table, ['first', 'second']);
  }
}

/** Texts that are needed later. */
export class TextStore {
  readonly #add: Statement<[string]>;
  readonly #read: Statement<[number], string>;

  constructor(db: Database) {
    db.exec('create table texts (place integer primary key, text text not null)');
    this.#add = db.prepare('insert into texts (text) values (?)');
    this.#read = db.prepare<[number], string>('select text from texts where place = ?').pluck();
  }

  /** The place of the text, which is never 0. Throws DIRECTORY_DISK_LOW. */
  add(text: string): number {
    return Number(onDisk(() => this.#add.run(text)).lastInsertRowid);
  }

  /** The text at a place that `add` gave; '' for place 0. */
  read(place: number): string {
    return onDisk(() => this.#read.get(place)) ?? '';
  }
}

// Reading, too, may write what has no room in the cache.
function onDisk<Result>(run: () => Result): Result {
  try {
    return run();
  } catch (cause) {
    if (!(cause instanceof SqliteDatabase.SqliteError) || !/^SQLITE_(FULL|IOERR)/.test(cause.code))
      throw cause;
    const text = `The scratch file cannot be written: ${cause.message}`;
    throw new DirectoryError('DIRECTORY_DISK_LOW', text, { cause });
  }
}
