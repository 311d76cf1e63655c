import { toPlainLine } from './plain-line.ts';

/** As long as a name may be on the file systems in use. */
const maxNameBytes = 255;
/** With its dot; letters, digits and what archives and images are called by. */
const extensionForm = /\.[\p{L}\p{N}_~-]{1,16}$/u;

/**
 * A foreign file name without directories, control characters and marks that turn the direction of writing;
 * at most 255 octets of UTF-8, cut at a whole character before the extension. Empty if nothing is left.
 */
export function cleanFileName(name: string): string {
  const last = toPlainLine(name).split(/[/\\]/).at(-1) ?? '';
  const clean = last.slice(0, endOfName(last)).trim();
  return Buffer.byteLength(clean) <= maxNameBytes ? clean : cut(clean);
}

/** Without points and blanks at its end, which Windows drops. */
function endOfName(name: string): number {
  let end = name.length;
  while (end > 0 && (name[end - 1] === '.' || name[end - 1] === ' ')) end--;
  return end;
}

function cut(name: string): string {
  const extension = extensionForm.exec(name)?.[0] ?? '';
  let room = maxNameBytes - Buffer.byteLength(extension);
  let base = '';
  for (const character of name.slice(0, name.length - extension.length)) {
    room -= Buffer.byteLength(character);
    if (room < 0) break;
    base += character;
  }
  return `${base.trimEnd()}${extension}`;
}

const extensions: Readonly<Record<string, string>> = {
  'application/dicom': 'dcm',
  'application/fhir+json': 'json',
  'application/fhir+xml': 'xml',
  'application/gzip': 'gz',
  'application/hl7-cda+xml': 'xml',
  'application/hl7-sda+xml': 'xml',
  'application/hl7-v2': 'hl7',
  'application/hl7-v3+xml': 'xml',
  'application/json': 'json',
  'application/msword': 'doc',
  'application/pdf': 'pdf',
  'application/pkcs7-mime': 'p7m',
  'application/pkcs7-signature': 'p7s',
  'application/rtf': 'rtf',
  'application/vnd.ms-excel': 'xls',
  'application/vnd.ms-outlook': 'msg',
  'application/vnd.ms-powerpoint': 'ppt',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': 'pptx',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/x-pdf': 'pdf',
  'application/x-zip-compressed': 'zip',
  'application/xhtml+xml': 'xhtml',
  'application/xml': 'xml',
  'application/zip': 'zip',
  'audio/mpeg': 'mp3',
  'audio/wav': 'wav',
  'audio/x-wav': 'wav',
  'image/bmp': 'bmp',
  'image/gif': 'gif',
  'image/heic': 'heic',
  'image/jpeg': 'jpg',
  'image/jpg': 'jpg',
  'image/png': 'png',
  'image/svg+xml': 'svg',
  'image/tiff': 'tif',
  'image/webp': 'webp',
  'message/delivery-status': 'txt',
  'message/disposition-notification': 'txt',
  'message/global': 'eml',
  'message/rfc822': 'eml',
  'text/calendar': 'ics',
  'text/css': 'css',
  'text/csv': 'csv',
  'text/enriched': 'txt',
  'text/html': 'html',
  'text/markdown': 'md',
  'text/plain': 'txt',
  'text/rfc822-headers': 'txt',
  'text/richtext': 'rtf',
  'text/rtf': 'rtf',
  'text/tab-separated-values': 'tsv',
  'text/vcard': 'vcf',
  'text/x-vcard': 'vcf',
  'text/xml': 'xml',
  'video/mp4': 'mp4',
  'video/quicktime': 'mov',
  'x-application/hl7-v2+er7': 'hl7',
};

/**
 * The name, with an extension by the media type if it has none and the type has one. A number behind a point,
 * as in `Lab v1.2`, is none.
 */
export function withExtension(name: string, mediaType: string): string {
  const suffix = mediaType.endsWith('+xml') ? 'xml' : mediaType.endsWith('+json') ? 'json' : undefined;
  const extension = extensions[mediaType] ?? suffix;
  const own = extensionForm.exec(name)?.[0].slice(1) ?? '';
  if (extension === undefined || /\p{L}/u.test(own)) return name;
  return cleanFileName(`${name}.${extension}`);
}
