import { existsSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { silentLog, systemClock } from '../../core/index.ts';
import {
  compareStorage,
  copiedMark,
  copyStorage,
  holdDataDir,
  loadMasterKeys,
  openStorage,
  openVault,
  PlatformError,
  refuseUpdate,
  requireCopyable,
  type Config,
  type CopiedTable,
  type Storage,
} from '../../platform/index.ts';
import { createAudit, readCheckpointFile, type Audit } from '../../service/audit/index.ts';
import type { CliContext } from './context.ts';
import { toRow } from './print-list.ts';

interface TargetOption {
  readonly to?: string;
}

/** Adds `storage copy` and `storage compare`: how an installation moves from SQLite to PostgreSQL. */
export function addStorageCommands(storage: Command, context: CliContext): void {
  storage
    .command('copy')
    .description(
      'copy the SQLite file into an empty PostgreSQL database and verify the copy; stop the service first',
    )
    .option('--to <url>', targetText)
    .action((options: TargetOption) => copy(context, options));
  storage
    .command('compare')
    .description('compare the SQLite file with PostgreSQL, table by table; ends with 1 if they differ')
    .option('--to <url>', targetText)
    .action((options: TargetOption) => compare(context, options));
}

const targetText =
  'postgres://user@host:5432/database; by default storage.url. The password may come from PGPASSWORD or ~/.pgpass';

interface Databases {
  readonly file: string;
  readonly source: Storage;
  readonly config: Config;
  readonly target: Storage;
  /** Without the password. */
  readonly targetName: string;
}

async function copy(context: CliContext, options: TargetOption): Promise<void> {
  await withDatabases(context, options, async ({ config, file, source, target, targetName }) => {
    await requireCopyable({ file, to: target });
    // Part of the chain that is copied, so that both databases report it.
    const sourceAudit = await openAudit(config, source);
    await sourceAudit.recordNow({
      action: 'storage.copy',
      actor: 'operator',
      outcome: 'ok',
      objects: { to: targetName },
    });
    await sourceAudit.close();
    const tables = await copyStorage({ file, to: target, onTable: (table) => printCopied(context, table) });
    // Immediately, whatever the next check finds: a server on the old file would send its queue a second
    // time.
    writeFileSync(copiedMark(file), `${targetName} on ${systemClock.now().toISOString()}\n`, { mode: 0o600 });
    await verifyAudit(context, config, target);
    context.print(`${countRows(tables)} rows in ${tables.length} tables copied and verified: ${targetName}`);
    context.note(
      'Set OPENHISP_STORAGE_URL to the target before the next start. The data folder and the master key stay where they are.',
    );
  });
}

async function compare(context: CliContext, options: TargetOption): Promise<void> {
  await withDatabases(context, options, async ({ config, file, target, targetName }) => {
    const tables = await compareStorage({
      file,
      to: target,
      onTable: (table) => printCopied(context, table),
    });
    await verifyAudit(context, config, target);
    context.print(`${countRows(tables)} rows in ${tables.length} tables are the same: ${targetName}`);
  });
}

async function withDatabases(
  context: CliContext,
  options: TargetOption,
  work: (databases: Databases) => Promise<void>,
): Promise<void> {
  const config = await context.loadConfig();
  const { file, busyTimeoutMs } = config.storage;
  if (!existsSync(file))
    throw new PlatformError('PLATFORM_CONFIG_INVALID', `storage.file: not found: ${file}`);
  const url = options.to ?? config.storage.url;
  if (url === undefined)
    throw new PlatformError(
      'PLATFORM_CONFIG_INVALID',
      '--to or storage.url: missing, the PostgreSQL database',
    );
  context.note(`Installation: ${config.dataDir}`);
  // A server that kept running would write rows after they were copied.
  const held = holdDataDir(config.dataDir);
  try {
    await withStorage({ file, busyTimeoutMs }, (source) =>
      withStorage({ url, busyTimeoutMs, maxConnections: 4 }, (target) =>
        work({ config, file, source, target, targetName: nameOf(url) }),
      ),
    );
  } finally {
    await held.close();
  }
}

async function withStorage(
  options: Parameters<typeof openStorage>[0],
  work: (storage: Storage) => Promise<void>,
): Promise<void> {
  const storage = await openStorage(options);
  try {
    await storage.migrate(refuseUpdate);
    await work(storage);
  } finally {
    await storage.close();
  }
}

async function openAudit(config: Config, storage: Storage): Promise<Audit> {
  const vault = await openVault({ storage, ...loadMasterKeys(config.vault, false), clock: systemClock });
  return createAudit({ storage, vault, clock: systemClock, log: silentLog });
}

async function verifyAudit(context: CliContext, config: Config, storage: Storage): Promise<void> {
  const audit = await openAudit(config, storage);
  try {
    const result = await audit.verifyChain(await readCheckpointFile(config.audit.checkpointFile));
    context.print(`audit chain: ${result.eventCount} events, last hash ${result.lastHash ?? 'none'}`);
  } finally {
    await audit.close();
  }
}

function printCopied(context: CliContext, { name, rowCount, hash }: CopiedTable): void {
  context.print(toRow([name, rowCount, hash]));
}

function countRows(tables: readonly CopiedTable[]): number {
  return tables.reduce((sum, { rowCount }) => sum + rowCount, 0);
}

/** Host and database of an address, for people; openStorage has refused invalid addresses. */
function nameOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}
