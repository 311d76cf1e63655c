import type { Migration } from '../migrate.ts';

/** Rows that decide who may do what: each carries a MAC (Decision 0024). */
const guardedTables = [
  'oauth_client',
  'oauth_secret',
  'oauth_token',
  'hosted_domain',
  'hosted_address',
  'key_pair',
  'trust_anchor',
  'trust_bundle',
  'webhook',
] as const;

/** The key of the audit chain, signed statements about it, and the MACs of security rows (Decision 0024). */
export const integrityMigration: Migration = {
  name: '0070-integrity',
  async up(db) {
    await db.schema
      .createTable('audit_chain')
      .addColumn('id', 'integer', (column) => column.primaryKey())
      .addColumn('chain_id', 'text', (column) => column.notNull())
      .addColumn('keyed_from', 'bigint', (column) => column.notNull())
      .addColumn('key_id', 'text', (column) => column.notNull())
      .addColumn('public_key', 'bytea', (column) => column.notNull())
      .addColumn('sealed_private_key', 'bytea', (column) => column.notNull())
      .addColumn('began_at', 'bigint', (column) => column.notNull())
      .addColumn('mac', 'bytea', (column) => column.notNull())
      .execute();
    await db.schema
      .createTable('audit_checkpoint')
      .addColumn('id', 'integer', (column) => column.primaryKey())
      .addColumn('statement', 'text', (column) => column.notNull())
      .execute();
    await db.schema
      .alterTable('audit_start')
      .addColumn('statement', 'text', (column) => column.notNull().defaultTo(''))
      .execute();
    for (const table of guardedTables) await db.schema.alterTable(table).addColumn('mac', 'bytea').execute();
  },
};
