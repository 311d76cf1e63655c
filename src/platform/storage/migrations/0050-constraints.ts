import { sql } from 'kysely';
import type { Migration } from '../migrate.ts';

/**
 * Rules that hold for several nodes over one database: one load in progress, one current data key, one owner of a
 * record id (Decision 0022). Existing rows that violate them are corrected first.
 */
export const constraintsMigration: Migration = {
  name: '0050-constraints',
  async up(db) {
    await sql`
      update directory_load set state = 'failed', finished_at = started_at
      where state = 'loading' and id < (select max(id) from directory_load where state = 'loading')`.execute(
      db,
    );
    await db.schema
      .createIndex('directory_load_loading')
      .unique()
      .on('directory_load')
      .column('state')
      .where(sql.ref('state'), '=', sql.lit('loading'))
      .execute();
    await sql`
      update data_key set is_current = 0
      where is_current = 1 and id <> (
        select id from data_key where is_current = 1 order by created_at desc, id desc limit 1
      )`.execute(db);
    await db.schema
      .createIndex('data_key_current')
      .unique()
      .on('data_key')
      .column('is_current')
      .where(sql.ref('is_current'), '=', sql.lit(1))
      .execute();
    await db.schema
      .createIndex('directory_provisioned_record')
      .unique()
      .on('directory_provisioned')
      .column('record_id')
      .execute();
  },
};
