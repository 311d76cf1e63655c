import { tablesOf, type AnyTransaction } from '../../platform/index.ts';
import { applyChangesIn, type Change, type TrustStore } from './change.ts';
import { countActive } from './limit-addresses.ts';
import { listActivePairs, lockDomain } from './keys.ts';
import type { TrustTables } from './tables.ts';

/**
 * Queued mail and MDNs are still signed for so long after an organization was closed: longer than a delivery
 * is tried.
 */
const keyGraceMs = 7 * 86_400_000;

/** What of a closed organization ends here. Its domains and addresses need no change: who asks is told. */
export interface Closing {
  /**
   * Plans the end of all keys of its domains; an end that was planned before stays as it is. Returns the
   * domains. Throws INTEGRITY_ROW_CHANGED.
   */
  endKeysIn(tx: AnyTransaction, organizationId: string, closedAt: Date): Promise<readonly string[]>;
  /** Takes back those plans that are not carried out yet. Returns the number of keys that stay. */
  keepKeysIn(tx: AnyTransaction, organizationId: string, closedAt: Date): Promise<number>;
  /** The number of active addresses by organization; those without any are absent. */
  countActiveAddresses(organizationId?: string): Promise<ReadonlyMap<string, number>>;
}

export function createClosing(store: TrustStore): Closing {
  const { guards, storage } = store;

  /** Of the active keys of an organization whose end is planned as `from` says. */
  async function planIn(
    anyTx: AnyTransaction,
    organizationId: string,
    plan: (retiresAt: number | null) => number | null,
  ) {
    const tx = tablesOf<TrustTables>(anyTx);
    const domains = await guards.domains.checkAll(
      await tx
        .selectFrom('hosted_domain')
        .selectAll()
        .where('organization_id', '=', organizationId)
        .orderBy('domain')
        .execute(),
    );
    const changes: Change[] = [];
    for (const { domain } of domains) {
      // As all who change a pair do, so that none that is retired meanwhile is written back.
      await lockDomain(store, tx, domain);
      for (const { mac: _old, ...pair } of await listActivePairs(store, tx, domain)) {
        const retiresAt = plan(pair.retires_at === null ? null : Number(pair.retires_at));
        if (retiresAt === pair.retires_at) continue;
        await tx
          .updateTable('key_pair')
          .set(guards.keys.withMac({ ...pair, retires_at: retiresAt }))
          .where('id', '=', pair.id)
          .execute();
        changes.push({
          action: 'key.schedule',
          objects: {
            keyPair: pair.id,
            owner: pair.owner,
            retiresAt: retiresAt === null ? '' : new Date(retiresAt).toISOString(),
          },
        });
      }
    }
    // Also without a key: what nodes remember of the domains has changed.
    await applyChangesIn(anyTx, store, changes);
    return { domains: domains.map(({ domain }) => domain), keys: changes.length };
  }

  return {
    async endKeysIn(tx, organizationId, closedAt) {
      const endsAt = closedAt.getTime() + keyGraceMs;
      return (await planIn(tx, organizationId, (at) => at ?? endsAt)).domains;
    },
    async keepKeysIn(tx, organizationId, closedAt) {
      const endsAt = closedAt.getTime() + keyGraceMs;
      return (await planIn(tx, organizationId, (at) => (at === endsAt ? null : at))).keys;
    },
    countActiveAddresses: (organizationId) => countActive(storage.tables(), organizationId),
  };
}
