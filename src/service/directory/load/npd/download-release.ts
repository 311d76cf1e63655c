import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { holdFile } from '../../../../platform/index.ts';
import type { GuardedDownload } from '../../../../lib/fetch/index.ts';
import { DirectoryError } from '../../errors.ts';
import { requireFreeDisk } from '../../require-free-disk.ts';
import type { ProgressListener } from '../progress.ts';
import {
  downloadFile,
  leftoversOf,
  refusedStatus,
  usualPatience,
  withPatience,
  type DownloadPatience,
} from './download-file.ts';
import {
  maxManifestBytes,
  neededResources,
  parseManifest,
  type Manifest,
  type NpdResource,
} from './manifest.ts';
import {
  endingOf,
  isUrl,
  openReleaseFolder,
  requireSame,
  type Release,
  type ReleaseFile,
} from './open-release.ts';

export interface OpenReleaseOptions {
  /** A folder, or the URL of a manifest. */
  readonly source: string;
  /** Folder for downloads and scratch files; it is created, and emptied when the release is closed. */
  readonly workDir: string;
  /** Room that must stay free on the disk of the work folder. */
  readonly minFreeBytes: number;
  readonly download: GuardedDownload;
  readonly patience?: DownloadPatience;
  readonly onProgress?: ProgressListener;
  /** Free space in the file system of a folder, in bytes. */
  readonly readFree?: (folder: string) => Promise<number>;
}

/**
 * Opens a release of the national directory, downloading it first if it is named by a URL. The sizes must be
 * complete, the disk must have room before a large file is fetched, and the release must be unchanged after
 * the last file. The files of an interrupted download stay in the work folder, so that the next run continues
 * with them.
 */
export async function openRelease(options: OpenReleaseOptions): Promise<Release> {
  const { workDir, source } = options;
  await mkdir(workDir, { recursive: true, mode: 0o700 });
  const held = holdFile(path.join(workDir, 'release.lock'));
  if (held === undefined)
    throw new DirectoryError('DIRECTORY_LOAD_RUNNING', 'Another import of the national directory is running');
  try {
    const opened = isUrl(source) ? await downloadRelease(options) : await openReleaseFolder(source, workDir);
    await requireRoom(options, scratchBytes(opened.manifest));
    return {
      ...opened,
      async close() {
        await opened.close();
        await held.close();
      },
    };
  } catch (error) {
    await held.close();
    throw error;
  }
}

async function downloadRelease(options: OpenReleaseOptions): Promise<Release> {
  const { workDir, onProgress, download, patience = usualPatience } = options;
  const manifest = parseManifest(await downloadManifest(options));
  const targets = neededResources.map((resource) => targetOf(options, manifest, resource));
  await removeOthers(workDir, targets);
  const totalBytes = targets.reduce((sum, { expectedBytes }) => sum + expectedBytes, 0);
  await requireRoom(options, scratchBytes(manifest) + totalBytes - (await bytesIn(workDir)));
  let bytesRead = 0;
  const onBytes = (count: number): void => {
    bytesRead += count;
    onProgress?.({ phase: 'downloading', rowsRead: 0, bytesRead, totalBytes });
  };
  const files: Partial<Record<NpdResource, ReleaseFile>> = {};
  try {
    for (const { resource, ...target } of targets) {
      await downloadFile({ download, patience, onBytes, ...target });
      files[resource] = { path: target.file, sizeBytes: target.expectedBytes };
    }
    requireSame(manifest, await downloadManifest(options));
  } catch (error) {
    // Only downloads that a later run can resume are kept on the disk.
    if (!isResumable(error)) await removeOthers(workDir, []);
    throw error;
  }
  return {
    manifest,
    files: files as Record<NpdResource, ReleaseFile>,
    scratchDir: workDir,
    verifyUnchanged: async () => requireSame(manifest, await downloadManifest(options)),
    close: () => removeOthers(workDir, []),
  };
}

function isResumable(error: unknown): boolean {
  return error instanceof DirectoryError && error.code === 'DIRECTORY_DOWNLOAD_FAILED';
}

interface Target {
  readonly resource: NpdResource;
  readonly url: string;
  readonly file: string;
  readonly expectedBytes: number;
}

function targetOf(
  { source, workDir }: OpenReleaseOptions,
  manifest: Manifest,
  resource: NpdResource,
): Target {
  const { key, compressedBytes } = manifest.files[resource];
  const name = key + endingOf(manifest);
  return {
    resource,
    url: new URL(name, source).href,
    file: path.join(workDir, name),
    expectedBytes: compressedBytes,
  };
}

/** Digest of the manifest at a URL: whether there is another release than before. */
export async function readReleaseDigest(options: ManifestOptions): Promise<string> {
  return parseManifest(await downloadManifest(options)).digest;
}

type ManifestOptions = Pick<OpenReleaseOptions, 'source' | 'download' | 'patience'>;

function downloadManifest(options: ManifestOptions): Promise<Buffer> {
  return withPatience(options.patience ?? usualPatience, () => downloadManifestOnce(options));
}

async function downloadManifestOnce({ download, source }: ManifestOptions): Promise<Buffer> {
  const response = await download(source);
  if (response.status !== 200) {
    response.cancel();
    throw refusedStatus('The manifest', response);
  }
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of response.body) {
    length += piece.length;
    if (length > maxManifestBytes)
      throw new DirectoryError(
        'DIRECTORY_RELEASE_INVALID',
        `The manifest has more than ${maxManifestBytes} bytes`,
      );
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** Removes all downloads but those of the targets: leftovers of an earlier release. */
async function removeOthers(workDir: string, targets: readonly Target[]): Promise<void> {
  const kept = new Set(targets.flatMap(({ file }) => leftoversOf(file)));
  for (const name of await readdir(workDir)) {
    const file = path.join(workDir, name);
    if (!kept.has(file) && !name.startsWith('release.lock')) await rm(file, { force: true });
  }
}

async function bytesIn(folder: string): Promise<number> {
  let bytes = 0;
  for (const name of await readdir(folder)) bytes += (await stat(path.join(folder, name))).size;
  return bytes;
}

/**
 * Scratch file, stored blocks and snapshots, with the generations that are kept: none of them comes near the
 * size of the Endpoint file, which has about a kilobyte per address.
 */
function scratchBytes({ files }: Manifest): number {
  return files.Endpoint.originalBytes * 2;
}

function requireRoom({ workDir: folder, ...disk }: OpenReleaseOptions, neededBytes: number): Promise<void> {
  return requireFreeDisk({ ...disk, what: 'import', folder, neededBytes });
}
