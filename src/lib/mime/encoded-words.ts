import { decodeText, isKnownCharset, isStateful } from './charset.ts';
import { decodeBase64 } from './decode-base64.ts';

// RFC 2047 §2, with the blanks and question marks that some senders leave in. A word ends before the next one
// begins, so that hostile input takes linear time.
const encodedWord =
  /=\?([\w.:+-]{1,60})(?:\*[\w-]{0,40})?\?([bq])\?((?:(?!=\?[\w.:+*-]{1,100}\?[bq]\?)[^\r\n]){0,2000}?)\?=/gi;
const blanksBetweenWords = /(\?=)[ \t\r\n]+(?==\?[\w.:+*-]{1,100}\?[bq]\?)/gi;

/**
 * Decodes the encoded words of a header value (RFC 2047); anything malformed stays as it is, and so does a
 * word in a character set that nothing here can read: its octets are still there.
 */
export function decodeWords(value: string): string {
  if (!value.includes('=?')) return value;
  return joinWords(value.replace(blanksBetweenWords, '$1'));
}

/** True if the value has a word in a character set that nothing here can read. */
export function hasUnreadWord(value: string): boolean {
  const decoded = decodeWords(value);
  return [...value.matchAll(encodedWord)].some(
    ([whole, charset = '']) => !isKnownCharset(charset) && decoded.includes(whole),
  );
}

interface Word {
  readonly whole: string;
  readonly charset: string;
  readonly isBase64: boolean;
  readonly text: string;
}

/** Adjacent words of one character set are decoded together, since senders split characters between words. */
function joinWords(value: string): string {
  let result = '';
  let last = 0;
  let pending: Word[] = [];
  for (const match of value.matchAll(encodedWord)) {
    const [whole, charset = '', encoding = '', text = ''] = match;
    const word = { whole, charset: charset.toLowerCase(), isBase64: encoding.toLowerCase() === 'b', text };
    if (match.index > last || pending[0]?.charset !== word.charset || isStateful(charset)) {
      result += decodeTogether(pending);
      pending = [];
    }
    result += value.slice(last, match.index);
    pending.push(word);
    last = match.index + whole.length;
  }
  return result + decodeTogether(pending) + value.slice(last);
}

function decodeTogether(words: readonly Word[]): string {
  const [first] = words;
  if (first === undefined) return '';
  const pieces: Buffer[] = [];
  let encoded = '';
  for (const [index, { isBase64, text }] of words.entries()) {
    encoded += text;
    // Some cut the encoded form of a whole text into words, wherever that falls.
    const isCut = isBase64 ? /[^=]$/.test(text) && text.length % 4 !== 0 : /=[0-9a-f]?$/i.test(text);
    if (isCut && words[index + 1]?.isBase64 === isBase64) continue;
    pieces.push(isBase64 ? decodeBase64(Buffer.from(encoded, 'latin1')) : decodeQ(encoded));
    encoded = '';
  }
  const { text, fault } = decodeText(Buffer.concat(pieces), first.charset);
  return fault === 'unknown-charset' && /[^\0-\x7f]/.test(text)
    ? words.map(({ whole }) => whole).join(' ')
    : text;
}

/** A blank behind an encoded one is what folding inside of a word has left. */
function decodeQ(text: string): Buffer {
  const plain = text
    .replaceAll(/(_|=20)[ \t]+/g, '$1')
    .replaceAll('_', ' ')
    .replace(/=([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  // Characters beyond Latin-1 were never encoded.
  return /[^\0-\xff]/.test(plain) ? Buffer.from(plain) : Buffer.from(plain, 'latin1');
}

// RFC 2047 §2: a word has 75 characters at most, a line with words 76. 45 bytes make 60 characters of base64,
// which `=?UTF-8?B?` and `?=` bring to 72.
const maxWordBytes = 45;
const maxLineLength = 76;
const wordFrame = 12;

/**
 * Encodes text as words of base64 over UTF-8, joined by blanks; no character is split between words
 * (RFC 2047 §5). The first word leaves room for so many characters before it on its line.
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
