import type { Migration } from '../migrate.ts';

/** Clients, their secrets and the tokens issued to them (Decision 0006). */
export const oauthMigration: Migration = {
  name: '0002-oauth',
  async up(db) {
    await db.schema
      .createTable('oauth_client')
      .addColumn('client_id', 'text', (column) => column.primaryKey())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('secret_salt', 'bytea', (column) => column.notNull())
      .addColumn('secret_cost', 'integer', (column) => column.notNull())
      .addColumn('scopes', 'text', (column) => column.notNull())
      .addColumn('direct_addresses', 'text', (column) => column.notNull())
      .addColumn('limits', 'text', (column) => column.notNull())
      .addColumn('requests_final_delivery', 'integer', (column) => column.notNull())
      .addColumn('data_use_accepted_at', 'bigint')
      .addColumn('disabled_at', 'bigint')
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('updated_at', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema
      .createTable('oauth_secret')
      .addColumn('secret_id', 'text', (column) => column.primaryKey())
      .addColumn('client_id', 'text', (column) =>
        column.notNull().references('oauth_client.client_id').onDelete('cascade'),
      )
      .addColumn('hash', 'bytea', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema.createIndex('oauth_secret_client').on('oauth_secret').column('client_id').execute();
    await db.schema
      .createTable('oauth_token')
      .addColumn('token_hash', 'bytea', (column) => column.primaryKey())
      .addColumn('client_id', 'text', (column) =>
        column.notNull().references('oauth_client.client_id').onDelete('cascade'),
      )
      .addColumn('scopes', 'text', (column) => column.notNull())
      .addColumn('secret_id', 'text', (column) => column.notNull())
      .addColumn('issued_at', 'bigint', (column) => column.notNull())
      .addColumn('expires_at', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema.createIndex('oauth_token_client').on('oauth_token').column('client_id').execute();
    await db.schema.createIndex('oauth_token_expiry').on('oauth_token').column('expires_at').execute();
  },
};
