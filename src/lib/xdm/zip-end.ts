/** The record that ends an archive, and what it says (APPNOTE.TXT 4.3.16). */
export interface ZipEnd {
  /** Where the archive ends, its comment included; more bytes may follow. */
  readonly end: number;
  /** Where the archive begins: octets before it, which its own positions do not count, are not part of it. */
  readonly start: number;
  /** The central directory; may lie outside of the bytes. Undefined if its ZIP64 record is missing. */
  readonly directory: ZipDirectory | undefined;
}

interface ZipDirectory {
  /** From the beginning of the bytes. */
  readonly start: number;
  readonly size: number;
}

const endSignature = Buffer.from('PK\u0005\u0006', 'latin1');
const endBytes = 22;
/** The record itself and a comment of at most 65,535 bytes. */
const maxTailBytes = endBytes + 65_535;

/** The record that the reader takes, too. Undefined if the last bytes hold none. */
export function findZipEnd(zip: Buffer): ZipEnd | undefined {
  const tailStart = Math.max(0, zip.length - maxTailBytes);
  const found = zip.subarray(tailStart).lastIndexOf(endSignature, -endBytes);
  if (found < 0) return undefined;
  const at = tailStart + found;
  const locator = at - locatorBytes;
  const end = at + endBytes + zip.readUInt16LE(at + 20);
  const stated = hasSignature(zip, locator, locatorSignature)
    ? findZip64Directory(zip, locator)
    : { start: zip.readUInt32LE(at + 16), size: zip.readUInt32LE(at + 12), end: at };
  if (stated === undefined) return { end, start: 0, directory: undefined };
  const start = findStart(zip, stated);
  return { end, start, directory: { start: stated.start + start, size: stated.size } };
}

/** What the records say, and where the record stands that follows the directory. */
interface StatedDirectory extends ZipDirectory {
  readonly end: number;
}

const fileSignature = Buffer.from('PK\u0001\u0002', 'latin1');
const fileBytes = 46;

/**
 * True if the directory lists more files than so many: the number is that of the end record, and a reader
 * stops there.
 */
export function hasMoreFiles(zip: Buffer, { directory }: ZipEnd, count: number): boolean {
  let at = directory?.start ?? zip.length;
  for (let found = 0; found <= count; found++) {
    if (at + fileBytes > zip.length || !hasSignature(zip, at, fileSignature)) return false;
    at += fileBytes + zip.readUInt16LE(at + 28) + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
  return true;
}

/**
 * More than 0 if the directory is not where it should be, but right before its end record, and so many octets
 * later.
 */
function findStart(zip: Buffer, { start, size, end }: StatedDirectory): number {
  const shift = end - size - start;
  const isShifted =
    shift > 0 && !hasSignature(zip, start, fileSignature) && hasSignature(zip, start + shift, fileSignature);
  return isShifted ? shift : 0;
}

const locatorSignature = Buffer.from('PK\u0006\u0007', 'latin1');
const locatorBytes = 20;
const zip64Signature = Buffer.from('PK\u0006\u0006', 'latin1');
const zip64Bytes = 56;

/**
 * APPNOTE.TXT 4.3.14, 4.3.15: the locator before the end record says where the ZIP64 record is, which counts
 * instead.
 */
function findZip64Directory(zip: Buffer, locator: number): StatedDirectory | undefined {
  const stated = Number(zip.readBigUInt64LE(locator + 8));
  // With octets before the archive the record is later than it says, right before the locator.
  const last = locator - zip64Bytes;
  const record = [stated, last].find((at) => stated <= last && hasSignature(zip, at, zip64Signature));
  if (record === undefined) return undefined;
  return {
    start: Number(zip.readBigUInt64LE(record + 48)),
    size: Number(zip.readBigUInt64LE(record + 40)),
    end: record,
  };
}

function hasSignature(zip: Buffer, at: number, signature: Buffer): boolean {
  return at >= 0 && zip.subarray(at, at + signature.length).equals(signature);
}
