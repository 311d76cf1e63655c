/**
 * The script of a separate process: one load or rollback of the directory, while a server works with the same
 * database.
 */
import { systemClock } from '../../core/index.ts';
import { loadBuiltInGazetteer } from '../../lib/geo/index.ts';
import {
  createLog,
  loadMasterKeys,
  openStorage,
  openVault,
  type Config,
  type StorageOptions,
} from '../../platform/index.ts';
import { createAudit } from '../../service/audit/index.ts';
import { serveJobs } from '../../service/directory/index.ts';
import { createReleaseOpener } from './open-releases.ts';

/** The part of a server's configuration that this process needs. */
export interface DirectoryProcessConfig extends Pick<Config, 'vault' | 'directory' | 'admission'> {
  readonly storage: StorageOptions;
}

serveJobs(async (config: DirectoryProcessConfig) => {
  // The server has brought the schema up to date, and has made the keys.
  const storage = await openStorage(config.storage);
  const log = createLog({ level: 'warn', write: (line) => void process.stderr.write(line) });
  const clock = systemClock;
  const vault = await openVault({ storage, ...loadMasterKeys(config.vault, false), clock });
  const audit = createAudit({ storage, vault, clock, log });
  return {
    storage,
    clock,
    log,
    audit,
    gazetteer: loadBuiltInGazetteer(),
    snapshotDir: config.directory.snapshotDir,
    releases: createReleaseOpener(config),
    async close() {
      await audit.close();
      await storage.close();
    },
  };
});
