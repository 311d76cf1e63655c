import { sql } from 'kysely';
import type { Migration } from '../migrate.ts';

/** Index of destinations with failed mail, queried each minute; mail that is sent at once never enters it. */
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
