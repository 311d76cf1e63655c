import {
  type Closable,
  errorText,
  escapeHidden,
  loginName,
  silentLog,
  systemClock,
} from '../../core/index.ts';
import type { Config, Storage, Vault } from '../../platform/index.ts';
import type { AuditOrigin } from '../../service/audit/index.ts';
import { UsageError } from './describe-error.ts';
import type { NamedInstallation } from './find-installation.ts';

// Loaded with the installation: help and the version need neither settings nor a database.
const loadFinder = () => import('./find-installation.ts');

/** Context of a command: output streams, and the installation. */
export interface CliContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  /**
   * Results for people or programs, on standard output. Here and in `note`, characters that a terminal obeys
   * or that hide text are escaped. Text of others within a line goes through `toRow` or `oneLine` first.
   */
  print(text: string): void;
  /** Progress and warnings, on standard error. */
  note(text: string): void;
  /** True if standard output is closed, as after `| head`: the remaining output may be omitted. */
  isOutputClosed(): boolean;
  /** True if standard error is a terminal, so that a progress bar may redraw its line. */
  readonly isTerminal: boolean;
  /** Sets the exit code; the process ends when its work is done. */
  setExitCode(code: number): void;
  /** The exit code if standard output cannot be written; 1 by default. */
  setLossExitCode(code: number): void;
  /** The caller for the audit trail: `operator:NAME`. Throws a UsageError for an invalid name. */
  actor(): string;
  /** Where the caller's changes come from: this system's login, and whether the name was only claimed. */
  origin(): AuditOrigin;
  /** The name given with `--as`. */
  setOperator(name: string): void;
  /**
   * The configuration of the installation that is named, which need not exist. Throws
   * PLATFORM_INSTALLATION_UNNAMED.
   */
  loadConfig(): Promise<Config>;
  /**
   * The same of one that exists, after saying which on standard error. Throws PLATFORM_INSTALLATION_MISSING.
   */
  findInstallation(): Promise<Config>;
  /**
   * Opens the database of the installation that is named. Its schema must be of this version. The caller
   * closes it.
   */
  openInstallation(): Promise<Installation>;
  /** The same of any database, which is created if it does not exist. */
  openDatabase(config: Config): Promise<Installation>;
}

export interface Installation extends Closable {
  readonly config: Config;
  readonly storage: Storage;
  readonly vault: Vault;
}

/** The prefix keeps an operator apart from a client of the same name. */
function actorOf(name: string): string {
  if (/^[\p{L}\p{N}][\p{L}\p{N} ._@+\\-]{0,79}$/u.test(name)) return `operator:${name}`;
  throw new UsageError(
    '--as, OPENHISP_OPERATOR: not a name of 1 to 80 letters, digits, blanks and . _ @ + - that begins with a letter or digit.',
  );
}

interface OutputStream {
  write(text: string): unknown;
  on?(event: 'error', listener: (error: Error) => void): unknown;
}

export interface CliProcess {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream & { readonly isTTY?: boolean };
  exitCode?: number | string | null | undefined;
}

/** The context of one run of the command line. `named` may be filled in until the command runs. */
export function createCliContext(process: CliProcess, named: NamedInstallation = {}): CliContext {
  const { env } = process;
  let isOutputClosed = false;
  const note = (text: string): void => void process.stderr.write(`${escapeHidden(text)}\n`);
  let lossExitCode = 1;
  process.stdout.on?.('error', (error) => {
    // A server's log causes an error for each line.
    const isFirst = !isOutputClosed;
    isOutputClosed = true;
    // Its reader has what it wants, as `head`.
    if ('code' in error && error.code === 'EPIPE') return;
    process.exitCode = lossExitCode;
    if (isFirst) note(`Standard output cannot be written, and lines are lost: ${errorText(error)}`);
  });
  // Without a reader of its notes (2>&1 | head), or with its log on a full disk, a load or a server goes on.
  process.stderr.on?.('error', () => {});

  let given: string | undefined;

  async function findInstallation(): Promise<Config> {
    const { loadNamedConfig, requireInstallation } = await loadFinder();
    const config = loadNamedConfig(env, named);
    requireInstallation(config);
    note(`Installation: ${config.dataDir}`);
    return config;
  }

  async function begin(opened: Omit<Installation, 'close'>): Promise<void> {
    const { createAudit } = await import('../../service/audit/index.ts');
    const audit = createAudit({ ...opened, clock: systemClock, log: silentLog });
    try {
      if (await audit.hasBegun()) return;
      // Imported only when needed: it loads many modules, and this is done once per installation.
      const { beginInstallationIntegrity } = await import('../server/index.ts');
      await beginInstallationIntegrity({ ...opened, audit });
    } finally {
      await audit.close();
    }
  }

  async function openDatabase(config: Config): Promise<Installation> {
    const { hasDataKeys, loadMasterKeys, openStorage, openVault, refuseUncopied, refuseUpdate } =
      await import('../../platform/index.ts');
    const storage = await openStorage({ ...config.storage, onProblem: (text) => note(`storage: ${text}`) });
    try {
      await storage.migrate(refuseUpdate);
      await refuseUncopied(config.storage, storage);
      const vault = await openVault({
        storage,
        ...loadMasterKeys(config.vault, !(await hasDataKeys(storage))),
        clock: systemClock,
      });
      await begin({ config, storage, vault });
      return { config, storage, vault, close: () => storage.close() };
    } catch (error) {
      await storage.close();
      throw error;
    }
  }

  return {
    env,
    print(text) {
      if (!isOutputClosed) process.stdout.write(`${escapeHidden(text)}\n`);
    },
    note,
    isOutputClosed: () => isOutputClosed,
    isTerminal: process.stderr.isTTY === true,
    setExitCode: (code) => {
      process.exitCode = code;
    },
    setLossExitCode: (code) => {
      lossExitCode = code;
    },
    actor: () => actorOf(given ?? env['OPENHISP_OPERATOR'] ?? loginName()),
    origin() {
      const login = loginName();
      const claimed = given ?? env['OPENHISP_OPERATOR'];
      return { channel: 'command', login, isClaimed: claimed !== undefined && claimed !== login };
    },
    setOperator: (name) => {
      given = name;
    },
    loadConfig: async () => (await loadFinder()).loadNamedConfig(env, named),
    findInstallation,
    openInstallation: async () => openDatabase(await findInstallation()),
    openDatabase,
  };
}
