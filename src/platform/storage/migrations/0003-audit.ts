import { sql, type Kysely } from 'kysely';
import type { Migration } from '../migrate.ts';

/** Six years (SEC-04); younger rows cannot be deleted. */
const retentionDays = 2192;

/** The audit chain: append-only, each row naming the hash of the one before (SEC-04). */
export const auditMigration: Migration = {
  name: '0003-audit',
  async up(db, engine) {
    await db.schema
      .createTable('audit_event')
      .addColumn('sequence', engine === 'sqlite' ? 'integer' : 'bigint', (column) => column.primaryKey())
      .addColumn('recorded_at', 'bigint', (column) => column.notNull())
      .addColumn('action', 'text', (column) => column.notNull())
      .addColumn('actor', 'text')
      .addColumn('outcome', 'text', (column) => column.notNull())
      .addColumn('request_id', 'text')
      .addColumn('remote_address', 'text')
      .addColumn('objects', 'text', (column) => column.notNull())
      .addColumn('previous_hash', 'bytea', (column) => column.notNull())
      .addColumn('hash', 'bytea', (column) => column.notNull())
      .execute();
    await db.schema.createIndex('audit_event_time').on('audit_event').column('recorded_at').execute();
    await db.schema
      .createIndex('audit_event_action')
      .on('audit_event')
      .columns(['action', 'recorded_at'])
      .execute();
    await (engine === 'sqlite' ? guardOnSqlite(db) : guardOnPostgres(db));
  },
};

// The program never changes a row; these stop a slip of the hand at a database console.
async function guardOnSqlite(db: Kysely<unknown>): Promise<void> {
  await sql`create trigger audit_event_unchanged before update on audit_event
    begin select raise(abort, 'the audit chain is append-only'); end`.execute(db);
  await sql`create trigger audit_event_kept before delete on audit_event
    when old.recorded_at > (unixepoch() - ${sql.lit(retentionDays * 86_400)}) * 1000
    begin select raise(abort, 'the audit chain is append-only'); end`.execute(db);
}

async function guardOnPostgres(db: Kysely<unknown>): Promise<void> {
  await sql`create function refuse_audit_change() returns trigger language plpgsql as
    $$ begin raise exception 'the audit chain is append-only'; end $$`.execute(db);
  await sql`create trigger audit_event_unchanged before update on audit_event
    for each row execute function refuse_audit_change()`.execute(db);
  await sql`create trigger audit_event_kept before delete on audit_event for each row
    when (old.recorded_at > (extract(epoch from now()) - ${sql.lit(retentionDays * 86_400)}) * 1000)
    execute function refuse_audit_change()`.execute(db);
  await sql`create trigger audit_event_not_emptied before truncate on audit_event
    for each statement execute function refuse_audit_change()`.execute(db);
}
