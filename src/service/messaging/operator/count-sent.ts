import type { Storage } from '../../../platform/index.ts';
import type { MessagingTables } from '../tables.ts';

/** Counted at most. */
const maxCounted = 100_000;

/** The number of a client's sends since a time, at most 100,000, and the time of the last one. */
export async function countSent(
  storage: Storage,
  clientId: string,
  since: Date,
): Promise<{ readonly count: number; readonly lastAt: Date | undefined }> {
  const db = storage.tables<MessagingTables>();
  const counted = await db
    .selectFrom((eb) =>
      eb
        .selectFrom('message')
        .select('created_at')
        .where('client_id', '=', clientId)
        .where('created_at', '>=', since.getTime())
        .limit(maxCounted)
        .as('sent'),
    )
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  const last = await db
    .selectFrom('message')
    .select('created_at')
    .where('client_id', '=', clientId)
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  return { count: Number(counted.count), lastAt: last === undefined ? undefined : new Date(last.created_at) };
}
