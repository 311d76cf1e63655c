import { sql } from 'kysely';
import type { Migration } from '../migrate.ts';

/** The states of the directory's addresses, and the work of verification (Decision 0027). */
export const verificationMigration: Migration = {
  name: '0073-verification',
  async up(db) {
    await db.schema
      .createTable('verification_state')
      .addColumn('id', 'integer', (column) => column.primaryKey())
      .addColumn('is_running', 'integer', (column) => column.notNull())
      .addColumn('changed_at', 'bigint', (column) => column.notNull())
      .addColumn('listed', 'text', (column) => column.notNull())
      .execute();
    await sql`insert into verification_state (id, is_running, changed_at, listed) values (1, 0, 0, '')`.execute(
      db,
    );
    await db.schema
      .createTable('verification_domain')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('name_server', 'text', (column) => column.notNull())
      .addColumn('next_attempt_at', 'bigint', (column) => column.notNull())
      .addColumn('lease_token', 'text')
      .addColumn('lease_until', 'bigint', (column) => column.notNull())
      .addColumn('done_up_to', 'text', (column) => column.notNull())
      .addColumn('failures', 'integer', (column) => column.notNull())
      .addColumn('asks_all', 'integer', (column) => column.notNull())
      .addColumn('cycle', 'integer', (column) => column.notNull())
      .addColumn('cycle_started_at', 'bigint', (column) => column.notNull())
      .addColumn('queries', 'integer', (column) => column.notNull())
      .addColumn('checked_at', 'bigint')
      .execute();
    await db.schema
      .createIndex('verification_domain_due')
      .on('verification_domain')
      .column('next_attempt_at')
      .execute();
    await db.schema
      .createTable('verification_address')
      .addColumn('address_key', 'text', (column) => column.primaryKey())
      .addColumn('domain', 'text', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('reason', 'text', (column) => column.notNull())
      .addColumn('checked_at', 'bigint', (column) => column.notNull())
      .addColumn('changed_at', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema
      .createIndex('verification_address_domain')
      .on('verification_address')
      .columns(['domain', 'state'])
      .execute();
    await db.schema
      .createIndex('verification_address_changed')
      .on('verification_address')
      .column('changed_at')
      .execute();
    await db.schema
      .createTable('verification_processed')
      .addColumn('address_key', 'text', (column) => column.primaryKey())
      .addColumn('month', 'integer', (column) => column.notNull())
      .addColumn('changed_at', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema
      .createIndex('verification_processed_changed')
      .on('verification_processed')
      .column('changed_at')
      .execute();
  },
};
