import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import { errorCode } from '../../core/index.ts';
import type { Storage } from '../storage/storage.ts';
import type { EncryptedColumn } from '../vault/encrypted-column.ts';
import type { ContentStore } from './content-store.ts';

export interface BrokenValue {
  readonly table: string;
  readonly row: string;
  readonly column: string;
  /** The error code of the failed decryption. */
  readonly code: string;
}

/** Rows per read of names. */
const pageRows = 1000;

/**
 * Decrypts every stored value and every content in chunks, which verifies that each is unchanged; one is in
 * memory at a time.
 */
export async function decryptStoredValues(options: {
  readonly storage: Storage;
  readonly contents: ContentStore;
  readonly columns: readonly EncryptedColumn[];
}): Promise<{ readonly openedCount: number; readonly broken: readonly BrokenValue[] }> {
  const broken: BrokenValue[] = [];
  let openedCount = 0;
  for (const place of options.columns) {
    for await (const row of listRows(options.storage, place)) {
      const code = await findFault(options, place, row);
      if (code === undefined) openedCount++;
      else if (code !== gone) broken.push({ table: place.table, row, column: place.column, code });
      await nextTurn();
    }
  }
  return { openedCount, broken };
}

/** The row was deleted, or its content released, since it was listed. */
const gone = 'gone';

async function findFault(
  { storage, contents }: { readonly storage: Storage; readonly contents: ContentStore },
  place: EncryptedColumn,
  row: string,
): Promise<string | undefined> {
  const stored = await readValue(storage, place, row);
  if (stored === undefined) return gone;
  try {
    await contents.open(stored, place.context(row));
    return undefined;
  } catch (error) {
    const isSame = Buffer.from(stored).equals((await readValue(storage, place, row)) ?? Buffer.alloc(0));
    return isSame ? errorCode(error) : gone;
  }
}

async function readValue(
  { db }: Storage,
  { table, key, column }: EncryptedColumn,
  row: string,
): Promise<Uint8Array | undefined> {
  const { rows } = await sql<{ value: Uint8Array | null }>`
    select ${sql.ref(column)} as value from ${sql.table(table)} where ${sql.ref(key)} = ${row}`.execute(db);
  return rows[0]?.value ?? undefined;
}

async function* listRows({ db }: Storage, { table, key, column }: EncryptedColumn): AsyncGenerator<string> {
  for (let after = ''; ;) {
    const { rows } = await sql<{ name: string }>`
      select ${sql.ref(key)} as name from ${sql.table(table)}
      where ${sql.ref(key)} > ${after} and ${sql.ref(column)} is not null
      order by ${sql.ref(key)} limit ${sql.lit(pageRows)}`.execute(db);
    for (const { name } of rows) yield name;
    after = rows.at(-1)?.name ?? after;
    if (rows.length < pageRows) return;
  }
}
