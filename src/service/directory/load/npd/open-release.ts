/**
 * Releases of the national directory (FHIR): fetching, reading in passes within bounded memory, records.
 * Used by `service/directory`: `load` and `jobs`.
 * Begin with this file, then `read-release.ts` and `passes.ts`.
 */
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { DirectoryError } from '../../errors.ts';
import {
  maxManifestBytes,
  neededResources,
  parseManifest,
  type Manifest,
  type NpdResource,
} from './manifest.ts';

/** A release whose files are on this machine, complete by their sizes. */
export interface Release {
  readonly manifest: Manifest;
  readonly files: Readonly<Record<NpdResource, ReleaseFile>>;
  /** Folder for scratch files. */
  readonly scratchDir: string;
  /** Reads the manifest again. Throws DIRECTORY_RELEASE_CHANGED if it is another one. */
  verifyUnchanged(): Promise<void>;
  /** Removes the downloaded files. */
  close(): Promise<void>;
}

export interface ReleaseFile {
  readonly path: string;
  /** Bytes on disk. */
  readonly sizeBytes: number;
}

export const manifestName = 'manifest.json';

/** True for the URL of a manifest; anything else is a file or folder. */
export function isUrl(source: string): boolean {
  return /^https?:\/\//i.test(source);
}

/**
 * Opens a release in a folder, which holds `manifest.json` and the needed files, as they were published or
 * unpacked. Throws DIRECTORY_FILE_UNREADABLE, DIRECTORY_RELEASE_INVALID, DIRECTORY_RELEASE_PARTIAL.
 */
export async function openReleaseFolder(folder: string, scratchDir: string): Promise<Release> {
  const read = (): Promise<Buffer> => readManifest(path.join(folder, manifestName));
  const manifest = parseManifest(await read());
  const files: Partial<Record<NpdResource, ReleaseFile>> = {};
  for (const resource of neededResources) files[resource] = await findFile(folder, manifest, resource);
  return {
    manifest,
    files: files as Record<NpdResource, ReleaseFile>,
    scratchDir,
    verifyUnchanged: async () => requireSame(manifest, await read()),
    close: async () => {},
  };
}

export function requireSame(manifest: Manifest, bytes: Uint8Array): void {
  const again = parseManifest(bytes);
  if (again.digest === manifest.digest) return;
  throw new DirectoryError(
    'DIRECTORY_RELEASE_CHANGED',
    `The manifest has changed meanwhile (was of ${manifest.generatedAt}, is of ${again.generatedAt}); import again`,
  );
}

async function readManifest(file: string): Promise<Buffer> {
  try {
    const { size } = await stat(file);
    if (size <= maxManifestBytes) return await readFile(file);
  } catch (cause) {
    throw new DirectoryError(
      'DIRECTORY_FILE_UNREADABLE',
      `${manifestName} cannot be read; a release is a folder with its manifest and its files`,
      { cause },
    );
  }
  throw new DirectoryError(
    'DIRECTORY_RELEASE_INVALID',
    `${manifestName} has more than ${maxManifestBytes} bytes`,
  );
}

// An operator may have unpacked or repacked the files; their first bytes show the format.
const endings = ['.zst', '.gz', ''];

async function findFile(folder: string, manifest: Manifest, resource: NpdResource): Promise<ReleaseFile> {
  const { key, compressedBytes, originalBytes } = manifest.files[resource];
  for (const ending of endings) {
    const file = path.join(folder, key + ending);
    const size = await sizeOf(file);
    if (size === undefined) continue;
    const expected =
      ending === ''
        ? [originalBytes, compressedBytes]
        : ending === endingOf(manifest)
          ? [compressedBytes]
          : undefined;
    if (expected !== undefined && !expected.includes(size))
      throw wrongSize(key + ending, size, expected[0] ?? 0);
    return { path: file, sizeBytes: size };
  }
  throw new DirectoryError('DIRECTORY_RELEASE_PARTIAL', `${key} is missing, also as .zst and .gz`);
}

/** Suffix that is appended to a key to form the name of the published file. */
export function endingOf({ compression }: Manifest): string {
  return compression === 'zstd' ? '.zst' : compression === 'gzip' ? '.gz' : '';
}

function wrongSize(name: string, size: number, expected: number): DirectoryError {
  return new DirectoryError(
    'DIRECTORY_RELEASE_PARTIAL',
    `${name} has ${size} bytes; the manifest says ${expected}`,
  );
}

async function sizeOf(file: string): Promise<number | undefined> {
  try {
    const found = await stat(file);
    return found.isFile() ? found.size : undefined;
  } catch {
    return undefined;
  }
}
