import type { Kysely } from 'kysely';
import type { OrganizationsGuards } from './guards.ts';
import {
  blankOrganization,
  operatorOrganization,
  readOrganizationRow,
  type Organization,
} from './organization.ts';
import type { OrganizationsTables } from './tables.ts';

/** Undefined if there is none. Throws INTEGRITY_ROW_CHANGED. */
export async function findOrganization(
  db: Kysely<OrganizationsTables>,
  guards: OrganizationsGuards,
  id: string,
): Promise<Organization | undefined> {
  const row = await db.selectFrom('organization').selectAll().where('id', '=', id).executeTakeFirst();
  if (row !== undefined) return readOrganizationRow(await guards.organizations.check(row));
  return id === operatorOrganization ? blankOrganization(id) : undefined;
}
