/**
 * The database schema: the tables of each owner, one file an owner, in the order in which they are created.
 * While no version was published, a change is made in place, in the owner's file here and in its `tables.ts`;
 * a database of before is refused by `migrate`. After that a change is a {@link Migration} behind the
 * baseline.
 */
import { sql, type Kysely } from 'kysely';
import type { Migration } from '../migrate.ts';
import type { StorageEngine } from '../storage.ts';
import { auditTables } from './audit.ts';
import { deliveryTables } from './delivery.ts';
import { directoryTables } from './directory.ts';
import { edgesTables } from './edges.ts';
import { legalHoldTables } from './legal-hold.ts';
import { messagingTables } from './messaging.ts';
import { oauthTables } from './oauth.ts';
import { operatorsTables } from './operators.ts';
import { organizationsTables } from './organizations.ts';
import { platformTables } from './platform.ts';
import { trustTables } from './trust.ts';
import { verificationTables } from './verification.ts';
import { webhookTables } from './webhook.ts';

const owners: readonly ((engine: StorageEngine) => readonly string[])[] = [
  platformTables,
  legalHoldTables,
  auditTables,
  organizationsTables,
  oauthTables,
  directoryTables,
  trustTables,
  verificationTables,
  deliveryTables,
  webhookTables,
  messagingTables,
  edgesTables,
  operatorsTables,
];

/** The statements that create every table, with the types that both engines know (see {@link Migration}). */
export function baselineStatements(engine: StorageEngine): readonly string[] {
  const statements = owners.flatMap((tables) => tables(engine)).map((one) => withRange(one, engine));
  return engine === 'sqlite' ? statements : statements.map(comparedByBytes);
}

/**
 * No row has a time or number that the program cannot read: one that was changed by hand must not break the
 * lists of all others. The range is that of a `Date` in milliseconds; PostgreSQL's `integer` is within it.
 */
function withRange(statement: string, engine: StorageEngine): string {
  if (!statement.startsWith('create table')) return statement;
  const columns =
    engine === 'sqlite' ? /^( +(\w+) (?:bigint|integer)\b[^,\n]*)/gm : /^( +(\w+) bigint\b[^,\n]*)/gm;
  return statement.replaceAll(columns, '$1 check ($2 between -8640000000000000 and 8640000000000000)');
}

/** The order of texts must not depend on the engine, nor change with the operating system's library. */
function comparedByBytes(statement: string): string {
  return statement.startsWith('create table')
    ? statement.replaceAll(/^( +\w+ text)\b/gm, '$1 collate "C"')
    : statement;
}

/** In order. The first one creates the whole schema. */
export const migrations: readonly Migration[] = [
  {
    name: '0001-all-tables',
    async up(db: Kysely<unknown>, engine: StorageEngine) {
      for (const statement of baselineStatements(engine)) await sql.raw(statement).execute(db);
    },
  },
];
