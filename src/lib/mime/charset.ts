import { isAscii } from 'node:buffer';
import { viewAsBuffer } from '../../core/index.ts';
import { hasJapaneseShifts, ownDecoders } from './legacy-charsets.ts';
import { decodeUtf16, markedEncoding, plainUtf16 } from './utf16.ts';

/** Text, and whether the octets were read as the character set that was named. */
export interface DecodedText {
  readonly text: string;
  /**
   * `unknown-charset`: nothing here can read it, and the text is a guess. `invalid-octets`: some octets
   * became U+FFFD.
   */
  readonly fault?: CharsetFault;
}

export type CharsetFault = 'unknown-charset' | 'invalid-octets';

// Names that say nothing certain about octets above 127: valid UTF-8 is the better guess then.
const vagueNames = new Set([
  '',
  'us-ascii',
  'ascii',
  'usascii',
  'ansi_x3.4-1968',
  'cp20127',
  'iso646-us',
  'unknown-8bit',
  'unknown',
  'x-unknown',
  'binary',
  '8bit',
  'default',
  '_autodetect',
]);

/** Octets to text in the named character set; `decodeText` without the finding. */
export function decodeCharset(bytes: Uint8Array, charset = ''): string {
  return decodeText(bytes, charset).text;
}

/**
 * Octets to text in the named character set. Never throws. A byte order mark decides (RFC 2781 §4.3), UTF-8
 * is recognized under other names, and an octet that fits nowhere becomes one U+FFFD. What has no name, or an
 * unknown one, is read as UTF-8 or else as windows-1252.
 */
export function decodeText(bytes: Uint8Array, charset = ''): DecodedText {
  const name = normalize(charset);
  const marked = markedEncoding(bytes) ?? (/^utf-?(?:16|32)/.test(name) ? undefined : plainUtf16(bytes));
  if (marked !== undefined) return decodeUnicode(bytes, marked);
  if (vagueNames.has(name)) return decodeGuessing(bytes);
  const label = findLabel(name);
  if (label === undefined) return { ...decodeGuessing(bytes), fault: 'unknown-charset' };
  // Without a character above 127 no other label explains a shift.
  if (isAscii(bytes) && hasJapaneseShifts(bytes)) return decodeLegacy(bytes, 'iso-2022-jp');
  if (label === 'utf-8') return decodeUtf8(bytes);
  if (label.startsWith('utf-16') || label.startsWith('utf-32')) return decodeUnicode(bytes, label);
  if (!isStateful(label) && isAscii(bytes)) return { text: viewAsBuffer(bytes).toString('latin1') };
  return isUtf8InDisguise(bytes, label) ? decodeUtf8(bytes) : decodeLegacy(bytes, label);
}

const maxNameLength = 60;

