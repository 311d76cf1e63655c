import { promisify } from 'node:util';
import { crc32, inflateRaw, type InputType, type ZlibOptions } from 'node:zlib';

/** A file that its own header describes, in an archive whose directory cannot be used. */
export interface RecoveredEntry {
  readonly nameBytes: Buffer;
  /** Undefined if the data are damaged, cut, encrypted, or packed by an unknown method. */
  readonly content: Buffer | undefined;
  readonly packedBytes: number;
  readonly isIntact: boolean;
}

const fileSignature = Buffer.from('PK\u0003\u0004', 'latin1');
const descriptorSignature = Buffer.from('PK\u0007\u0008', 'latin1');
const headerBytes = 30;
const encryptedFlags = 0x2041;
const descriptorFlag = 8;

interface Inflated {
  readonly buffer: Buffer;
  readonly engine: { readonly bytesWritten: number };
}

const inflate = promisify(inflateRaw as never) as unknown as (
  bytes: InputType,
  options: ZlibOptions,
) => Promise<Inflated>;

/**
 * Finds the files of an archive by their own headers (APPNOTE.TXT 4.3.7), for one whose end was cut off or
 * whose directory is damaged. `roomFor` says how many bytes the next file may unpack to; what is more
 * rejects with the error of zlib, ERR_BUFFER_TOO_LARGE.
 */
export async function* recoverEntries(zip: Buffer, roomFor: () => number): AsyncGenerator<RecoveredEntry> {
  for (let at = zip.indexOf(fileSignature); at >= 0 && at + headerBytes <= zip.length;) {
    const flags = zip.readUInt16LE(at + 6);
    const nameEnd = at + headerBytes + zip.readUInt16LE(at + 26);
    const start = nameEnd + zip.readUInt16LE(at + 28);
    const data = await readData(zip, { at, start, flags }, roomFor());
    const nameBytes = zip.subarray(at + headerBytes, nameEnd);
    const { content, end = start, checksum } = data ?? {};
    const isIntact = content === undefined || crc32(content) === checksum;
    if (start <= zip.length) yield { nameBytes, content, packedBytes: end - start, isIntact };
    at = zip.indexOf(fileSignature, Math.max(end, at + 4));
  }
}

interface Header {
  readonly at: number;
  /** Of the data. */
  readonly start: number;
  readonly flags: number;
}

interface FileData {
  readonly content?: Buffer;
  readonly end: number;
  readonly checksum: number;
}

/** Undefined for data whose end is unknown, and that cannot be unpacked. */
async function readData(
  zip: Buffer,
  { at, start, flags }: Header,
  maxOutputLength: number,
): Promise<FileData | undefined> {
  const method = zip.readUInt16LE(at + 8);
  const checksum = zip.readUInt32LE(at + 14);
  const size = zip.readUInt32LE(at + 18);
  const hasSize = (flags & descriptorFlag) === 0 && start + size <= zip.length;
  const end = hasSize ? start + size : zip.length;
  const unread = hasSize ? { end, checksum } : undefined;
  if ((flags & encryptedFlags) !== 0 || start > zip.length) return unread;
  if (method === 0) return hasSize ? { content: zip.subarray(start, end), end, checksum } : undefined;
  if (method !== 8) return unread;
  try {
    const { buffer, engine } = await inflate(zip.subarray(start, end), {
      maxOutputLength: Math.max(maxOutputLength, 1),
      info: true,
    });
    if (hasSize) return { content: buffer, end, checksum };
    return { content: buffer, ...readDescriptor(zip, start + engine.bytesWritten) };
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE') throw error;
    return unread;
  }
}

/** Behind the data, with or without a signature. */
function readDescriptor(zip: Buffer, at: number): Omit<FileData, 'content'> {
  const start = zip.subarray(at, at + 4).equals(descriptorSignature) ? at + 4 : at;
  return { end: at, checksum: start + 4 <= zip.length ? zip.readUInt32LE(start) : 0 };
}
