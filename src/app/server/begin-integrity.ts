import type { Config } from '../../platform/index.ts';
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
  readonly audit: Audit;
}

/**
 * Begins the audit chain of a new database. Throws AUDIT_CHAIN_RESET if the database has rows of a chain, or
 * this installation checkpoints of one, but the database has no key for it.
 */
export async function beginInstallationIntegrity({ config, audit }: InstallationIntegrity): Promise<void> {
  if (await audit.hasBegun()) return;
  await refuseReset(config.audit.checkpointFile);
  await audit.begin();
  await audit.signCheckpoint();
}

async function refuseReset(file: string): Promise<void> {
  const { length } = await readCheckpointFile(file);
  if (length === 0) return;
  throw new AuditError(
    'AUDIT_CHAIN_RESET',
    `${file} has ${length} checkpoints of an audit chain, but the database has none: it was reset, or restored from an ` +
      'older backup. Find out which; then: openhisp audit restart --reason TEXT',
  );
}
