import type { Log } from '../../core/index.ts';
import { listLiveNodes, type Config, type Storage, type Vault } from '../../platform/index.ts';
import { AuditError, readCheckpointFile, type Audit } from '../../service/audit/index.ts';
import { beginIntegrity, type GuardedTable } from '../../service/integrity/index.ts';
import { edgesGuardedTables } from '../../service/edges/index.ts';
import { oauthGuardedTables } from '../../service/oauth/index.ts';
import { operatorsGuardedTables } from '../../service/operators/index.ts';
import { trustGuardedTables } from '../../service/trust/index.ts';
import { webhookGuardedTables } from '../../service/webhook/index.ts';
import packageJson from '../../../package.json' with { type: 'json' };

/** All tables whose rows carry a MAC (Decision 0024). */
export const guardedTables: readonly GuardedTable[] = [
  ...oauthGuardedTables,
  ...trustGuardedTables,
  ...webhookGuardedTables,
  ...edgesGuardedTables,
  ...operatorsGuardedTables,
];

export interface InstallationIntegrity {
  readonly config: Pick<Config, 'audit'>;
  readonly storage: Storage;
  readonly vault: Vault;
  readonly audit: Audit;
  readonly log: Log;
}

/**
 * Keys the audit chain and gives guarded rows their MACs, once for a database. It waits while nodes of
 * another version run, which would write neither. Returns whether the chain is keyed. Throws
 * AUDIT_CHAIN_RESET if this installation has checkpoints of a keyed chain,
 * but the database says that there never was one.
 */
export async function beginInstallationIntegrity(resources: InstallationIntegrity): Promise<boolean> {
  const { config, storage, audit, log } = resources;
  if (await audit.isKeyed()) return true;
  await refuseReset(config.audit.checkpointFile);
  const others = (await listLiveNodes(storage)).filter(({ version }) => version !== packageJson.version);
  if (others.length > 0) {
    const nodes = others.map(({ id, version }) => `${id} (${version})`).join(', ');
    log.warn(
      { nodes },
      'the audit chain is keyed and rows get their MACs once no node of another version runs',
    );
    return false;
  }
  await beginIntegrity({ ...resources, tables: guardedTables });
  return true;
}

async function refuseReset(file: string): Promise<void> {
  const { length } = await readCheckpointFile(file);
  if (length === 0) return;
  throw new AuditError(
    'AUDIT_CHAIN_RESET',
    `${file} has ${length} checkpoints of a keyed audit chain, but the database has none: it was reset, or restored from a backup of ` +
      'an earlier version. Find out which; then: openhisp audit restart --reason TEXT',
  );
}
