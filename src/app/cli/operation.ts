import type { Command } from 'commander';
import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { silentLog, systemClock } from '../../core/index.ts';
import {
  holdFile,
  loadMasterKey,
  loadMasterKeys,
  masterKeyId,
  openStorage,
  openVault,
  PlatformError,
  type Config,
  type MasterKey,
  type StoredVault,
} from '../../platform/index.ts';
import {
  createAudit,
  readCheckpointFile,
  type AuditOutcome,
  type VerifiedChain,
} from '../../service/audit/index.ts';
import type { CliContext } from './context.ts';
import { describeError, UsageError } from './describe-error.ts';
import { withInstallation, type AuditedInstallation } from './with-installation.ts';

/** Adds `backup`: a copy of the database while the service runs. */
export function addBackupCommand(backup: Command, context: CliContext): void {
  backup.action(async (file: string) => {
    if (file === '') throw new UsageError('Name the file to write: openhisp backup FILE');
    await withInstallation(context, async ({ config, storage, audit }) => {
      const record = (action: string, outcome: AuditOutcome): Promise<void> =>
        audit.recordNow({ action, actor: 'operator', outcome });
      // Written first, to be part of the copy.
      await record('backup.begin', 'ok');
      const result = await writeAlone(context, config, () => writeCopy(file, { config, storage })).catch(
        async (error: unknown) => {
          await record('backup.write', 'failed').catch((second: unknown) =>
            context.note(`The failure could not be recorded in the audit trail: ${describeError(second)}`),
          );
          throw error;
        },
      );
      context.print(`${file}: ${result.eventCount} audit events, last hash ${result.lastHash}`);
      context.note(
        'The copy was opened and checked. It does not contain the master key: keep that separately.',
      );
      await record('backup.write', 'ok');
    });
  });
}

/**
 * Two commands that wrote the same partial copy would destroy each other's. The lock ends with its process.
 */
async function writeAlone(
  { note }: CliContext,
  { dataDir }: Config,
  write: () => Promise<VerifiedChain>,
): Promise<VerifiedChain> {
  const lock = path.join(dataDir, 'backup.lock');
  let held = holdFile(lock);
  if (held === undefined) note('Waiting for another backup of this installation to end.');
  while (held === undefined) {
    await sleep(200);
    held = holdFile(lock);
  }
  try {
    return await write();
  } finally {
    await held.close();
  }
}

async function writeCopy(
  file: string,
  { config, storage }: Pick<AuditedInstallation, 'config' | 'storage'>,
): Promise<VerifiedChain> {
  if (existsSync(file))
    throw Object.assign(new Error(`EEXIST: file already exists, '${file}'`), { code: 'EEXIST', path: file });
  // A command that is killed must leave no file that passes for a backup. What it leaves is written anew.
  const partial = `${file}.partial`;
  await removeCopy(partial);
  try {
    await storage.backup(partial);
    const result = await verifyCopy(partial, config);
    await rename(partial, file);
    return result;
  } finally {
    await removeCopy(partial);
  }
}

async function removeCopy(file: string): Promise<void> {
  for (const suffix of ['', '-journal', '-wal', '-shm']) await rm(`${file}${suffix}`, { force: true });
}

/** Opens the copy by itself, has the database check it, and verifies the audit chain. */
async function verifyCopy(file: string, config: Config): Promise<VerifiedChain> {
  const copy = await openStorage({ file });
  try {
    await copy.verify();
    const vault = await openVault({
      storage: copy,
      ...loadMasterKeys(config.vault, false),
      clock: systemClock,
    });
    const audit = createAudit({ storage: copy, vault, clock: systemClock, log: silentLog });
    try {
      return await audit.verifyChain(await readCheckpointFile(config.audit.checkpointFile));
    } finally {
      await audit.close();
    }
  } finally {
    await copy.close();
  }
}

/** Adds `vault`: the keys that encrypt stored data. */
export function addVaultCommands(vault: Command, context: CliContext): void {
  vault
    .command('rotate-data-key')
    .description('create a new data key; data encrypted with older keys stays readable')
    .action(() =>
      withVault(context, async ({ vault: opened, audit }) => {
        const dataKey = await opened.rotateDataKey();
        await audit.recordNow({
          action: 'vault.rotate-data-key',
          actor: 'operator',
          outcome: 'ok',
          objects: { dataKey },
        });
        context.print(`data key ${dataKey}`);
      }),
    );
  vault
    .command('change-master-key <newKeyFile>')
    .description('wrap all data keys with the key in another file, which is created if missing')
    .action((file: string) =>
      withVault(context, async ({ vault: opened, audit, config }) => {
        const key = loadMasterKey({ file, createsFile: true, setting: 'The new key file' });
        refuseSameKey(config, key, file);
        const masterKey = masterKeyId(key);
        const count = await opened.rewrap(key);
        await audit.recordNow({
          action: 'vault.change-master-key',
          actor: 'operator',
          outcome: 'ok',
          objects: { masterKey, count },
        });
        context.print(`${count} data keys are now under master key ${masterKey}`);
        const unset = config.vault.masterKey === undefined ? '' : ', unset OPENHISP_VAULT_MASTER_KEY';
        context.note(
          `Set OPENHISP_VAULT_MASTER_KEY_FILE to the new file${unset} now, and restart the server: commands, backups and scheduled loads need the new key already. Backups that were made until now need the old key: destroy it when they are deleted.`,
        );
      }),
    );
}

/**
 * Later the old key is destroyed, which would be the only one. With a second key configured, the data keys
 * may still be under that.
 */
function refuseSameKey({ vault }: Config, key: MasterKey, file: string): void {
  if (vault.previousMasterKeyFile !== undefined) return;
  if (masterKeyId(loadMasterKeys(vault, false).masterKey) !== masterKeyId(key)) return;
  throw new PlatformError(
    'PLATFORM_MASTER_KEY_INVALID',
    `${file} contains the master key that is in use. Name a new file; it is created with a new key.`,
  );
}

interface OpenedVault extends AuditedInstallation {
  readonly vault: StoredVault;
}

async function withVault(context: CliContext, work: (opened: OpenedVault) => Promise<void>): Promise<void> {
  await withInstallation(context, async (installation) => {
    const { storage, config } = installation;
    const keys = loadMasterKeys(config.vault, false);
    await work({ ...installation, vault: await openVault({ storage, ...keys, clock: systemClock }) });
  });
}
