import { viewAsBuffer } from '../../core/index.ts';
import { findZipEnd } from './zip-end.ts';

const zipTypes = new Set([
  'application/zip',
  'application/x-zip-compressed',
  'application/x-zip',
  'application/x-compressed',
  'application/octet-stream',
  'multipart/x-zip',
  '',
]);
const maxDirectoryBytes = 1_048_576;

/**
 * True if a part of that media type and name is looked at as a package (XDM-08), which unpacking makes
 * expensive.
 */
export function hasPackageType(mediaType?: string, fileName?: string): boolean {
  const type = (mediaType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return zipTypes.has(type) || /\.zip\s*$/i.test(fileName ?? '');
}

/**
 * True for an XDM package, typed as ZIP or as octets or named `.zip` (XDM-08): decided by the content, a ZIP
 * archive whose directory names IHE_XDM or a METADATA.XML, also with a few octets before it. An unknown media
 * type is passed as undefined.
 */
export function isXdm(bytes: Uint8Array, mediaType?: string, fileName?: string): boolean {
  if (!hasPackageType(mediaType, fileName)) return false;
  const zip = viewAsBuffer(bytes);
  const directory = centralDirectory(zip)?.toString('latin1').toUpperCase() ?? '';
  return (
    directory.includes('IHE_XDM/') || directory.includes('IHE_XDM\\') || directory.includes('METADATA.XML')
  );
}

const searchedBytes = 65_536;

/**
 * True for a package of that media type or name whose directory is lost or damaged: its first files show what
 * it is.
 */
export function isCutXdm(bytes: Uint8Array, mediaType?: string, fileName?: string): boolean {
  if (!hasPackageType(mediaType, fileName) || !beginsAsZip(bytes)) return false;
  const zip = viewAsBuffer(bytes);
  return !hasDirectory(zip) && /IHE_XDM[/\\]/i.test(zip.toString('latin1', 0, searchedBytes));
}

const fileSignature = Buffer.from('PK\u0003\u0004', 'latin1');
const directorySignature = Buffer.from('PK\u0001\u0002', 'latin1');

function hasDirectory(zip: Buffer): boolean {
  const { directory } = findZipEnd(zip) ?? {};
  if (directory === undefined || directory.size < directorySignature.length) return false;
  return zip.subarray(directory.start, directory.start + 4).equals(directorySignature);
}

/** True if the archive begins with the first octet, as it must be sent. */
export function beginsAsZip(bytes: Uint8Array): boolean {
  return bytes[0] === 0x50 && bytes[1] === 0x4b;
}

/** Of a gateway; more would be another document, which must not get lost. */
const maxOctetsBefore = 4096;

function centralDirectory(zip: Buffer): Buffer | undefined {
  const { start = 0, end = 0, directory } = findZipEnd(zip) ?? {};
  if (directory === undefined || start > maxOctetsBefore) return undefined;
  // An archive may count the octets before it.
  if (start === 0 && zip.subarray(0, maxOctetsBefore).indexOf(fileSignature) < 0) return undefined;
  // Its stated size may be wrong: up to the end record.
  return zip.subarray(directory.start, Math.min(end, directory.start + maxDirectoryBytes));
}
