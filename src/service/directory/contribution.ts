import type { TextField } from '../../lib/provider-record/index.ts';
import type { Storage } from '../../platform/index.ts';
import { readMarkedLine, textsOf } from './records/record-line.ts';
import type { ActivationContext } from './store/loads.ts';
import { readFormerNpis } from './store/provisioned.ts';
import type { DirectoryTables } from './store/tables.ts';

/** A hosted address as the aggregated directory is to have it. */
export interface ContributedRecord {
  /** The lower-cased Direct address. */
  readonly addressKey: string;
  /** Undefined: it is not listed any more, or its owner wants it removed. */
  readonly texts: Readonly<Record<TextField, string>> | undefined;
  /** Of its records that are to be removed; empty for one without an NPI. */
  readonly removedNpis: readonly string[];
}

/** Rows of one statement. */
const batchSize = 500;

/**
 * The listed addresses in the order of their names, without those that are opted out. With `since` only what
 * changed after it, removals included; a removed address that was added again counts as changed. A record
 * with another NPI is another record to a reader, so the former one is to be removed.
 */
export async function* readContribution(
  storage: Storage,
  since: Date | undefined,
): AsyncGenerator<readonly ContributedRecord[]> {
  const db = storage.tables<DirectoryTables>();
  // Changes are stored to the second.
  const sinceMs = Math.floor((since?.getTime() ?? 0) / 1000) * 1000;
  for (let after = ''; ;) {
    const rows = await db
      .selectFrom('directory_provisioned as p')
      .leftJoin('directory_opt_out as o', 'o.address_key', 'p.address_key')
      .select(['p.address_key', 'p.record', 'p.updated_at', 'p.former_npis', 'o.created_at as opted_out_at'])
      .where('p.address_key', '>', after)
      .$if(since === undefined, (query) =>
        query.where('p.record', '!=', '').where('o.address_key', 'is', null),
      )
      .$if(since !== undefined, (query) =>
        query.where((where) =>
          where.or([
            where('p.updated_at', '>=', sinceMs),
            where('p.listing_changed_at', '>=', sinceMs),
            where('o.created_at', '>=', sinceMs),
          ]),
        ),
      )
      .orderBy('p.address_key')
      .limit(batchSize)
      .execute();
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows.map(({ address_key: addressKey, record, former_npis, opted_out_at }) => {
      const texts = record === '' ? undefined : textsOf(readMarkedLine(record));
      const former = readFormerNpis(former_npis)
        .filter(({ npi, until }) => since !== undefined && until >= sinceMs && npi !== texts?.npi)
        .map(({ npi }) => npi);
      return opted_out_at === null || texts === undefined
        ? { addressKey, texts, removedNpis: former }
        : { addressKey, texts: undefined, removedNpis: [...former, texts.npi] };
    });
    after = last.address_key;
  }
}

/** Keeps an address out of contributions, or lets it in again. False if it was so before. */
export function setOptOut(
  { storage, audit, clock }: ActivationContext,
  addressKey: string,
  isOut: boolean,
): Promise<boolean> {
  return storage.transaction<DirectoryTables, boolean>(async (tx) => {
    const changed = isOut
      ? await tx
          .insertInto('directory_opt_out')
          .values({ address_key: addressKey, created_at: clock.now().getTime() })
          .onConflict((conflict) => conflict.column('address_key').doNothing())
          .executeTakeFirst()
      : await tx.deleteFrom('directory_opt_out').where('address_key', '=', addressKey).executeTakeFirst();
    const count = 'numDeletedRows' in changed ? changed.numDeletedRows : changed.numInsertedOrUpdatedRows;
    if (count === undefined || count === 0n) return false;
    // A change since a date must have the address that is let in again.
    if (!isOut)
      await tx
        .updateTable('directory_provisioned')
        .set({ listing_changed_at: clock.now().getTime() })
        .where('address_key', '=', addressKey)
        .execute();
    await audit.recordIn(tx, {
      action: isOut ? 'directory.opt-out' : 'directory.opt-in',
      actor: 'operator',
      outcome: 'ok',
      objects: { address: addressKey },
    });
    return true;
  });
}

/** The addresses that are kept out. */
export async function listOptOuts(storage: Storage): Promise<readonly string[]> {
  const rows = await storage
    .tables<DirectoryTables>()
    .selectFrom('directory_opt_out')
    .select('address_key')
    .orderBy('address_key')
    .execute();
  return rows.map((row) => row.address_key);
}
