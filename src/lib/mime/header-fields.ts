import { viewAsBuffer } from '../../core/index.ts';
import { canonicalize } from './canonicalize.ts';
import { decodeText } from './charset.ts';
import { MimeError } from './errors.ts';
import type { MimeLimits } from './limits.ts';

/** One header field, for example `Subject: a\r\n b` with name `Subject` and value `a b`. */
export interface HeaderField {
  /** As written, without blanks around it. */
  readonly name: string;
  /**
   * Unfolded and trimmed; encoded words (RFC 2047) are left as they are. Octets above 127 are read as
   * `decodeText` reads those without a charset.
   */
  readonly value: string;
  /** The field's exact bytes, its last line end included. */
  readonly raw: Uint8Array;
}

export interface HeaderSection {
  readonly fields: readonly HeaderField[];
  /** Offset of the first byte after the blank line; the length of the bytes if there is none. */
  readonly bodyStart: number;
}

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;
const COLON = 0x3a;
const SEMICOLON = 0x3b;

/**
 * Reads the header section at the start of the bytes (RFC 5322 §2.2), leniently: bare LF, blanks before the
 * colon and before the first field, a leading mbox line and a byte order mark are accepted, and a line that
 * is not a field starts the body. Throws MIME_HEADER_TOO_LARGE.
 */
export function readHeaderSection(bytes: Buffer, limits: MimeLimits): HeaderSection {
  const section = readCrSection(bytes, limits) ?? readLines(bytes, limits);
  return section.bodyStart === bytes.length && holdsLineBreaks(section.fields) ? noSection : section;
}

const noSection: HeaderSection = { fields: [], bodyStart: 0 };

/**
 * A section whose lines end in CR alone: bare CR are then no characters of a field. Undefined if the first
 * line ends otherwise, or if no blank line of the same kind ends the section before the first LF.
 */
function readCrSection(bytes: Buffer, limits: MimeLimits): HeaderSection | undefined {
  const head = bytes.subarray(0, limits.maxHeaderBytes);
  const lineFeed = head.indexOf(LF);
  const lines = lineFeed < 0 ? head : head.subarray(0, lineFeed);
  const firstCr = lines.indexOf(CR);
  if (firstCr < 0 || firstCr === lineFeed - 1) return undefined;
  const text = lines.toString('latin1');
  const end = text.indexOf('\r\r');
  // Those just before an LF are the end of its line.
  if (lineFeed >= 0 && (end < 0 || end >= lengthWithoutEnd(text))) return undefined;
  if (!hasFieldName(bytes, startOfFields(bytes, limits))) return undefined;
  const section = canonicalize(Buffer.from(text.slice(0, end < 0 ? text.length : end + 2), 'latin1'));
  const { fields, bodyStart } = readLines(section, limits);
  let seen = 0;
  let added = 0;
  const place = (offset: number): number => {
    added += section.toString('latin1', seen, offset).split('\n').length - 1;
    seen = offset;
    return offset - added;
  };
  const exact = fields.map((field) => {
    const from = field.raw.byteOffset - section.byteOffset;
    return { ...field, raw: bytes.subarray(place(from), place(from + field.raw.length)) };
  });
  return { fields: exact, bodyStart: place(bodyStart) };
}

function lengthWithoutEnd(text: string): number {
  let length = text.length;
  while (text[length - 1] === '\r') length--;
  return length;
}

function readLines(bytes: Buffer, limits: MimeLimits): HeaderSection {
  const fields: HeaderField[] = [];
  let offset = startOfFields(bytes, limits);
  while (offset < bytes.length) {
    const end = endOfField(bytes, offset, limits);
    if (isBlankLine(bytes, offset, end)) return { fields, bodyStart: end };
    const field = readField(bytes.subarray(offset, end));
    if (field !== undefined) fields.push(field);
    else if (offset > 0 || !isMboxLine(bytes)) return { fields, bodyStart: offset };
    offset = end;
    if (offset > limits.maxHeaderBytes || fields.length > limits.maxHeaderFields) {
      throw new MimeError('MIME_HEADER_TOO_LARGE', 'The header section is too large');
    }
  }
  return { fields, bodyStart: bytes.length };
}

/**
 * Blanks before the very first line cannot be folding: they are dropped before a field, and a line that is
 * none is skipped with them if a field follows. Else they belong to a body without header section.
 */
