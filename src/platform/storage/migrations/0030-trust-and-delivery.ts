import type { Migration } from '../migrate.ts';

/** Our domains, addresses, keys and anchors, and the queue of outgoing messages (Decisions 0016 and 0018). */
export const trustAndDeliveryMigration: Migration = {
  name: '0030-trust-and-delivery',
  async up(db) {
    await db.schema
      .createTable('hosted_domain')
      .addColumn('domain', 'text', (column) => column.primaryKey())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema
      .createTable('hosted_address')
      .addColumn('address_key', 'text', (column) => column.primaryKey())
      .addColumn('address', 'text', (column) => column.notNull())
      .addColumn('domain', 'text', (column) => column.notNull().references('hosted_domain.domain'))
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema.createIndex('hosted_address_domain').on('hosted_address').column('domain').execute();
    await db.schema
      .createTable('key_pair')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('owner', 'text', (column) => column.notNull())
      .addColumn('certificate', 'bytea', (column) => column.notNull())
      .addColumn('fingerprint', 'text', (column) => column.notNull())
      .addColumn('sealed_private_key', 'bytea', (column) => column.notNull())
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema.createIndex('key_pair_owner').on('key_pair').column('owner').execute();
    await db.schema
      .createTable('trust_anchor')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('domain', 'text', (column) => column.notNull().references('hosted_domain.domain'))
      .addColumn('direction', 'text', (column) => column.notNull())
      .addColumn('certificate', 'bytea', (column) => column.notNull())
      .addColumn('fingerprint', 'text', (column) => column.notNull())
      .addColumn('bundle_id', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addUniqueConstraint('trust_anchor_once', ['domain', 'direction', 'bundle_id', 'fingerprint'])
      .execute();
    await db.schema
      .createTable('trust_bundle')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('domain', 'text', (column) => column.notNull().references('hosted_domain.domain'))
      .addColumn('direction', 'text', (column) => column.notNull())
      .addColumn('url', 'text', (column) => column.notNull())
      .addColumn('signer', 'bytea')
      .addColumn('refresh_seconds', 'bigint', (column) => column.notNull())
      .addColumn('next_refresh_at', 'bigint', (column) => column.notNull())
      .addColumn('refreshed_at', 'bigint')
      .addColumn('checksum', 'text', (column) => column.notNull())
      .addColumn('etag', 'text', (column) => column.notNull())
      .addColumn('last_error', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema
      .createTable('delivery')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('sender', 'text', (column) => column.notNull())
      .addColumn('sealed_message', 'bytea')
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('not_after', 'bigint', (column) => column.notNull())
      .addColumn('next_attempt_at', 'bigint', (column) => column.notNull())
      .addColumn('attempts', 'integer', (column) => column.notNull())
      .addColumn('lease_owner', 'text')
      .addColumn('lease_until', 'bigint', (column) => column.notNull())
      .addColumn('is_done', 'integer', (column) => column.notNull())
      .execute();
    await db.schema
      .createIndex('delivery_due')
      .on('delivery')
      .columns(['is_done', 'next_attempt_at'])
      .execute();
    await db.schema
      .createTable('delivery_recipient')
      .addColumn('delivery_id', 'text', (column) => column.notNull().references('delivery.id'))
      .addColumn('address', 'text', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('last_error', 'text', (column) => column.notNull())
      .addColumn('decided_at', 'bigint')
      .addPrimaryKeyConstraint('delivery_recipient_key', ['delivery_id', 'address'])
      .execute();
  },
};
