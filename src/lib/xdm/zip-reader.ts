import { crc32 } from 'node:zlib';
import { fromBufferPromise, type Entry, type ZipFile } from 'yauzl';
import { viewAsBuffer } from '../../core/index.ts';
import { XdmError } from './errors.ts';
import type { XdmLimits } from './limits.ts';
import { recoverEntries } from './recover-zip.ts';
import { findZipEnd, hasMoreFiles } from './zip-end.ts';

/** A file of an archive, unpacked. */
export interface ZipEntry {
  /** Relative, with slashes, without `.` and `..`; never to be used as a path on a disk. */
  readonly name: string;
  /** Empty if it could not be unpacked. */
  readonly content: Buffer;
  /** False if the checksum in the archive is another. */
  readonly isIntact: boolean;
  /** Its own data cannot be unpacked: damaged, encrypted, or packed by an unknown method. */
  readonly isUnreadable?: boolean;
}

export interface Archive {
  readonly entries: readonly ZipEntry[];
  /** Its directory cannot be used: the files were found by their own headers, and others may be lost. */
  readonly isDamaged: boolean;
}

/**
 * Unpacks an archive into memory within the limits. Nothing in it is trusted: names that climb out and bombs
 * are refused (XDM-11). A file that cannot be unpacked keeps no other from being read, and neither does a
 * damaged directory. Throws XdmError of every code but the writer's.
 */
export async function readArchive(zip: Uint8Array, limits: XdmLimits): Promise<Archive> {
  try {
    return { entries: await readByDirectory(zip, limits), isDamaged: false };
  } catch (error) {
    const failure = error instanceof XdmError ? error : unreadable(error);
    if (failure.code !== 'XDM_UNREADABLE') throw failure;
    const entries = await readByHeaders(viewAsBuffer(zip), limits);
    if (entries.every(({ isUnreadable }) => isUnreadable === true)) throw failure;
    return { entries, isDamaged: true };
  }
}

/** The entries alone. */
export async function readZip(zip: Uint8Array, limits: XdmLimits): Promise<readonly ZipEntry[]> {
  return (await readArchive(zip, limits)).entries;
}

async function readByDirectory(zip: Uint8Array, limits: XdmLimits): Promise<ZipEntry[]> {
  const archive = await openArchive(zip);
  try {
    return await readEntries(archive, limits, allowedBytes(zip.length, limits));
  } finally {
    archive.close();
  }
}

async function openArchive(zip: Uint8Array): Promise<ZipFile> {
  const bytes = viewAsBuffer(zip);
  const found = findZipEnd(bytes);
  const { start = 0, end } = found ?? {};
  // Bytes around the archive, such as the line ends of mail gateways, are not part of it.
  const archive = await fromBufferPromise(bytes.subarray(start, end), {
    lazyEntries: true,
    autoClose: false,
    decodeStrings: false,
    validateEntrySizes: true,
  });
  if (found === undefined || !hasMoreFiles(bytes, found, archive.entryCount)) return archive;
  archive.close();
  throw unreadable(new Error('The end record states fewer files than the directory lists.'));
}

async function readByHeaders(zip: Buffer, limits: XdmLimits): Promise<ZipEntry[]> {
  const entries: ZipEntry[] = [];
  let room = allowedBytes(zip.length, limits);
  try {
    const found = recoverEntries(zip, () => Math.min(room, limits.maxEntryBytes));
    for await (const { nameBytes, content, packedBytes, isIntact } of found) {
      if (entries.length >= limits.maxEntries) throw tooManyEntries();
      const name = safeName(decodeName(nameBytes));
      if (name.endsWith('/') || name === '') continue;
      const size = content?.length ?? 0;
      if (isBomb(size, packedBytes, limits)) throw tooLarge();
      room -= size;
      entries.push(
        content === undefined
          ? { name, content: Buffer.alloc(0), isIntact: true, isUnreadable: true }
          : { name, content, isIntact },
      );
    }
  } catch (error) {
    throw error instanceof XdmError ? error : tooLarge();
  }
  return entries;
}

/**
 * Many small entries can be a bomb too: what they unpack to is held in memory several times, by each client
 * that fetches it.
 */
function allowedBytes(packedBytes: number, limits: XdmLimits): number {
  const { maxTotalBytes, maxTotalRatio, freeTotalBytes } = limits;
  return Math.min(maxTotalBytes, Math.max(freeTotalBytes, packedBytes * maxTotalRatio));
}