function normalize(charset: string): string {
  return charset
    .slice(0, maxNameLength)
    .trim()
    .replaceAll(/^["']|["';]$/g, '')
    .toLowerCase();
}

/**
 * True for a character set in which a shift at one place changes what follows, so that words are decoded one
 * by one.
 */
export function isStateful(charset: string): boolean {
  return /^(?:iso-?2022|utf-?7|unicode-1-1-utf-7|csiso2022|hz)/i.test(charset.trim());
}

/** True if `charset` is missing, or a name that says nothing certain about octets above 127. */
export function isVagueCharset(charset: string): boolean {
  return vagueNames.has(normalize(charset));
}

/** True if `charset` is one that can be read, or a name that says nothing. */
export function isKnownCharset(charset: string): boolean {
  const name = normalize(charset);
  return vagueNames.has(name) || findLabel(name) !== undefined;
}

// Families of names: code pages as Windows, IBM and Java write them, and what senders make of the registered
// ones.
const codePages: Readonly<Record<string, string>> = {
  '932': 'shift_jis',
  '936': 'gbk',
  '949': 'euc-kr',
  '950': 'big5',
  '866': 'ibm866',
  '874': 'windows-874',
  '1200': 'utf-16le',
  '1201': 'utf-16be',
  '10000': 'macintosh',
  '20866': 'koi8-r',
  '21866': 'koi8-u',
  '28591': 'windows-1252',
  '28592': 'iso-8859-2',
  '28605': 'iso-8859-15',
  '50220': 'iso-2022-jp',
  '50221': 'iso-2022-jp',
  '50222': 'iso-2022-jp',
  '50225': 'iso-2022-kr',
  '51932': 'euc-jp',
  '51949': 'euc-kr',
  '52936': 'hz-gb-2312',
  '54936': 'gb18030',
  '65000': 'utf-7',
  '65001': 'utf-8',
};
const otherNames: Readonly<Record<string, string>> = {
  ansi: 'windows-1252',
  xansi: 'windows-1252',
  latin: 'windows-1252',
  isolatin1: 'windows-1252',
  isolatin9: 'iso-8859-15',
  koi8r: 'koi8-r',
  koi8u: 'koi8-u',
  euckr: 'euc-kr',
  uhc: 'euc-kr',
  unicode11utf7: 'utf-7',
  xgbk: 'gbk',
  eucjp: 'euc-jp',
  eucjpms: 'euc-jp',
  eucjpwin: 'euc-jp',
  shiftjis: 'shift_jis',
  sjiswin: 'shift_jis',
  unicodebig: 'utf-16be',
  unicodefffe: 'utf-16be',
  unicodelittle: 'utf-16le',
  unicode: 'utf-16',
  csunicode: 'utf-16',
  ucs2: 'utf-16',
  iso10646ucs2: 'utf-16',
  ucs4: 'utf-32',
  iso10646ucs4: 'utf-32',
};

/**
 * The name by which the character set can be decoded, of what may stand behind it without it; undefined if it
 * cannot be.
 */
function findLabel(name: string): string | undefined {
  return findExactLabel(name) ?? findExactLabel(/^[\w.:+-]+/.exec(name)?.[0] ?? '');
}

function findExactLabel(name: string): string | undefined {
  const short = name.replaceAll(/[^a-z0-9]/g, '');
  const wide = /^utf(16|32)(be|le)?$/.exec(short);
  if (wide !== null) return `utf-${wide[1]}${wide[2] ?? ''}`;
  const other = otherNames[short];
  if (other !== undefined) return other;
  if (/^(?:x?utf7|cp65000)$/.test(short)) return 'utf-7';
  if (/^\w{0,6}utf8(?:mb[34])?$/.test(short)) return 'utf-8';
  if (/^(?:cs|x)?iso2022jp/.test(short)) return 'iso-2022-jp';
  if (/^(?:cs|x)?iso2022kr/.test(short)) return 'iso-2022-kr';
  if (/^(?:cs|x)?hz(?:gb2312)?$/.test(short)) return 'hz-gb-2312';
  const page = /^(?:x|cs)?(?:cp|ms|windows|win|ibm|codepage)(?:cp)?(\d{3,5})$/.exec(short)?.[1];
  if (page !== undefined) return pageLabel(page);
  const part = /^(?:cs)?(?:iso)?8859(\d{1,2})(?:1987|1988|1989|1998)?[ei]?$/.exec(short)?.[1];
  return knownLabel(part === undefined ? name : `iso-8859-${part}`);
}

function pageLabel(page: string): string | undefined {
  if (/^125[0-8]$/.test(page)) return `windows-${page}`;
  const own = `ibm${page}`;
  return ownDecoders.has(own) ? own : (codePages[page] ?? knownLabel(`cp${page}`));
}

function knownLabel(name: string): string | undefined {
  try {
    return new TextDecoder(name).encoding;
  } catch {
    return undefined;
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });
const lossyUtf8 = new TextDecoder('utf-8');
const latin = new TextDecoder('windows-1252');

function strictUtf8(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

/**
 * Octets that text in Western languages has above 127: letters, quotation marks, dashes, signs of measures.
 */
const unlikelyWestern = /[\x80-\x84\x86-\x90\x98-\x9f\xff]/;

/**
 * Labeled as UTF-8. Where not one character of it is, it is the Latin text of a sender who changes the label
 * alone.
 */
function decodeUtf8(bytes: Uint8Array): DecodedText {
  const strict = strictUtf8(bytes);
  if (strict !== undefined) return { text: strict };
  const text = lossyUtf8.decode(bytes);
  const isLatin = !hasUtf8Characters(text) && !unlikelyWestern.test(Buffer.from(bytes).toString('latin1'));
  return isLatin ? { text: latin.decode(bytes) } : { text, fault: 'invalid-octets' };
}

function hasUtf8Characters(text: string): boolean {
  return /[^\0-\x7f\ufffd]/.test(text);
}

/** Without a label that says anything: what the most octets are. */
function decodeGuessing(bytes: Uint8Array): DecodedText {
  const strict = strictUtf8(bytes);
  if (strict !== undefined)
    return hasJapaneseShifts(bytes) ? decodeLegacy(bytes, 'iso-2022-jp') : { text: strict };
  const text = lossyUtf8.decode(bytes);
  const faults = text.split('\ufffd').length - 1;
  const characters = text.replaceAll(/[\0-\x7f\ufffd]/g, '').length;
  return characters >= faults ? { text, fault: 'invalid-octets' } : { text: latin.decode(bytes) };
}

const westernLabels = new Set(['windows-1252', 'iso-8859-15', 'iso-8859-2', 'windows-1250', 'macintosh']);
/** Octets of other character sets rarely make so many characters of UTF-8 and nothing else. */
const leastDisguised = 3;

/**
 * True for UTF-8 under another name: Western text has no such sequences, other text not that many, and none
 * that fits badly.
 */
function isUtf8InDisguise(bytes: Uint8Array, label: string): boolean {
  const strict = strictUtf8(bytes);
  if (strict === undefined) return false;
  const characters = strict.replaceAll(/[\0-\x7f]/g, '').length;
  if (characters === 0) return false;
  if (westernLabels.has(label) || characters >= leastDisguised) return true;
  return isStateful(label) || decodeLegacy(bytes, label).fault !== undefined;
}

function decodeLegacy(bytes: Uint8Array, label: string): DecodedText {
  return withFault(ownDecoders.get(label)?.(bytes) ?? new TextDecoder(label).decode(bytes));
}

function decodeUnicode(bytes: Uint8Array, label: string): DecodedText {
  if (label === 'utf-8') return decodeUtf8(bytes);
  // As text in 16 bits it would have none of the line ends and blanks that every text has.
  const strict = strictUtf8(bytes);
  const isPlain = strict !== undefined && !/[^\P{Cc}\t\r\n]/u.test(strict);
  if (isPlain && markedEncoding(bytes) === undefined) return { text: strict };
  return withFault(decodeUtf16(bytes, label));
}

function withFault(text: string): DecodedText {
  return text.includes('\ufffd') ? { text, fault: 'invalid-octets' } : { text };
}
