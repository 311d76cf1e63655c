/** Extensions of ISO 9660 level 1 by media type; `BIN` for all others. */
const extensions: Readonly<Record<string, string>> = {
  'text/xml': 'XML',
  'application/xml': 'XML',
  'application/hl7-v3+xml': 'XML',
  'text/plain': 'TXT',
  'text/html': 'HTM',
  'text/csv': 'CSV',
  'application/pdf': 'PDF',
  'image/jpeg': 'JPG',
  'image/png': 'PNG',
  'image/gif': 'GIF',
  'image/tiff': 'TIF',
  'application/rtf': 'RTF',
  'text/rtf': 'RTF',
  'application/zip': 'ZIP',
  'application/json': 'JSN',
  'application/fhir+json': 'JSN',
  'application/fhir+xml': 'XML',
  'application/hl7-v2': 'HL7',
  'x-application/hl7-v2+er7': 'HL7',
  'application/dicom': 'DCM',
  'application/msword': 'DOC',
};
const reserved = new Set(['METADATA.XML', 'INDEX.HTM', 'README.TXT']);
// Reserved device names of old systems.
const devices = /^(?:CON|PRN|AUX|NUL|COM\d|LPT\d)$/;

/**
 * Names of at most 8.3 characters, A-Z, 0-9 and underscore (XDM-03), one for each document, all different,
 * made from the senders' names; paths are dropped. The order of the documents decides, so that equal input
 * gives equal names.
 */
export function shortFileNames(
  documents: readonly { readonly fileName?: string | undefined; readonly mediaType: string }[],
): string[] {
  const usedNames = new Set(reserved);
  return documents.map((document, index) => {
    const name = freeName(splitName(document.fileName ?? '', document.mediaType), index, usedNames);
    usedNames.add(name);
    return name;
  });
}

// Only the beginning of a name and of its extension are kept.
const longestRead = 255;

function splitName(fileName: string, mediaType: string): { base: string; extension: string } {
  const last = fileName.split(/[/\\]/).at(-1) ?? '';
  const dot = last.lastIndexOf('.');
  const extension = dot > 0 ? clean(last.slice(dot + 1)).slice(0, 3) : '';
  const known = extensions[mediaType.split(';', 1)[0]?.trim().toLowerCase() ?? ''] ?? 'BIN';
  return {
    base: clean(dot > 0 ? last.slice(0, dot) : last)
      .slice(0, 8)
      .replace(/_+$/, ''),
    extension: extension === '' ? known : extension,
  };
}

function clean(text: string): string {
  return text
    .slice(0, longestRead)
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toUpperCase()
    .replace(/[^A-Z0-9_]+/g, '_')
    .replace(/^_+|_+$/g, '');
}

function freeName(
  { base, extension }: { base: string; extension: string },
  index: number,
  usedNames: ReadonlySet<string>,
): string {
  const first = base === '' || devices.test(base) ? `DOC${String(index + 1).padStart(5, '0')}` : base;
  if (!usedNames.has(`${first}.${extension}`)) return `${first}.${extension}`;
  for (let number = 1; ; number++) {
    const suffix = `_${number}`;
    const name = `${first.slice(0, 8 - suffix.length)}${suffix}.${extension}`;
    if (!usedNames.has(name)) return name;
  }
}

/** The media type of a file name, for documents without metadata. */
export function mediaTypeOfName(fileName: string): string {
  const extension = fileName.split('.').at(-1)?.toUpperCase() ?? '';
  const byLongName: Readonly<Record<string, string>> = {
    XSL: 'text/xml',
    HTML: 'text/html',
    JPEG: 'image/jpeg',
    JSON: 'application/json',
    TIFF: 'image/tiff',
    CDA: 'text/xml',
  };
  return (
    byLongName[extension] ??
    Object.entries(extensions).find(([, known]) => known === extension)?.[0] ??
    'application/octet-stream'
  );
}
