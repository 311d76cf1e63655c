import { closeSync, fstatSync, fsyncSync, openSync, readSync, renameSync, rmSync, writeSync } from 'node:fs';
import { getSystemErrorMessage } from 'node:util';
import { crc32 } from 'node:zlib';
import { errorText } from '../../core/index.ts';
import { ProviderIndexError } from './errors.ts';
import type { ArraySpec, IndexLayout, SharedIndexBytes } from './types.ts';

/**
 * Raised with every change of the layout, and of the words of texts, so that a node rebuilds instead of
 * misreading an older file or answering otherwise than the others.
 */
const snapshotVersion = 19;

const magic = Buffer.from('OHISPIDX');
// magic, version, length of the layout text, CRC-32 of the layout text, zeros: all little-endian 32-bit.
const headerBytes = 24;
// One call reads or writes at most this much; the operating system refuses more than 2 GiB.
const chunkBytes = 256 << 20;

interface SnapshotHead {
  readonly layout: IndexLayout;
  readonly parts: readonly { readonly bytes: number; readonly checksum: number }[];
}

/**
 * A snapshot that is being written, next to where it will be: a header, the arrays in any order, and the head
 * that tells about them. Plain data, so that several threads can add arrays.
 */
export interface BegunSnapshot {
  readonly path: string;
  readonly temporary: string;
  /** Where the next array begins: one 64-bit number. */
  readonly end: SharedArrayBuffer;
}

/** An array in a snapshot. */
export interface SnapshotPart {
  readonly spec: ArraySpec;
  readonly at: number;
  readonly bytes: number;
  readonly checksum: number;
}

/** Each of these functions throws INDEX_SNAPSHOT_UNWRITABLE. To be closed in any case. */
export function beginSnapshot(path: string): BegunSnapshot {
  const temporary = `${path}.${process.pid}.tmp`;
  const end = new SharedArrayBuffer(8);
  new BigInt64Array(end)[0] = BigInt(headerBytes);
  return orUnwritable(() => {
    closeSync(openSync(temporary, 'w', 0o600));
    return { path, temporary, end };
  });
}

export function addToSnapshot(
  { temporary, end }: BegunSnapshot,
  spec: ArraySpec,
  buffer: SharedArrayBuffer,
): SnapshotPart {
  const bytes = new Uint8Array(buffer);
  const at = Number(Atomics.add(new BigInt64Array(end), 0, BigInt(bytes.length)));
  orUnwritable(() => withFile(temporary, (file) => writeAll(file, bytes, at)));
  return { spec, at, bytes: bytes.length, checksum: checksumOf(bytes) };
}

/** Syncs and renames, so that the path is always a whole snapshot. Returns the bytes written. */
export function endSnapshot(
  { path, temporary }: BegunSnapshot,
  recordCount: number,
  parts: readonly SnapshotPart[],
): number {
  const inOrder = parts.toSorted((a, b) => a.at - b.at || a.bytes - b.bytes);
  const head: SnapshotHead = {
    layout: { recordCount, arrays: inOrder.map(({ spec }) => spec) },
    parts: inOrder.map(({ bytes, checksum }) => ({ bytes, checksum })),
  };
  const text = Buffer.from(JSON.stringify(head));
  const at = parts.reduce((sum, { bytes }) => sum + bytes, headerBytes);
  return orUnwritable(() => {
    withFile(temporary, (file) => {
      writeAll(file, text, at);
      writeAll(file, headerFor(text), 0);
      fsyncSync(file);
    });
    renameSync(temporary, path);
    return at + text.length;
  });
}

/** Removes what was begun and not ended. */
export function closeSnapshot({ temporary }: BegunSnapshot): void {
  rmSync(temporary, { force: true });
}

/** Writes a whole index; returns the bytes written. */
export function writeSnapshot({ layout, buffers }: SharedIndexBytes, path: string): number {
  const snapshot = beginSnapshot(path);
  try {
    const parts = layout.arrays.map((spec, index) =>
      addToSnapshot(snapshot, spec, buffers[index] as SharedArrayBuffer),
    );
    return endSnapshot(snapshot, layout.recordCount, parts);
  } finally {
    closeSnapshot(snapshot);
  }
}

function withFile(path: string, write: (file: number) => void): void {
  const file = openSync(path, 'r+');
  try {
    write(file);
  } finally {
    closeSync(file);
  }
}

function orUnwritable<Result>(write: () => Result): Result {
  try {
    return write();
  } catch (error) {
    throw new ProviderIndexError(
      'INDEX_SNAPSHOT_UNWRITABLE',
      `The directory snapshot could not be written: ${reasonOf(error)}`,
      { cause: error },
    );
  }
}

/** Without the path, since the reports of loads are shown in the console. */
function reasonOf(error: unknown): string {
  const errno = error instanceof Error && 'errno' in error ? Number(error.errno) : Number.NaN;
  return Number.isInteger(errno) ? getSystemErrorMessage(errno) : errorText(error);
}

