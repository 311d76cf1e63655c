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
  const directory = findZipEnd(zip)?.directory;
  if (directory === undefined) return undefined;
  return zip.subarray(directory.start, directory.start + Math.min(directory.size, maxDirectoryBytes));
}
