import { existsSync } from 'node:fs';
import path from 'node:path';
import { systemClock, type Closable } from '../../core/index.ts';
import {
  hasDataKeys,
  loadConfig,
  loadMasterKeys,
  openStorage,
  openVault,
  type Config,
  type Storage,
  type Vault,
} from '../../platform/index.ts';

/** What a command gets: where to write, and the installation it works on. */
export interface CliContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Results for people or programs, on standard output. */
  print(text: string): void;
  /** Progress and warnings, on standard error. */
  note(text: string): void;
  /** True if standard error is a terminal, so that a progress bar may redraw its line. */
  readonly isTerminal: boolean;
  /** Sets the exit code; the process ends when its work is done. */
  setExitCode(code: number): void;
  /** The configuration of the installation that commands work on (see {@link findDataDir}). */
  loadConfig(): Promise<Config>;
  /** Opens the installation's database, migrated. The caller closes it. */
  openInstallation(): Promise<Installation>;
}

export interface Installation extends Closable {
  readonly config: Config;
  readonly storage: Storage;
  readonly vault: Vault;
}

/**
 * The folder of the installation that a command works on: `OPENHISP_DATA_DIR` or `DATA_DIR/hisp` if either is there,
 * else the sandbox's own HISP under `DATA_DIR/sandbox/hisp`. `DATA_DIR` defaults to `data`.
 */
function findDataDir(env: Readonly<Record<string, string | undefined>>): string {
  const base = env['DATA_DIR'] ?? 'data';
  const production = env['OPENHISP_DATA_DIR'] ?? path.join(base, 'hisp');
  const sandbox = path.join(base, 'sandbox', 'hisp');
  return !existsSync(production) && existsSync(sandbox) ? sandbox : production;
}

export interface CliProcess {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown; readonly isTTY?: boolean };
  exitCode?: number | string | null | undefined;
}

/** The context of one run of the command line. */
export function createCliContext(process: CliProcess): CliContext {
  const { env } = process;

  async function readConfig(): Promise<Config> {
    const dataDir = findDataDir(env);
    const file = env['OPENHISP_CONFIG'] ?? path.join(dataDir, 'config.json');
    return loadConfig(env, existsSync(file) ? file : undefined, { dataDir });
  }

  async function openInstallation(): Promise<Installation> {
    const config = await readConfig();
    const storage = await openStorage(config.storage);
    try {
      await storage.migrate();
      const vault = await openVault({
        storage,
        ...loadMasterKeys(config.vault, !(await hasDataKeys(storage))),
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
    print: (text) => void process.stdout.write(`${text}\n`),
    note: (text) => void process.stderr.write(`${text}\n`),
    isTerminal: process.stderr.isTTY === true,
    setExitCode: (code) => {
      process.exitCode = code;
    },
    loadConfig: readConfig,
    openInstallation,
  };
}
