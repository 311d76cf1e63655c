import { decodeCharset } from './charset.ts';

// RFC 2047 §2. Bounded repetition keeps the match linear on hostile input.
const encodedWord = /=\?([\w.:+-]{1,60})(?:\*[\w-]{0,40})?\?([bq])\?([^?\s]{0,2000})\?=/gi;
const blanksBetweenWords = /(\?=)[ \t]+(?==\?[\w.:+*-]{1,100}\?[bq]\?)/gi;

/** Decodes the encoded words of a header value (RFC 2047); anything malformed stays as it is. */
export function decodeWords(value: string): string {
  if (!value.includes('=?')) return value;
  return joinWords(value.replace(blanksBetweenWords, '$1'));
}

/** Adjacent words of one character set are decoded together, since senders split characters between words. */
function joinWords(value: string): string {
  let result = '';
  let last = 0;
  let pending: Buffer[] = [];
  let pendingCharset = '';
  const flush = (): void => {
    if (pending.length > 0) result += decodeCharset(Buffer.concat(pending), pendingCharset);
    pending = [];
  };
  for (const match of value.matchAll(encodedWord)) {
    const [whole, charset = '', encoding = '', text = ''] = match;
    if (match.index > last || charset.toLowerCase() !== pendingCharset) flush();
    result += value.slice(last, match.index);
    pending.push(decodeWordText(encoding, text));
    pendingCharset = charset.toLowerCase();
    last = match.index + whole.length;
  }
  flush();
  return result + value.slice(last);
}

function decodeWordText(encoding: string, text: string): Buffer {
  if (encoding.toLowerCase() === 'b') return Buffer.from(text, 'base64');
  const plain = text
    .replaceAll('_', ' ')
    .replace(/=([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(plain, 'latin1');
}

// RFC 2047 §2: a word has 75 characters at most, a line with words 76. 45 bytes make 60 characters of base64, which
// `=?UTF-8?B?` and `?=` bring to 72.
const maxWordBytes = 45;
const maxLineLength = 76;
const wordFrame = 12;

/**
 * Encodes text as words of base64 over UTF-8, joined by blanks; no character is split between words (RFC 2047 §5). The
 * first word leaves room for so many characters before it on its line.
 */
export function encodeWords(text: string, usedLength = 0): string {
  const words: string[] = [];
  let chunk = '';
  let room = Math.min(
    maxWordBytes,
    Math.max(4, Math.floor((maxLineLength - usedLength - wordFrame) / 4) * 3),
  );
  for (const character of text.toWellFormed()) {
    const size = Buffer.byteLength(character);
    if (size > room) {
      words.push(chunk);
      chunk = '';
      room = maxWordBytes;
    }
    chunk += character;
    room -= size;
  }
  words.push(chunk);
  return words.map((word) => `=?UTF-8?B?${Buffer.from(word).toString('base64')}?=`).join(' ');
}
