import { viewAsBuffer } from '../../../core/index.ts';
import type { SendLimits } from '../limits.ts';

/** Media types that no edge should be asked to open (Decision 0010: M7), as `type/subtype` in lower case. */
const executables: ReadonlySet<string> = new Set([
  ...(
    'bat hta java-archive javascript vnd.android.package-archive vnd.apple.installer+xml ' +
    'vnd.debian.binary-package vnd.microsoft.portable-executable x-bat x-csh x-dosexec x-elf ' +
    'x-executable x-java-archive x-javascript x-mach-binary x-ms-shortcut x-msdos-program ' +
    'x-msdownload x-msi x-powershell x-rpm x-sh x-sharedlib x-shellscript'
  )
    .split(' ')
    .map((name) => `application/${name}`),
  'text/javascript',
  'text/vbscript',
  'text/x-shellscript',
]);

/** Media types that are refused: those of the setting, or the built-in list. */
export const deniedTypesOf = ({ deniedMediaTypes: own }: SendLimits): ReadonlySet<string> =>
  own.length > 0 ? new Set(own) : executables;

/** Endings of file names that operating systems run. */
const deniedExtensions = new Set(
  'apk app bat chm cmd com cpl dll dmg exe gadget hta inf iso jar js jse lnk msc msi msp pif ps1 reg scr sh sys vb vbe vbs ws wsf'.split(
    ' ',
  ),
);

export function hasDeniedExtension(fileName: string): boolean {
  // Windows drops dots and spaces at the end of a name, and reads the text after a colon as the name of a
  // stream.
  const stored = withoutEnd(fileName.split(':', 1)[0] ?? '');
  const dot = stored.lastIndexOf('.');
  return (
    dot >= 0 &&
    deniedExtensions.has(
      stored
        .slice(dot + 1)
        .trim()
        .toLowerCase(),
    )
  );
}

/**
 * Without the dots and white space at its end. A regular expression takes quadratic time for a name that has
 * many of them elsewhere.
 */
function withoutEnd(name: string): string {
  let end = name.length;
  while (end > 0 && /[.\s]/u.test(name.charAt(end - 1))) end--;
  return name.slice(0, end);
}

/** First bytes of executable files: Windows, Linux, macOS (both byte orders and universal). */
const programMarks = ['4d5a', '7f454c46', 'feedface', 'feedfacf', 'cefaedfe', 'cffaedfe'];

/** True if the bytes are a program, under any claimed type. */
export function isProgram(content: Uint8Array): boolean {
  const head = viewAsBuffer(content.subarray(0, 4)).toString('hex');
  // `MZ` alone is also how a text may begin; a real program has its header's length and more behind it.
  return programMarks.some((mark) => head.startsWith(mark)) && content.length >= 64 && hasNul(content);
}

type ContentTest = (content: Buffer) => boolean;

const startsWithHex =
  (...marks: readonly string[]): ContentTest =>
  (content) =>
    marks.some((mark) => content.subarray(0, mark.length / 2).toString('hex') === mark);

const isXml: ContentTest = (content) => firstCharacter(content) === '<';
const isText: ContentTest = (content) => isUtf16(content) || !hasNul(content);
const isZip = startsWithHex('504b0304', '504b0506');
const isTiff = startsWithHex('49492a00', '4d4d002a', '49492b00', '4d4d002b');

/** Types whose content is checked. Content of other types is not checked. */
const contentTests: ReadonlyMap<string, ContentTest> = new Map<string, ContentTest>([
  ['text/xml', isXml],
  ['application/xml', isXml],
  ['application/pdf', (content) => content.subarray(0, 1024).includes('%PDF-')],
  ['application/zip', isZip],
  ['application/x-zip-compressed', isZip],
  ['application/rtf', startsWithHex('7b5c727466')],
  ['text/rtf', startsWithHex('7b5c727466')],
  ['application/json', (content) => '{["-0123456789tfn'.includes(firstCharacter(content))],
  ['application/dicom', (content) => content.subarray(128, 132).toString('latin1') === 'DICM'],
  ['image/png', startsWithHex('89504e470d0a1a0a')],
  ['image/jpeg', startsWithHex('ffd8ff')],
  ['image/jpg', startsWithHex('ffd8ff')],
  ['image/gif', startsWithHex('474946383761', '474946383961')],
  ['image/tiff', isTiff],
  ['image/bmp', startsWithHex('424d')],
  [
    'image/webp',
    (content) =>
      content.subarray(0, 4).toString('latin1') === 'RIFF' &&
      content.subarray(8, 12).toString('latin1') === 'WEBP',
  ],
  ['text/plain', isText],
  ['text/html', isText],
  ['text/csv', isText],
]);

/** True for the media types whose content is XML. */
export function isXmlType(mediaType: string): boolean {
  return mediaType === 'text/xml' || mediaType === 'application/xml' || mediaType.endsWith('+xml');
}

/** False only if the content certainly is not of `mediaType` (`type/subtype`, lower case). */
export function contentMatches(mediaType: string, content: Uint8Array): boolean {
  const test = contentTests.get(mediaType) ?? (mediaType.endsWith('+xml') ? isXml : undefined);
  return test === undefined || test(viewAsBuffer(content));
}

/** Endings for derived file names (Decision 0010: M1). */
const extensions: ReadonlyMap<string, string> = new Map([
  ['text/xml', 'xml'],
  ['application/xml', 'xml'],
  ['application/pdf', 'pdf'],
  ['application/zip', 'zip'],
  ['application/x-zip-compressed', 'zip'],
  ['application/rtf', 'rtf'],
  ['application/json', 'json'],
  ['application/fhir+json', 'json'],
  ['application/dicom', 'dcm'],
  ['application/hl7-v2', 'hl7'],
  ['image/png', 'png'],
  ['image/jpeg', 'jpg'],
  ['image/gif', 'gif'],
  ['image/tiff', 'tif'],
  ['text/plain', 'txt'],
  ['text/html', 'html'],
  ['text/csv', 'csv'],
]);

/** Example: `attachment-1.xml`. `position` counts from 1. */
export function deriveFileName(mediaType: string, position: number): string {
  const extension = extensions.get(mediaType) ?? (mediaType.endsWith('+xml') ? 'xml' : 'bin');
  return `attachment-${position}.${extension}`;
}

const utf16Marks = ['fffe', 'feff'];

function isUtf16(content: Buffer): boolean {
  return utf16Marks.includes(content.subarray(0, 2).toString('hex'));
}

// The first bytes suffice to distinguish text from binary formats, which contain NUL early.
const inspectedBytes = 8192;

function hasNul(content: Uint8Array): boolean {
  return content.subarray(0, inspectedBytes).includes(0);
}

function firstCharacter(content: Buffer): string {
  const head = content.subarray(0, inspectedBytes);
  if (isUtf16(head))
    return head
      .toString('latin1')
      .replaceAll(/[\0\s\xff\xfe]/g, '')
      .charAt(0);
  return head
    .toString('utf8')
    .replace(/^\ufeff?\s*/, '')
    .charAt(0);
}
