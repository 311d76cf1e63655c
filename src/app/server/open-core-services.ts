import path from 'node:path';
import type { Clock, Log } from '../../core/index.ts';
import {
  createDiskGuard,
  createMetrics,
  hasDataKeys,
  holdDataDir,
  joinNodes,
  loadMasterKeys,
  nodeId,
  openStorage,
  openVault,
  refuseUncopied,
  type Config,
  type DiskGuard,
  type Migration,
  type Metrics,
  type Nodes,
  type Storage,
  type StoredVault,
} from '../../platform/index.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { createAudit, type Audit } from '../../service/audit/index.ts';
import { createOauth, type Oauth } from '../../service/oauth/index.ts';
import { createTrust, type Trust } from '../../service/trust/index.ts';
import { awaitDatabase } from './await-database.ts';
import { beginInstallationIntegrity } from './begin-integrity.ts';
import { createClosedCount, type ListenerName, type OnClosed } from './count-closed.ts';
import type { Resources } from './resources.ts';

export interface Dependencies {
  readonly config: Config;
  readonly log: Log;
  readonly clock: Clock;
  /** Other steps of the schema than those of this version. */
  readonly migrations?: readonly Migration[] | undefined;
  /** Told once, in words, if the start waits for the database. */
  readonly onWaiting?: ((text: string) => void) | undefined;
}

/** Core services that every other service needs. */
export interface CoreServices extends Dependencies {
  readonly storage: Storage;
  readonly vault: StoredVault;
  readonly audit: Audit;
  readonly oauth: Oauth;
  readonly trust: Trust;
  readonly metrics: Metrics;
  readonly disk: DiskGuard;
  /** Of this node, stable over restarts. */
  readonly nodeId: string;
  readonly nodes: Nodes;
  /** Counts, and warns of, the connections that a listener closes because there are too many. */
  readonly onClosed: (listener: ListenerName) => OnClosed;
}

/** Takes the data folder, opens the database and the vault, and brings the schema up to date. */
export async function openCoreServices(
  dependencies: Dependencies,
  { keep }: Resources,
): Promise<CoreServices> {
  const { config, log, clock, migrations, onWaiting } = dependencies;
  keep(holdDataDir(config.dataDir));
  const ownId = nodeId(config.dataDir);
  const storage = keep(
    await awaitDatabase(
      () =>
        openStorage({
          ...config.storage,
          ...(migrations !== undefined && { migrations }),
          nodeId: ownId,
          onProblem: (text) => log.warn({}, `storage: ${text}`),
        }),
      { config, log, onWaiting },
    ),
  );
  await storage.migrate((text) => log.info({}, text));
  await refuseUncopied(config.storage, storage);
  const { version } = packageJson;
  const nodes = keep(await joinNodes({ storage, log, id: ownId, version, serves: listServed(config) }));
  const keys = loadMasterKeys(config.vault, !(await hasDataKeys(storage)));
  const vault = await openVault({ storage, ...keys, clock });
  const audit = keep(
    createAudit({
      storage,
      vault,
      clock,
      log,
      flushMs: config.audit.flushMs,
      keepMs: config.audit.keepDays * 86_400_000,
    }),
  );
  await beginInstallationIntegrity({ config, audit });
  const { acceptsQueryParameters } = config.oauth;
  const oauth = createOauth({ storage, vault, clock, audit, limits: config.oauth, acceptsQueryParameters });
  const trust = createTrust({ storage, vault, clock, audit });
  const metrics = createMetrics({ withProcess: true });
  const folders = [config.dataDir, path.dirname(path.resolve(config.storage.file ?? config.dataDir))];
  const { minFreeDiskBytes: minFreeBytes } = config.admission;
  const disk = keep(await createDiskGuard({ folders, minFreeBytes, log, metrics }));
  return {
    ...dependencies,
    metrics,
    disk,
    storage,
    vault,
    audit,
    oauth,
    trust,
    nodeId: ownId,
    nodes,
    onClosed: createClosedCount({ metrics, log }),
  };
}

/** What a node with this configuration serves, for the list of nodes. */
function listServed(config: Config): readonly string[] {
  const optional = (['console', 'edge', 'dns', 'ldap'] as const).filter((name) => config[name].isServing);
  return ['api', 'mail', ...optional];
}
