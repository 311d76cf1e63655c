/** The record that ends an archive, and what it says (APPNOTE.TXT 4.3.16). */
export interface ZipEnd {
  /** Where the archive ends, its comment included; more bytes may follow. */
  readonly end: number;
  /** The central directory; may lie outside of the bytes. Undefined if its ZIP64 record is missing. */
  readonly directory: ZipDirectory | undefined;
}

interface ZipDirectory {
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
  return {
    end: at + endBytes + zip.readUInt16LE(at + 20),
    directory: hasSignature(zip, locator, locatorSignature)
      ? findZip64Directory(zip, locator)
      : { start: zip.readUInt32LE(at + 16), size: zip.readUInt32LE(at + 12) },
  };
}

const locatorSignature = Buffer.from('PK\u0006\u0007', 'latin1');
const locatorBytes = 20;
const zip64Signature = Buffer.from('PK\u0006\u0006', 'latin1');
const zip64Bytes = 56;

/** APPNOTE.TXT 4.3.14, 4.3.15: the locator before the end record says where the ZIP64 record is, which counts instead. */
function findZip64Directory(zip: Buffer, locator: number): ZipDirectory | undefined {
  const record = Number(zip.readBigUInt64LE(locator + 8));
  if (record > zip.length - zip64Bytes || !hasSignature(zip, record, zip64Signature)) return undefined;
  return {
    start: Number(zip.readBigUInt64LE(record + 48)),
    size: Number(zip.readBigUInt64LE(record + 40)),
  };
}

function hasSignature(zip: Buffer, at: number, signature: Buffer): boolean {
  return at >= 0 && zip.subarray(at, at + signature.length).equals(signature);
}
