import type { Migration } from '../migrate.ts';

/** Access to the console: operators, their passkeys, links, sessions and tokens, and started sign-ins (Decision 0030). */
export const consoleMigration: Migration = {
  name: '0080-console',
  async up(db) {
    await db.schema
      .createTable('console_operator')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('name_key', 'text', (column) => column.notNull().unique())
      .addColumn('role', 'text', (column) => column.notNull())
      .addColumn('subject', 'text', (column) => column.unique())
      .addColumn('disabled_at', 'bigint')
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('updated_at', 'bigint', (column) => column.notNull())
      .addColumn('mac', 'bytea')
      .execute();
    await db.schema
      .createTable('console_passkey')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('operator_id', 'text', (column) => column.notNull().references('console_operator.id'))
      .addColumn('public_key', 'bytea', (column) => column.notNull())
      .addColumn('counter', 'bigint', (column) => column.notNull())
      .addColumn('transports', 'text', (column) => column.notNull())
      .addColumn('is_backed_up', 'integer', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('last_used_at', 'bigint')
      .addColumn('mac', 'bytea')
      .execute();
    await db.schema
      .createTable('console_link')
      .addColumn('token_hash', 'bytea', (column) => column.primaryKey())
      .addColumn('operator_id', 'text', (column) => column.notNull().references('console_operator.id'))
      .addColumn('purpose', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('expires_at', 'bigint', (column) => column.notNull())
      .addColumn('used_at', 'bigint')
      .addColumn('mac', 'bytea')
      .execute();
    await db.schema
      .createTable('console_session')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('token_hash', 'bytea', (column) => column.notNull().unique())
      .addColumn('operator_id', 'text', (column) => column.notNull().references('console_operator.id'))
      .addColumn('method', 'text', (column) => column.notNull())
      .addColumn('remote_address', 'text', (column) => column.notNull())
      .addColumn('user_agent', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('seen_at', 'bigint', (column) => column.notNull())
      .addColumn('expires_at', 'bigint', (column) => column.notNull())
      .addColumn('mac', 'bytea')
      .execute();
    await db.schema
      .createTable('console_token')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('token_hash', 'bytea', (column) => column.notNull().unique())
      .addColumn('operator_id', 'text', (column) => column.notNull().references('console_operator.id'))
      .addColumn('label', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('expires_at', 'bigint', (column) => column.notNull())
      .addColumn('mac', 'bytea')
      .execute();
    await db.schema
      .createTable('console_ceremony')
      .addColumn('id_hash', 'bytea', (column) => column.primaryKey())
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('challenge', 'text', (column) => column.notNull())
      .addColumn('expires_at', 'bigint', (column) => column.notNull())
      .execute();
    for (const name of ['passkey', 'link', 'session', 'token'])
      await db.schema
        .createIndex(`console_${name}_operator`)
        .on(`console_${name}`)
        .column('operator_id')
        .execute();
    for (const name of ['link', 'session', 'token', 'ceremony'])
      await db.schema
        .createIndex(`console_${name}_expiry`)
        .on(`console_${name}`)
        .column('expires_at')
        .execute();
  },
};
