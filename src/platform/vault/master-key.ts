import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { decodeBase64Strict, fileErrorText } from '../../core/index.ts';
import { PlatformError } from '../errors.ts';

declare const brand: unique symbol;
/** 32 bytes that come from outside the database (SEC-06). */
export type MasterKey = Uint8Array & { readonly [brand]: 'MasterKey' };

export interface MasterKeySource {
  /** Base64 of 32 bytes, from the environment. Wins over the file. */
  readonly base64?: string | undefined;
  /** A file that holds the same, readable by its owner alone. */
  readonly file?: string | undefined;
  /** Make the file if it is missing; otherwise a missing file is an error. */
  readonly createsFile?: boolean | undefined;
  /** The setting that names the file, for errors. */
  readonly setting?: string;
}

/** Throws PLATFORM_MASTER_KEY_INVALID or PLATFORM_KEY_FILE_UNUSABLE; the key itself is in no message. */
export function loadMasterKey(source: MasterKeySource): MasterKey {
  if (source.base64 !== undefined) return parseMasterKey(source.base64, 'vault.masterKey');
  if (source.file === undefined) {
    throw new PlatformError(
      'PLATFORM_MASTER_KEY_INVALID',
      'no master key: set OPENHISP_VAULT_MASTER_KEY or OPENHISP_VAULT_MASTER_KEY_FILE',
    );
  }
  const { file, setting = 'key file' } = source;
  if (source.createsFile === true) createKeyFile(file, setting);
  return parseMasterKey(readKeyFile(file, setting), `${setting}: ${file}`);
}

export interface MasterKeySettings {
  readonly masterKey?: string | undefined;
  readonly masterKeyFile?: string | undefined;
  readonly previousMasterKeyFile?: string | undefined;
}

/** The keys of the settings, as `openVault` takes them. Throws like {@link loadMasterKey}. */
export function loadMasterKeys(
  settings: MasterKeySettings,
  createsFile: boolean,
): { readonly masterKey: MasterKey; readonly previousMasterKey?: MasterKey } {
  const { previousMasterKeyFile: previous } = settings;
  const masterKey = loadMasterKey({
    base64: settings.masterKey,
    file: settings.masterKeyFile,
    createsFile,
    setting: 'vault.masterKeyFile',
  });
  return previous === undefined
    ? { masterKey }
    : {
        masterKey,
        previousMasterKey: loadMasterKey({ file: previous, setting: 'vault.previousMasterKeyFile' }),
      };
}

export function parseMasterKey(text: string, origin?: string): MasterKey {
  const bytes = decodeBase64Strict(text.trim());
  if (bytes?.length === 32) return bytes as Uint8Array as MasterKey;
  const place = origin === undefined ? '' : `${origin}: `;
  throw new PlatformError(
    'PLATFORM_MASTER_KEY_INVALID',
    `${place}the master key is not the base64 of 32 bytes`,
  );
}

/** Names a master key without telling anything about it. */
export function masterKeyId(key: MasterKey): string {
  return createHash('sha256').update('openhisp master key id').update(key).digest('hex').slice(0, 16);
}

function createKeyFile(file: string, setting: string): void {
  try {
    writeFileSync(file, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600, flag: 'wx', flush: true });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return;
    throw new PlatformError(
      'PLATFORM_KEY_FILE_UNUSABLE',
      `${setting}: cannot create ${file}: ${fileErrorText(error)}`,
      {
        cause: error,
      },
    );
  }
}

function readKeyFile(file: string, setting: string): string {
  try {
    if ((statSync(file).mode & 0o077) === 0) return readFileSync(file, 'utf8');
  } catch (error) {
    throw new PlatformError(
      'PLATFORM_KEY_FILE_UNUSABLE',
      `${setting}: cannot read ${file}. Put the master key of this database there, or name its file.`,
      { cause: error },
    );
  }
  throw new PlatformError(
    'PLATFORM_KEY_FILE_UNUSABLE',
    `${setting}: ${file} is open to others; its mode must be 0600.`,
  );
}
