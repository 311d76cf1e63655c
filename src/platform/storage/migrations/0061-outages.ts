import { sql } from 'kysely';
import type { Migration } from '../migrate.ts';

/** Which destinations have mail that failed is asked each minute; mail that goes out at once never enters the index. */
export const outagesMigration: Migration = {
  name: '0061-outages',
  async up(db) {
    await db.schema
      .createIndex('delivery_destination_failed')
      .on('delivery_destination')
      .column('domain')
      .where(sql.ref('last_reason'), '<>', sql.lit(''))
      .execute();
  },
};
