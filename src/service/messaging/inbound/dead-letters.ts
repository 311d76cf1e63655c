import { sql, type Kysely } from 'kysely';
import { errorCode, readTexts } from '../../../core/index.ts';
import type { Storage } from '../../../platform/index.ts';
import { everything, isOwnedAddress, type Owned } from '../../organizations/index.ts';
import type { MessagingTables } from '../tables.ts';

/** Inbound mail that could not be processed, kept for the operator. */
export interface DeadLetter {
  readonly id: string;
  readonly mailFrom: string;
  readonly recipients: readonly string[];
  readonly receivedAt: Date;
  /** Code of the last error. */
  readonly reason: string;
}

/** A place in the list. */
interface Place {
  /** Time of receipt, in milliseconds. */
  readonly at: number;
  readonly id: string;
}

/** Oldest first; all, or as many as `limit` after a place. */
export async function listDeadLetters(
  storage: Storage,
  { limit, after }: { readonly limit?: number; readonly after?: Place | undefined } = {},
): Promise<readonly DeadLetter[]> {
  const rows = await storage
    .tables<MessagingTables>()
    .selectFrom('inbound_mail')
    .select(['id', 'mail_from', 'recipients', 'received_at', 'last_error'])
    .where(isDeadLetter)
    .$if(after !== undefined, (query) =>
      query
        .where('received_at', '>=', after?.at ?? 0)
        .where((eb) => eb.or([eb('received_at', '>', after?.at ?? 0), eb('id', '>', after?.id ?? '')])),
    )
    .orderBy('received_at')
    .orderBy('id')
    .$if(limit !== undefined, (query) => query.limit(limit ?? 0))
    .execute();
  return rows.map((row) => ({
    id: row.id,
    mailFrom: row.mail_from,
    recipients: readTexts(row.recipients),
    receivedAt: new Date(row.received_at),
    reason: row.last_error,
  }));
}

/** Of an organization those with a recipient in its domains. */
export async function countDeadLetters(storage: Storage, owned: Owned = everything): Promise<number> {
  const db = storage.tables<MessagingTables>();
  if (owned !== everything) {
    const rows = await db.selectFrom('inbound_mail').select('recipients').where(isDeadLetter).execute();
    return rows.filter((row) => readTexts(row.recipients).some((one) => isOwnedAddress(owned, one))).length;
  }
  const { count } = await db
    .selectFrom('inbound_mail')
    .select(({ fn }) => fn.countAll().as('count'))
    .where(isDeadLetter)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Retries dead letters with the full number of attempts: the given one, or all. Returns their number. */
export async function retryDeadLetters(storage: Storage, id?: string): Promise<number> {
  const ids = await storage
    .tables<MessagingTables>()
    .selectFrom('inbound_mail')
    .select(['id', 'content_hash'])
    .where(isDeadLetter)
    .$if(id !== undefined, (query) => query.where('id', '=', id ?? ''))
    .orderBy('received_at')
    .execute();
  let count = 0;
  for (const row of ids) {
    const isWoken = await storage
      .transaction((tx: Kysely<MessagingTables>) => retryOne(tx, storage, row))
      .catch((error: unknown) => {
        // The same mail is being stored at this moment.
        if (errorCode(error) === 'PLATFORM_STORAGE_DUPLICATE') return false;
        throw error;
      });
    if (isWoken) count++;
  }
  return count;
}

// The peer may have sent the mail again in the meantime: mail that already waits is not stored twice.
async function retryOne(
  tx: Kysely<MessagingTables>,
  storage: Storage,
  row: { readonly id: string; readonly content_hash: string },
): Promise<boolean> {
  const result = await tx
    .updateTable('inbound_mail')
    .set({ state: 'waiting', attempts: 0, next_attempt_at: storage.clock.now().getTime() })
    .where('id', '=', row.id)
    .where(isDeadLetter)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('inbound_mail as same')
            .select('same.id')
            .where('same.content_hash', '=', row.content_hash)
            .where('same.state', '=', 'waiting'),
        ),
      ),
    )
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

// The condition of the partial index.
const isDeadLetter = sql<boolean>`state = 'dead-letter'`;
