import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { fileErrorText } from '../../core/index.ts';
import { invalidConfig } from './invalid-config.ts';

/**
 * The result of `use` for the file that a setting names. Throws PLATFORM_CONFIG_INVALID with the setting's
 * name when the file cannot be read, or when `use` throws.
 */
export function useConfiguredFile<Result>(
  setting: string,
  file: string,
  use: (bytes: Buffer) => Result,
): Result {
  try {
    return use(readFileSync(file));
  } catch (error) {
    throw invalidConfig([
      {
        field: setting,
        reason: 'invalid',
        detail: `${setting}: ${file} cannot be used: ${fileErrorText(error)}`,
      },
    ]);
  }
}

/** The secret on the first line of the file that a setting names. Throws as {@link useConfiguredFile}. */
export function readSecretFile(setting: string, file: string): string {
  return useConfiguredFile(setting, file, (bytes) => {
    const [line = ''] = bytes.toString().split(/\r?\n/, 1);
    if (line === '') throw new Error('the first line is empty');
    return line;
  });
}

/** A private key and its certificate, as PEM. */
export interface TlsFiles {
  readonly key: Buffer;
  readonly cert: Buffer;
}

/**
 * The key and the certificate that `<section>.tlsKeyFile` and `<section>.tlsCertificateFile` name; undefined
 * without them. Throws PLATFORM_CONFIG_INVALID if one cannot be read or they do not belong together.
 */
export function readTlsFiles(
  section: string,
  {
    tlsKeyFile,
    tlsCertificateFile,
  }: { readonly tlsKeyFile?: string | undefined; readonly tlsCertificateFile?: string | undefined },
): TlsFiles | undefined {
  if (tlsKeyFile === undefined || tlsCertificateFile === undefined) return undefined;
  const key = useConfiguredFile(`${section}.tlsKeyFile`, tlsKeyFile, (bytes) => {
    createSecureContext({ key: bytes });
    return bytes;
  });
  return useConfiguredFile(`${section}.tlsCertificateFile`, tlsCertificateFile, (cert) => {
    requirePair(key, cert, `${section}.tlsKeyFile`);
    return { key, cert };
  });
}

function requirePair(key: Buffer, cert: Buffer, keySetting: string): void {
  try {
    createSecureContext({ key, cert });
  } catch (error) {
    const isMismatch =
      error instanceof Error && 'code' in error && error.code === 'ERR_OSSL_X509_KEY_VALUES_MISMATCH';
    if (!isMismatch) throw error;
    throw new Error(`its first certificate does not belong to the key of ${keySetting}`, { cause: error });
  }
}
