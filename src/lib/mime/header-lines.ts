import { hasLineBreaker } from '../../core/index.ts';
import { encodeWords } from './encoded-words.ts';
import { MimeError } from './errors.ts';

/** Name and value; the value is text for people (`unstructured`) unless the writer knows better. */
export type HeaderPair = readonly [name: string, value: string];

const fieldName = /^[!-9;-~]{1,76}$/;
// RFC 5322 §2.1.1: lines should not be longer than 78 characters and must not be longer than 998.
const preferredLength = 76;
const maxLength = 998;
// A line can only be broken at a blank, and not within a run of them.
const longestRun = 900;
const longRun = /\S{900}|\s{900}/;

/**
 * One field with ASCII bytes only; text outside ASCII becomes encoded words (RFC 2047). Throws
 * MIME_HEADER_UNSAFE.
 */
export function formatTextHeader(name: string, text: string): string {
  if (hasLineBreaker(text))
    throw new MimeError(
      'MIME_HEADER_UNSAFE',
      `The text of ${fieldName.test(name) ? name : 'a header'} holds a line break`,
    );
  return formatHeader(name, isPlain(text) ? text : encodeWords(text, name.length + 2));
}

/** Also of no text at all. */
function isPlain(text: string): boolean {
  if (/[^\t -~]/.test(text) || text.includes('=?') || text.trim() !== text) return false;
  return text.length < longestRun || !longRun.test(text);
}

/**
 * One field whose value is already in its wire form; folded at blanks (RFC 5322 §2.2.3). Throws
 * MIME_HEADER_UNSAFE.
 */
export function formatHeader(name: string, value: string): string {
  if (!fieldName.test(name)) throw new MimeError('MIME_HEADER_UNSAFE', 'A header name is not legal');
  if (hasLineBreaker(value) || /[^\t -~]/.test(value))
    throw new MimeError('MIME_HEADER_UNSAFE', `The value of ${name} is not legal`);
  // Without a value there is no blank either: some servers cut blanks at line ends, which would break a
  // signature.
  const line = value === '' ? `${name}:` : `${name}: ${value}`;
  return `${line.length <= preferredLength ? line : foldLine(line, name.length + 2)}\r\n`;
}

/** Breaks before blanks. A run of blanks is never left alone on a line, since servers drop such lines. */
function foldLine(line: string, valueStart: number): string {
  const lines: string[] = [];
  let start = 0;
  let lastBlank = -1;
  for (let index = valueStart; index < line.length; index++) {
    const isBlank = line[index] === ' ' || line[index] === '\t';
    if (isBlank && !isBlankAt(line, index - 1) && index > valueStart) {
      if (index - start > preferredLength && lastBlank > start) {
        lines.push(line.slice(start, lastBlank));
        start = lastBlank;
      }
      lastBlank = index;
    }
  }
  if (line.length - start > preferredLength && lastBlank > start && line.slice(lastBlank).trim() !== '') {
    lines.push(line.slice(start, lastBlank));
    start = lastBlank;
  }
  lines.push(line.slice(start));
  if (lines.some((part) => part.length > maxLength))
    throw new MimeError('MIME_HEADER_UNSAFE', 'A header line cannot be folded');
  return lines.join('\r\n');
}

function isBlankAt(line: string, index: number): boolean {
  return line[index] === ' ' || line[index] === '\t';
}
