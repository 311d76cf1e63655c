import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import path from 'node:path';
import { PassThrough, Transform, type Readable } from 'node:stream';
import { callbackify } from 'node:util';
import { crc32, createGunzip } from 'node:zlib';
import yauzl, { type Entry, type ZipFile } from 'yauzl';
import { errorText } from '../../../core/index.ts';
import { DirectoryError } from '../errors.ts';

/** One file of text to be read, possibly unpacked on the way. */
export interface InputFile {
  /** The name without folders. */
  readonly name: string;
  /** Bytes to be read from disk, if known; for the progress bar. */
  readonly sizeBytes: number | undefined;
  /** Opens the file from its start. `onBytes` gets the number of bytes read from disk. */
  open(onBytes?: (count: number) => void): Promise<Readable>;
}

const gzipMagic = Buffer.from([0x1f, 0x8b]);
// Of a file, an empty and a split archive; a header may begin with a column PK.
const zipMagics = ['PK\x03\x04', 'PK\x05\x06', 'PK\x07\x08'].map((magic) => Buffer.from(magic, 'latin1'));
const magicLength = 4;

/**
 * The text files in `file`: itself, the content of a .gz, or every .csv in a .zip; distinguished by content,
 * not by name. Throws DIRECTORY_FILE_UNREADABLE.
 */
export async function openInput(file: string): Promise<InputFile[]> {
  return orUnreadable(path.basename(file), async () => {
    const name = path.basename(file);
    const found = await stat(file);
    // The parts of a pipe can be read once, in their order.
    if (found.isFIFO()) return [pipeInput(name, () => createReadStream(file))];
    const magic = await readMagic(file);
    if (isZip(magic)) return listZip(file);
    const isGzip = startsWithGzip(magic);
    return [
      {
        name,
        sizeBytes: found.size,
        open: (onBytes) => orUnreadable(name, () => openFile(file, isGzip, onBytes)),
      },
    ];
  });
}

async function orUnreadable<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof DirectoryError) throw error;
    throw new DirectoryError('DIRECTORY_FILE_UNREADABLE', `${name} cannot be read: ${describeFault(error)}`, {
      cause: error,
    });
  }
}

const systemFaults: Readonly<Record<string, string>> = {
  ENOENT: 'not found',
  EACCES: 'no permission',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of the path is not a folder',
};

/** Without the path, since the reports of loads are shown in the console. */
function describeFault(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined;
  return code === undefined ? errorText(error) : (systemFaults[code] ?? code);
}

/**
 * Standard input, plain or gzip-compressed, as a named pipe may be. A .zip needs a file, because its table of
 * contents is at its end.
 */
export function openStream(stream: Readable): InputFile[] {
  return [pipeInput('standard input', () => stream)];
}

function pipeInput(name: string, openPipe: () => Readable): InputFile {
  return {
    name,
    sizeBytes: undefined,
    open: (onBytes) => orUnreadable(name, () => unpackStream(openPipe(), onBytes)),
  };
}

function isZip(start: Buffer): boolean {
  return zipMagics.some((magic) => magic.equals(start));
}

function startsWithGzip(start: Buffer): boolean {
  return start.subarray(0, gzipMagic.length).equals(gzipMagic);
}

async function readMagic(file: string): Promise<Buffer> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(magicLength), 0, magicLength, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

async function openFile(file: string, isGzip: boolean, onBytes?: (count: number) => void): Promise<Readable> {
  const unchanged = await createChangeCheck(file);
  const raw = counted(connect(createReadStream(file, { highWaterMark: 1 << 20 }), unchanged), onBytes);
  return isGzip ? connect(raw, createGunzip({ chunkSize: 1 << 18 })) : raw;
}

/**
 * Passes bytes on, and fails at the end if the file changed meanwhile: a full load of half a file would
 * remove the other half.
 */
async function createChangeCheck(file: string): Promise<Transform> {
  const before = await stat(file);
  return passOn({
    atEnd: async () => {
      const after = await stat(file);
      if (after.size !== before.size || after.mtimeMs !== before.mtimeMs)
        throw new Error('it was changed meanwhile; load it when it is complete');
    },
  });
}

/** Passes bytes on. What `atEnd` throws fails the stream after its last byte. */
function passOn({
  onChunk = () => {},
  atEnd = async () => {},
}: {
  readonly onChunk?: (chunk: Buffer) => void;
  readonly atEnd?: () => Promise<void>;
}): Transform {
  return new Transform({
    highWaterMark: 1 << 20,
    transform(chunk: Buffer, _encoding, done) {
      onChunk(chunk);
      done(null, chunk);
    },
    flush: callbackify(atEnd),
  });
}

