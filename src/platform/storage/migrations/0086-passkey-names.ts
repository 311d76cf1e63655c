import type { Migration } from '../migrate.ts';

/** Names of passkeys, by which an operator distinguishes the devices. */
export const passkeyNamesMigration: Migration = {
  name: '0086-passkey-names',
  async up(db) {
    await db.schema
      .alterTable('console_passkey')
      .addColumn('name', 'text', (column) => column.notNull().defaultTo(''))
      .execute();
  },
};