async function readEntries(archive: ZipFile, limits: XdmLimits, allowed: number): Promise<ZipEntry[]> {
  // The archive may emit an error after the last entry was read.
  archive.on('error', () => {});
  const entries: ZipEntry[] = [];
  let count = 0;
  let total = 0;
  let failure: unknown;
  for await (const entry of archive.eachEntry()) {
    if (++count > limits.maxEntries) throw tooManyEntries();
    const name = safeName(decodeName(entry.fileNameRaw));
    if (name.endsWith('/') || name === '') continue;
    const maxBytes = Math.min(limits.maxEntryBytes, allowed - total);
    try {
      const content = await readContent(archive, entry, maxBytes, limits);
      total += content.length;
      entries.push({ name, content, isIntact: crc32(content) === entry.crc32 });
    } catch (error) {
      // What is out of all proportion refuses the whole.
      if (error instanceof XdmError && error.code === 'XDM_TOO_LARGE') throw error;
      failure ??= error;
      entries.push({ name, content: Buffer.alloc(0), isIntact: true, isUnreadable: true });
    }
  }
  const isLost = failure !== undefined && entries.every(({ isUnreadable }) => isUnreadable === true);
  if (isLost) throw failure;
  return entries;
}

/** Longer than the names of any file system. */
const maxNameBytes = 1024;

/**
 * UTF-8 if the archive says so or the bytes are valid, else Latin-1, which is near enough to the old code
 * page.
 */
function decodeName(bytes: Buffer): string {
  if (bytes.length > maxNameBytes)
    throw new XdmError('XDM_UNSAFE_NAME', 'An entry of the package has a name that is too long');
  const text = bytes.toString('utf8');
  return text.includes('\ufffd') ? bytes.toString('latin1') : text;
}

/**
 * Leading slashes before a place in a package: some programs write them, and no system's folder has such a
 * place.
 */
const rootedName = /^(?:\/+(?:IHE_XDM\/|[^/\\]*$)|\/(?:[^/\\]+\/)+IHE_XDM\/)/i;

/** `..`, also with the blanks and points behind it that some systems drop. */
const upwards = /^\s*\.\.[.\s]*$/;

function safeName(text: string): string {
  const relative = rootedName.test(text) ? text.replace(/^\/+/, '') : text;
  const name = relative.replaceAll('\\', '/');
  const components = name.split('/');
  const isUnsafe =
    name.startsWith('/') ||
    /^[a-z]:/i.test(name) ||
    name.includes('\0') ||
    components.some((component) => upwards.test(component));
  if (isUnsafe) throw new XdmError('XDM_UNSAFE_NAME', 'An entry of the package has an unsafe name');
  return components
    .filter((component, index) => component !== '.' && (component !== '' || index === components.length - 1))
    .join('/');
}

function isBomb(size: number, packedSize: number, { maxRatio }: XdmLimits): boolean {
  return size > 1_048_576 && size > packedSize * maxRatio;
}

async function readContent(
  archive: ZipFile,
  entry: Entry,
  maxBytes: number,
  limits: XdmLimits,
): Promise<Buffer> {
  if (entry.isEncrypted() || !entry.canDecodeFileData())
    throw new XdmError(
      'XDM_ENTRY_UNSUPPORTED',
      'An entry of the package is encrypted or packed in an unknown way',
    );
  if (entry.uncompressedSize > maxBytes || isBomb(entry.uncompressedSize, entry.compressedSize, limits))
    throw tooLarge();
  const stream = await archive.openReadStreamPromise(entry);
  const chunks: Buffer[] = [];
  let size = 0;
  // The stream itself refuses more or fewer bytes than the header states; this is the second guard.
  for await (const chunk of stream) {
    const bytes = viewAsBuffer(chunk as Uint8Array);
    size += bytes.length;
    if (size > maxBytes) throw tooLarge();
    chunks.push(bytes);
  }
  return Buffer.concat(chunks, size);
}

function tooManyEntries(): XdmError {
  return new XdmError('XDM_TOO_LARGE', 'The package has too many entries');
}

function tooLarge(): XdmError {
  return new XdmError('XDM_TOO_LARGE', 'The package unpacks to too many bytes');
}

function unreadable(cause: unknown): XdmError {
  return new XdmError('XDM_UNREADABLE', 'The package is not a readable ZIP archive', { cause });
}
