import { systemClock, type Closable } from '../../core/index.ts';
import {
  hasDataKeys,
  loadMasterKey,
  openStorage,
  openVault,
  type Config,
  type Storage,
  type Vault,
} from '../../platform/index.ts';
import { loadNamedConfig, requireInstallation, type NamedInstallation } from './find-installation.ts';

/** What a command gets: where to write, and the installation it works on. */
export interface CliContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Results for people or programs, on standard output. */
  print(text: string): void;
  /** Progress and warnings, on standard error. */
  note(text: string): void;
  /** True if nobody reads standard output any more, as after `| head`: what is still to be printed may be left out. */
  isOutputClosed(): boolean;
  /** True if standard error is a terminal, so that a progress bar may redraw its line. */
  readonly isTerminal: boolean;
  /** Sets the exit code; the process ends when its work is done. */
  setExitCode(code: number): void;
  /** The configuration of the installation that is named, which need not exist. Throws PLATFORM_INSTALLATION_UNNAMED. */
  loadConfig(): Promise<Config>;
  /** The same of one that exists, after saying which on standard error. Throws PLATFORM_INSTALLATION_MISSING. */
  findInstallation(): Promise<Config>;
  /** Opens the database of the installation that is named, migrated. The caller closes it. */
  openInstallation(): Promise<Installation>;
  /** Opens a database, migrated, and creates it if it does not exist. The caller closes it. */
  openDatabase(config: Config): Promise<Installation>;
}

export interface Installation extends Closable {
  readonly config: Config;
  readonly storage: Storage;
  readonly vault: Vault;
}

export interface CliProcess {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: {
    write(text: string): unknown;
    on?(event: 'error', listener: (error: Error) => void): unknown;
  };
  readonly stderr: { write(text: string): unknown; readonly isTTY?: boolean };
  exitCode?: number | string | null | undefined;
}

/** The context of one run of the command line. `named` may be filled in until the command runs. */
export function createCliContext(process: CliProcess, named: NamedInstallation = {}): CliContext {
  const { env } = process;
  let isOutputClosed = false;
  process.stdout.on?.('error', (error) => {
    if (!('code' in error) || error.code !== 'EPIPE') throw error;
    isOutputClosed = true;
  });
  const note = (text: string): void => void process.stderr.write(`${text}\n`);

  async function findInstallation(): Promise<Config> {
    const config = loadNamedConfig(env, named);
    requireInstallation(config);
    note(`Installation: ${config.dataDir}`);
    return config;
  }

  async function openDatabase(config: Config): Promise<Installation> {
    const storage = await openStorage(config.storage);
    try {
      await storage.migrate();
      const vault = await openVault({
        storage,
        masterKey: loadMasterKey({
          base64: config.vault.masterKey,
          file: config.vault.masterKeyFile,
          createsFile: !(await hasDataKeys(storage)),
        }),
        clock: systemClock,
      });
      return { config, storage, vault, close: () => storage.close() };
    } catch (error) {
      await storage.close();
      throw error;
    }
  }

  return {
    env,
    print(text) {
      if (!isOutputClosed) process.stdout.write(`${text}\n`);
    },
    note,
    isOutputClosed: () => isOutputClosed,
    isTerminal: process.stderr.isTTY === true,
    setExitCode: (code) => {
      process.exitCode = code;
    },
    loadConfig: async () => loadNamedConfig(env, named),
    findInstallation,
    openInstallation: async () => openDatabase(await findInstallation()),
    openDatabase,
  };
}
