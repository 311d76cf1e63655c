import { sql, type Kysely } from 'kysely';
import type { Clock } from '../../core/index.ts';
import type { Storage } from '../../platform/index.ts';
import type { EdgesTables } from './tables.ts';

/** How often received messages were given to a client that did not take them. */
export interface Offers {
  /** Notes that a message is given out now; returns how often it was, this time included. */
  note(copyId: string): Promise<number>;
  /** Times by copy; those never offered are absent. */
  count(copyIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
  taken(copyId: string): Promise<void>;
}

export function createOffers({
  storage,
  clock,
}: {
  readonly storage: Storage;
  readonly clock: Clock;
}): Offers {
  const db: Kysely<EdgesTables> = storage.tables<EdgesTables>();
  return {
    async note(copyId) {
      const offeredAt = clock.now().getTime();
      const { offers } = await db
        .insertInto('edge_offer')
        .values({ copy_id: copyId, offers: 1, offered_at: offeredAt })
        .onConflict((conflict) =>
          conflict
            .column('copy_id')
            .doUpdateSet({ offers: sql<number>`edge_offer.offers + 1`, offered_at: offeredAt }),
        )
        .returning('offers')
        .executeTakeFirstOrThrow();
      return offers;
    },
    async count(copyIds) {
      if (copyIds.length === 0) return new Map();
      const rows = await db
        .selectFrom('edge_offer')
        .select(['copy_id', 'offers'])
        .where('copy_id', 'in', copyIds)
        .execute();
      return new Map(rows.map((row) => [row.copy_id, row.offers]));
    },
    async taken(copyId) {
      await db.deleteFrom('edge_offer').where('copy_id', '=', copyId).execute();
    },
  };
}
