import { tablesOf, type AnyTransaction } from '../../platform/index.ts';
import { createOauthGuards } from './guards.ts';
import type { OauthTables } from './tables.ts';

/**
 * A client outside an organization that has addresses of a domain, whose hold keeps the domain from being the
 * organization's. Every row is checked: one that was changed by hand may hide a hold. Throws
 * INTEGRITY_ROW_CHANGED.
 */
export type FindHolder = (
  tx: AnyTransaction,
  domain: string,
  organizationId: string,
) => Promise<{ readonly clientId: string; readonly organizationId: string } | undefined>;

export function createFindHolder(deps: Parameters<typeof createOauthGuards>[0]): FindHolder {
  const guards = createOauthGuards(deps);
  return async (tx, domain, organizationId) => {
    const rows = await tablesOf<OauthTables>(tx).selectFrom('oauth_client').selectAll().execute();
    const holder = (await guards.clients.checkAll(rows)).find(
      (row) =>
        row.organization_id !== organizationId &&
        (JSON.parse(row.direct_addresses) as string[]).some((own) => own.endsWith(`@${domain}`)),
    );
    return holder && { clientId: holder.client_id, organizationId: holder.organization_id };
  };
}
