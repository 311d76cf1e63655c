import type { Migration } from '../migrate.ts';

/** The certificates on the validated paths of MDN signers, each once, for evidence of delivery. `used_at` says when last. */
export const pathCertificatesMigration: Migration = {
  name: '0072-path-certificates',
  async up(db) {
    await db.schema
      .createTable('path_certificate')
      .addColumn('fingerprint', 'text', (column) => column.primaryKey())
      .addColumn('der', 'bytea', (column) => column.notNull())
      .addColumn('used_at', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema.createIndex('path_certificate_used').on('path_certificate').column('used_at').execute();
  },
};