function startOfFields(bytes: Buffer, limits: MimeLimits): number {
  const start = hasByteOrderMark(bytes) ? 3 : 0;
  let first = start;
  while (bytes[first] === SPACE || bytes[first] === TAB) first++;
  if (first === start || hasFieldName(bytes, first)) return first;
  const end = endOfField(bytes, first, limits);
  if (isBlankLine(bytes, first, end)) return first;
  return hasFieldName(bytes, end) ? end : start;
}

/** The offset after the line at `start` and its folded continuation lines. */
function endOfField(bytes: Buffer, start: number, limits: MimeLimits): number {
  let end = start;
  for (;;) {
    const lineStart = end;
    const lineFeed = bytes.indexOf(LF, end);
    end = lineFeed < 0 ? bytes.length : lineFeed + 1;
    if (isBlankLine(bytes, lineStart, end)) return lineStart === start ? end : lineStart;
    if (end - start > limits.maxHeaderFieldBytes) {
      // A line that is not a field begins a body without header section: it may be as long as it likes.
      if (!hasFieldName(bytes, start)) return end;
      throw new MimeError('MIME_HEADER_TOO_LARGE', 'A header field is too large');
    }
    const isFolded = bytes[end] === SPACE || bytes[end] === TAB || isStrayParameter(bytes, end);
    if (end >= bytes.length || !isFolded) return end;
  }
}

/** Some senders break after a semicolon without indenting the parameter on the next line. */
function isStrayParameter(bytes: Buffer, start: number): boolean {
  const before = bytes[start - 2] === CR ? bytes[start - 3] : bytes[start - 2];
  return before === SEMICOLON && /^[\w*-]{1,40}=/.test(bytes.toString('latin1', start, start + 41));
}

/** Of programs that write CR CR LF, too. */
function isBlankLine(bytes: Buffer, start: number, end: number): boolean {
  if (bytes[start] === LF) return true;
  return bytes[start] === CR && (end - start === 2 || (end - start === 3 && bytes[start + 1] === CR));
}

const strayLineEnd = /[\0\v\f]|\r(?!\r?\n|$)|\xc2\x85|\xe2\x80[\xa8\xa9]/;

/** True for characters in a field that some programs take for the end of a line, but not mail. */
export function hasStrayLineEnd({ raw }: HeaderField): boolean {
  return strayLineEnd.test(viewAsBuffer(raw).toString('latin1'));
}

/** Of what has no body: what should be the body may stand in the first field, or in one that describes it. */
function holdsLineBreaks(fields: readonly HeaderField[]): boolean {
  return fields.some((field, index) => (index === 0 || isContentField(field)) && hasStrayLineEnd(field));
}

/** A field that describes a body (RFC 2045 §3). */
export function isContentField({ name }: HeaderField): boolean {
  return /^content-/i.test(name);
}

function hasByteOrderMark(bytes: Buffer): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

function isMboxLine(bytes: Buffer): boolean {
  const start = bytes.toString('latin1', 0, 6);
  return start.startsWith('From ') || start === '>From ';
}

function hasFieldName(bytes: Buffer, start: number): boolean {
  return findColon(bytes.subarray(start, start + 1000)) > 0;
}

/**
 * The colon's index if printable characters, then blanks, stand before it (RFC 5322 §3.6.8, §4.5.8); else -1.
 */
function findColon(line: Buffer): number {
  let isPastName = false;
  for (let index = 0; index < line.length; index++) {
    const byte = line[index] ?? 0;
    if (byte === COLON) return index;
    if (byte === SPACE || byte === TAB) isPastName = true;
    else if (isPastName || byte < 0x21 || byte > 0x7e) return -1;
  }
  return -1;
}

function readField(raw: Buffer): HeaderField | undefined {
  const colon = findColon(raw);
  if (colon <= 0) return undefined;
  const name = raw.toString('latin1', 0, colon).trim();
  if (name === '') return undefined;
  return { name, raw, value: unfold(decodeHeaderBytes(raw.subarray(colon + 1))) };
}

/**
 * Removes the line ends of folding (RFC 5322 §2.2.3) and blanks at both ends; a stray CR or NUL becomes a
 * blank.
 */
function unfold(text: string): string {
  const trimmed = text.trim();
  // Nearly every field is one line.
  if (!/[\r\n\0]/.test(trimmed)) return trimmed;
  return trimmed
    .replace(/(?<!\r)\r*\n(?=[ \t])/g, '')
    .replace(/[\r\n\0]/g, ' ')
    .trim();
}

function decodeHeaderBytes(bytes: Buffer): string {
  const text = bytes.toString('latin1');
  return /[\x80-\xff]/.test(text) || text.includes('\u001b$') ? decodeText(bytes).text : text;
}