function headerFor(head: Uint8Array): Buffer {
  const header = Buffer.alloc(headerBytes);
  magic.copy(header);
  header.writeUInt32LE(snapshotVersion, 8);
  header.writeUInt32LE(head.length, 12);
  header.writeUInt32LE(crc32(head), 16);
  return header;
}

/**
 * Throws INDEX_SNAPSHOT_INVALID for anything that is not a whole snapshot of this version, also when there is
 * no file.
 */
export function readSnapshot(path: string): SharedIndexBytes {
  const file = openSnapshot(path);
  try {
    const head = readHead(file);
    const buffers = head.parts.map((spec) => new SharedArrayBuffer(spec.bytes));
    let at = headerBytes;
    for (const [index, buffer] of buffers.entries()) {
      at += readAll(file, new Uint8Array(buffer), at).length;
      if (checksumOf(new Uint8Array(buffer)) !== head.parts[index]?.checksum)
        throw invalid('a checksum does not hold');
    }
    return { layout: head.layout, buffers };
  } finally {
    closeSync(file);
  }
}

/** Reads the whole file without keeping it. Throws INDEX_SNAPSHOT_INVALID as {@link readSnapshot} does. */
export function checkSnapshot(path: string): void {
  const file = openSnapshot(path);
  const chunk = Buffer.alloc(1 << 20);
  try {
    let at = headerBytes;
    for (const { bytes, checksum } of readHead(file).parts) {
      let found = 0;
      for (const end = at + bytes; at < end;) {
        const read = readAll(file, chunk.subarray(0, Math.min(end - at, chunk.length)), at);
        found = crc32(read, found);
        at += read.length;
      }
      if (found !== checksum) throw invalid('a checksum does not hold');
    }
  } finally {
    closeSync(file);
  }
}

/** True for the snapshot of another version of the program, of which nothing but that can be said. */
export function isOtherSnapshotVersion(path: string): boolean {
  let file: number | undefined;
  try {
    file = openSnapshot(path);
    return readHeader(file).version !== snapshotVersion;
  } catch {
    return false;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function openSnapshot(path: string): number {
  try {
    return openSync(path, 'r');
  } catch (error) {
    throw invalid('it cannot be opened', error);
  }
}

interface SnapshotHeader {
  readonly version: number;
  readonly headLength: number;
  readonly headChecksum: number;
}

function readHeader(file: number): SnapshotHeader {
  if (fstatSync(file).size < headerBytes) throw invalid('it is too short');
  const header = readAll(file, Buffer.alloc(headerBytes), 0);
  if (!header.subarray(0, magic.length).equals(magic)) throw invalid('it is another kind of file');
  return {
    version: header.readUInt32LE(8),
    headLength: header.readUInt32LE(12),
    headChecksum: header.readUInt32LE(16),
  };
}

function readHead(file: number): SnapshotHead {
  const { version, headLength, headChecksum } = readHeader(file);
  if (version !== snapshotVersion) throw invalid('it is of another version');
  const fileBytes = fstatSync(file).size;
  if (headLength > fileBytes - headerBytes) throw invalid('it is too short');
  const text = readAll(file, Buffer.alloc(headLength), fileBytes - headLength);
  if (crc32(text) !== headChecksum) throw invalid('the checksum of its head does not hold');
  const head = JSON.parse(text.toString()) as SnapshotHead;
  const expectedBytes = head.parts.reduce((sum, part) => sum + part.bytes, headerBytes + headLength);
  if (expectedBytes !== fileBytes) throw invalid('its size is wrong');
  return head;
}

function checksumOf(bytes: Uint8Array): number {
  let checksum = 0;
  for (let start = 0; start < bytes.length; start += chunkBytes)
    checksum = crc32(bytes.subarray(start, start + chunkBytes), checksum);
  return checksum;
}

function writeAll(file: number, bytes: Uint8Array, at: number): void {
  let position = 0;
  while (position < bytes.length)
    position += writeSync(
      file,
      bytes,
      position,
      Math.min(chunkBytes, bytes.length - position),
      at + position,
    );
}

function readAll<Bytes extends Uint8Array>(file: number, bytes: Bytes, at: number): Bytes {
  let position = 0;
  while (position < bytes.length) {
    const read = readSync(
      file,
      bytes,
      position,
      Math.min(chunkBytes, bytes.length - position),
      at + position,
    );
    if (read === 0) throw invalid('it is cut short');
    position += read;
  }
  return bytes;
}

function invalid(reason: string, cause?: unknown): ProviderIndexError {
  return new ProviderIndexError(
    'INDEX_SNAPSHOT_INVALID',
    `The directory snapshot is not usable: ${reason}.`,
    { cause },
  );
}
