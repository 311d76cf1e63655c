import { viewAsBuffer } from '../../core/index.ts';

const zipTypes = new Set([
  'application/zip',
  'application/x-zip-compressed',
  'application/x-zip',
  'application/x-compressed',
  'application/octet-stream',
  'multipart/x-zip',
  '',
]);
const endOfDirectory = Buffer.from([0x50, 0x4b, 0x05, 0x06]);
/** The record itself and a comment of at most 65,535 bytes. */
const maxTailBytes = 65_557;
const maxDirectoryBytes = 1_048_576;

/** True if a part of that media type and name is looked at as a package (XDM-08), which unpacking makes expensive. */
export function hasPackageType(mediaType?: string, fileName?: string): boolean {
  const type = (mediaType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return zipTypes.has(type) || /\.zip\s*$/i.test(fileName ?? '');
}

/**
 * True for an XDM package, typed as ZIP or as octets or named `.zip` (XDM-08): decided by the content, a ZIP archive whose
 * directory names IHE_XDM or a METADATA.XML. An unknown media type is passed as undefined.
 */
export function isXdm(bytes: Uint8Array, mediaType?: string, fileName?: string): boolean {
  if (!hasPackageType(mediaType, fileName)) return false;
  const zip = viewAsBuffer(bytes);
  if (zip[0] !== 0x50 || zip[1] !== 0x4b) return false;
  const directory = centralDirectory(zip)?.toString('latin1').toUpperCase() ?? '';
  return (
    directory.includes('IHE_XDM/') || directory.includes('IHE_XDM\\') || directory.includes('METADATA.XML')
  );
}

function centralDirectory(zip: Buffer): Buffer | undefined {
  const tail = zip.subarray(Math.max(0, zip.length - maxTailBytes));
  const end = tail.lastIndexOf(endOfDirectory);
  if (end < 0 || end + 20 > tail.length) return undefined;
  const size = tail.readUInt32LE(end + 12);
  const offset = tail.readUInt32LE(end + 16);
  return zip.subarray(offset, offset + Math.min(size, maxDirectoryBytes));
}