async function unpackStream(stream: Readable, onBytes?: (count: number) => void): Promise<Readable> {
  const raw = counted(stream, onBytes);
  const first = await readFirst(raw);
  if (isZip(first)) {
    raw.destroy();
    throw new DirectoryError('DIRECTORY_FILE_UNREADABLE', 'A .zip cannot be read from a pipe; name the file');
  }
  if (first.length === 0) return raw;
  raw.unshift(first);
  return startsWithGzip(first) ? connect(raw, createGunzip()) : raw;
}

/** The bytes that tell how a stream is packed, however it is cut; fewer if there are no more. */
async function readFirst(stream: Readable): Promise<Buffer> {
  for (;;) {
    const first = stream.read(magicLength) as Buffer | null;
    if (first !== null) return first;
    if (stream.readableEnded) return Buffer.alloc(0);
    await new Promise<void>((resolve, reject) => {
      const settle = (error?: Error): void => {
        stream.off('readable', settle).off('end', settle).off('error', settle);
        if (error === undefined) resolve();
        else reject(error);
      };
      stream.once('readable', settle).once('end', settle).once('error', settle);
    });
  }
}

/** Counts bytes as they pass; a plain pass-through without `onBytes`. */
function counted(stream: Readable, onBytes?: (count: number) => void): Readable {
  if (onBytes === undefined && !(stream instanceof PassThrough)) return stream;
  return connect(stream, passOn({ onChunk: (chunk) => onBytes?.(chunk.length) }));
}

/** Pipes and hands errors on, which `pipe` alone does not. */
function connect(from: Readable, to: Transform): Readable {
  from.once('error', (error) => to.destroy(error));
  to.once('close', () => from.destroy());
  return from.pipe(to);
}

async function listZip(file: string): Promise<InputFile[]> {
  const zip = await openZip(file);
  const entries = await readEntries(zip).finally(() => zip.close());
  const texts = entries.filter(({ fileName }) => isTable(fileName));
  if (texts.length === 0)
    throw new DirectoryError('DIRECTORY_FILE_UNREADABLE', 'The .zip holds no .csv file');
  return texts.map((entry) => {
    const name = path.posix.basename(entry.fileName);
    return {
      name,
      sizeBytes: entry.compressedSize,
      open: (onBytes) => orUnreadable(name, () => openEntry(file, entry, onBytes)),
    };
  });
}

/**
 * NPPES adds files with the header alone, macOS one per file that holds its attributes, under the same name.
 */
function isTable(entryName: string): boolean {
  const name = path.posix.basename(entryName);
  return /\.(csv|txt)$/i.test(name) && !/fileheader/i.test(entryName) && !name.startsWith('._');
}

function openZip(file: string): Promise<ZipFile> {
  return new Promise((resolve, reject) => {
    yauzl.open(file, { lazyEntries: true, autoClose: false }, (error, zip) => {
      if (error) reject(error);
      else resolve(zip);
    });
  });
}

/** Of a .zip; NPPES has ten. */
const maxEntries = 1000;

function readEntries(zip: ZipFile): Promise<Entry[]> {
  return new Promise((resolve, reject) => {
    const entries: Entry[] = [];
    zip.on('entry', (entry: Entry) => {
      if (entries.length === maxEntries) return reject(new Error(`it has more than ${maxEntries} files`));
      entries.push(entry);
      zip.readEntry();
    });
    zip.once('end', () => resolve(entries));
    zip.once('error', reject);
    zip.readEntry();
  });
}

async function openEntry(file: string, entry: Entry, onBytes?: (count: number) => void): Promise<Readable> {
  const zip = await openZip(file);
  const stream = await new Promise<Readable>((resolve, reject) => {
    zip.openReadStream(entry, (error, opened) => {
      if (error) reject(error);
      else resolve(opened);
    });
  }).catch((error: unknown) => {
    zip.close();
    throw error;
  });
  stream.once('close', () => zip.close());
  const checked = connect(stream, createCrcCheck(entry.crc32));
  // The bytes read from disk are not visible here; the uncompressed bytes are scaled to the compressed size.
  const scale = entry.uncompressedSize > 0 ? entry.compressedSize / entry.uncompressedSize : 1;
  return counted(checked, onBytes === undefined ? undefined : (count) => onBytes(count * scale));
}

/**
 * Passes bytes on, and fails at the end if they are not those that were packed: damaged data often unpacks
 * without an error.
 */
function createCrcCheck(expected: number): Transform {
  let found = 0;
  return passOn({
    onChunk: (chunk) => void (found = crc32(chunk, found)),
    atEnd: async () => {
      if (found !== expected) throw new Error('the .zip is damaged: its checksum does not match');
    },
  });
}
