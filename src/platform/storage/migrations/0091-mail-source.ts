import type { Migration } from '../migrate.ts';

/** The address of the peer that brought incoming mail, for its audit rows (SEC-03). */
export const mailSourceMigration: Migration = {
  name: '0091-mail-source',
  async up(db) {
    await db.schema
      .alterTable('inbound_mail')
      .addColumn('remote_address', 'text', (column) => column.notNull().defaultTo(''))
      .execute();
  },
};
