import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { quoteForShell } from '../../core/index.ts';
import path from 'node:path';
import {
  copiedMark,
  hasSchema,
  loadConfig,
  PlatformError,
  readJsonFile,
  type Config,
} from '../../platform/index.ts';

/** Options of the command line that select the installation. Both take precedence over the environment. */
export interface NamedInstallation {
  /** `--data-dir` */
  readonly dataDir?: string;
  /** `--config` */
  readonly config?: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The configuration of the installation that is named: its folder by `--data-dir`, `OPENHISP_DATA_DIR` or
 * `dataDir` of the configuration file; the file by `--config`, `OPENHISP_CONFIG` or `config.json` in that
 * folder. There is no default. Throws PLATFORM_INSTALLATION_UNNAMED.
 */
export function loadNamedConfig(env: Environment, named: NamedInstallation): Config {
  const file = named.config ?? textOf(env['OPENHISP_CONFIG']);
  const dataDir = named.dataDir ?? textOf(env['OPENHISP_DATA_DIR']) ?? readDataDir(file);
  if (dataDir === undefined)
    throw new PlatformError(
      'PLATFORM_INSTALLATION_UNNAMED',
      'No installation is named. Add --data-dir FOLDER, or set OPENHISP_DATA_DIR, or name a configuration file that ' +
        'contains dataDir (--config FILE or OPENHISP_CONFIG). "openhisp init --data-dir FOLDER" creates an installation; ' +
        "the folder of the sandbox's HISP is dataDir in data/sandbox/credentials.json.",
    );
  const usual = path.join(dataDir, 'config.json');
  return loadConfig(env, file ?? (existsSync(usual) ? usual : undefined), { dataDir });
}

/** Throws PLATFORM_INSTALLATION_MISSING unless `init` (or a server) has created this installation. */
export function requireInstallation(config: Config): void {
  refuseCopied(config);
  if (isInstalled(config)) return refuseForeign(config);
  refuseUnreadable(config.dataDir);
  throw new PlatformError(
    'PLATFORM_INSTALLATION_MISSING',
    `There is no installation in ${config.dataDir}. Name the right folder, or create one there: ` +
      `openhisp init --data-dir ${quoteForShell(config.dataDir)}`,
  );
}

/**
 * After the move to PostgreSQL the file is an old state: a server on it would send its queue a second time,
 * and what a command changes there would be lost. A shell without OPENHISP_STORAGE_URL is enough for that.
 * Throws PLATFORM_INSTALLATION_MISSING.
 */
function refuseCopied({ storage: { file, url } }: Config): void {
  const mark = copiedMark(file);
  if (url !== undefined || !existsSync(mark)) return;
  throw new PlatformError(
    'PLATFORM_INSTALLATION_MISSING',
    `${file} was copied to ${readFileSync(mark, 'utf8').trim()}. Set OPENHISP_STORAGE_URL to that database. ` +
      `To go back to the file, without what was stored since: delete ${mark}`,
  );
}

/**
 * A backup that was cut to nothing on its way, or another program's file, would become a new installation:
 * the check after a restore would find it whole, and the server would know no address. Throws
 * PLATFORM_INSTALLATION_MISSING.
 */
function refuseForeign({ dataDir, storage: { file, url } }: Config): void {
  if (url !== undefined || hasSchema(file)) return;
  throw new PlatformError(
    'PLATFORM_INSTALLATION_MISSING',
    `${file} contains no installation: it is empty, or not a database of openhisp. Restore a backup, or move the file away and create ` +
      `an installation: openhisp init --data-dir ${quoteForShell(dataDir)}`,
  );
}

/**
 * A folder that this user may not enter looks empty: whether it contains an installation is unknown, and none
 * must be created there.
 */
export function refuseUnreadable(dataDir: string): void {
  if (existsSync(dataDir)) accessSync(`${dataDir}${path.sep}`, constants.X_OK);
}

/**
 * True if the installation's database file exists (with PostgreSQL the one that is copied there, too) or this
 * node's own files. The master key is none of them: it is put into the folder of a further node before
 * `init`.
 */
export function isInstalled({ storage, dataDir }: Config): boolean {
  if (existsSync(storage.file)) return true;
  return (
    storage.url !== undefined && ['node-id', 'directory'].some((name) => existsSync(path.join(dataDir, name)))
  );
}

/**
 * `dataDir` of a configuration file, relative to the file's folder. A file that cannot be read is reported by
 * loadConfig.
 */
function readDataDir(file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  try {
    const { dataDir } = readJsonFile(file) as { dataDir?: unknown };
    return typeof dataDir === 'string' ? path.resolve(path.dirname(file), dataDir) : undefined;
  } catch {
    return path.dirname(file);
  }
}

function textOf(value: string | undefined): string | undefined {
  return value === '' ? undefined : value;
}
