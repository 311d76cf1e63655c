import type { AnyTransaction, Config, Storage } from '../../platform/index.ts';
import { AuditError, readCheckpointFile, type Audit } from '../../service/audit/index.ts';
import type { GuardedTable } from '../../service/integrity/index.ts';
import { edgesGuardedTables } from '../../service/edges/index.ts';
import { oauthGuardedTables } from '../../service/oauth/index.ts';
import { organizationsGuardedTables } from '../../service/organizations/index.ts';
import { operatorsGuardedTables } from '../../service/operators/index.ts';
import { trustGuardedTables } from '../../service/trust/index.ts';
import { webhookGuardedTables } from '../../service/webhook/index.ts';

/** All tables whose rows carry a MAC (Decision 0024). */
export const guardedTables: readonly GuardedTable[] = [
  ...organizationsGuardedTables,
  ...oauthGuardedTables,
  ...trustGuardedTables,
  ...webhookGuardedTables,
  ...edgesGuardedTables,
  ...operatorsGuardedTables,
];

export interface InstallationIntegrity {
  readonly config: Pick<Config, 'audit'>;
  readonly storage: Storage;
  readonly audit: Audit;
}

/**
 * Keys the audit chain, once for a database, beginning with a row that records this. Throws
 * AUDIT_CHAIN_RESET if the chain was keyed before, or this installation has checkpoints of a keyed chain, but
 * the database says that there never was one.
 */
export async function beginInstallationIntegrity(resources: InstallationIntegrity): Promise<void> {
  const { config, storage, audit } = resources;
  if (await audit.isKeyed()) return;
  await refuseReset(config.audit.checkpointFile);
  await storage.transaction(async (tx: AnyTransaction) => {
    audit.beginKeyingIn(tx, { action: 'audit.begin', actor: 'system', outcome: 'ok' });
  });
  await audit.signCheckpoint();
}

async function refuseReset(file: string): Promise<void> {
  const { length } = await readCheckpointFile(file);
  if (length === 0) return;
  throw new AuditError(
    'AUDIT_CHAIN_RESET',
    `${file} has ${length} checkpoints of a keyed audit chain, but the database has none: it was reset, or restored from an ` +
      'older backup. Find out which; then: openhisp audit restart --reason TEXT',
  );
}
