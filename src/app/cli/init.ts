import { mkdirSync, rmSync } from 'node:fs';
import type { Command } from 'commander';
import { silentLog, systemClock } from '../../core/index.ts';
import { nodeId, PlatformError, type Config } from '../../platform/index.ts';
import { createAudit } from '../../service/audit/index.ts';
import type { CliContext } from './context.ts';
import { isInstalled } from './find-installation.ts';

/** Adds `init`, the only command that creates an installation. */
export function addInitCommand(init: Command, context: CliContext): void {
  init
    .option('--exist-ok', 'succeed without a change if the installation exists')
    .action(async (options: { existOk?: true }) => {
      const config = await context.loadConfig();
      if (!isInstalled(config)) await createInstallation(context, config);
      else if (options.existOk !== true)
        throw new PlatformError(
          'PLATFORM_INSTALLATION_EXISTS',
          `An installation already exists in ${config.dataDir}. It was not changed.`,
        );
      context.print(config.dataDir);
    });
}

/** The database is deleted if a later step fails, so that the command can be repeated. */
async function createInstallation(context: CliContext, config: Config): Promise<void> {
  mkdirSync(config.dataDir, { recursive: true, mode: 0o700 });
  try {
    const { storage, vault, close } = await context.openDatabase(config);
    try {
      nodeId(config.dataDir);
      const audit = createAudit({ storage, vault, clock: systemClock, log: silentLog });
      await audit.recordNow({ action: 'installation.create', actor: 'operator', outcome: 'ok' });
      await audit.close();
    } finally {
      await close();
    }
  } catch (error) {
    if (config.storage.url === undefined)
      for (const suffix of ['', '-wal', '-shm']) rmSync(`${config.storage.file}${suffix}`, { force: true });
    throw error;
  }
  if (config.vault.masterKey === undefined)
    context.note(
      `Keep a copy of ${config.vault.masterKeyFile} where the backups are not: nothing can be read without it.`,
    );
  context.note(
    'Next: openhisp domain add DOMAIN, key import, anchor add; docs/installation.md has every step.',
  );
}
