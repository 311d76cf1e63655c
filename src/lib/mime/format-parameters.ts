import { hasLineBreaker } from '../../core/index.ts';
import { MimeError } from './errors.ts';
import { formatHeader } from './header-lines.ts';

const tokenForm = /^[!#$%&'*+.^_`|~\w-]+$/;
const preferredLength = 76;
/**
 * Of a value in one piece: with its name it fits into a line of 998 (RFC 5322 §2.1.1), and simple readers
 * know no others.
 */
const maxPieceLength = 900;
const maxFallbackLength = 150;

/**
 * Writes a field `value; name=value…` (RFC 2045 §5.1), folded between parameters only: simple readers do not
 * unfold inside of quotes. ASCII is a token or one quoted string; any other text is written by RFC 2231,
 * after a plain ASCII form of it with the same extension for readers that do not know RFC 2231. Throws
 * MIME_MEDIA_TYPE_INVALID or MIME_HEADER_UNSAFE.
 */
export function formatParameterHeader(
  field: string,
  value: string,
  parameters: readonly (readonly [name: string, value: string])[],
): string {
  const lines = [formatHeader(field, value).trimEnd()];
  for (const piece of parameters.flatMap(([name, text]) => formatParameter(name, text))) {
    const last = lines.at(-1) ?? '';
    if (last.length + piece.length + 2 > preferredLength) lines.splice(-1, 1, `${last};`, ` ${piece}`);
    else lines.splice(-1, 1, `${last}; ${piece}`);
  }
  return `${lines.join('\r\n')}\r\n`;
}

function formatParameter(name: string, text: string): string[] {
  if (!tokenForm.test(name)) throw new MimeError('MIME_MEDIA_TYPE_INVALID', 'A parameter name is not legal');
  if (hasLineBreaker(text))
    throw new MimeError('MIME_HEADER_UNSAFE', `The parameter ${name} holds a line break`);
  // What looks like an encoded word would be decoded by many readers.
  if (/[^ -~]|=\?/.test(text) || text.length > maxPieceLength)
    return [quote(name, toPlain(text)), ...formatExtended(name, text.toWellFormed())];
  return [quote(name, text)];
}

/** Readers take apostrophes, stars and percent signs outside of quotes for those of RFC 2231. */
const plainForm = /^[\w.+-]+$/;

function quote(name: string, text: string): string {
  return `${name}=${plainForm.test(text) ? text : `"${text.replace(/[\\"]/g, '\\$&')}"`}`;
}

const plainLetters: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  Æ: 'AE',
  œ: 'oe',
  Œ: 'OE',
  ø: 'o',
  Ø: 'O',
  ł: 'l',
  Ł: 'L',
  đ: 'd',
  Đ: 'D',
  ð: 'd',
  þ: 'th',
  ı: 'i',
  '–': '-',
  '—': '-',
  '’': "'",
};

/**
 * Letters without their marks, `_` for what has no plain form; the extension is kept when the name is cut.
 */
function toPlain(text: string): string {
  const plain = Array.from(text.normalize('NFKD'), (letter) => plainLetters[letter] ?? letter)
    .join('')
    .replace(/\p{Mn}+/gu, '')
    .replace(/[^ -~]+|["\\]|=\?/g, '_');
  const extension = /\.\w{1,10}$/.exec(plain)?.[0] ?? '';
  const stem = plain
    .slice(0, plain.length - extension.length)
    .slice(0, maxFallbackLength)
    .trim();
  return `${/[A-Za-z0-9]/.test(stem) ? stem : 'document'}${extension}`;
}

function formatExtended(name: string, text: string): string[] {
  const units = Array.from(Buffer.from(text), (byte) => {
    const character = String.fromCharCode(byte);
    return /[\w.-]/.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  });
  // Fewer readers know the continuations of RFC 2231 §3, so a value is split only where no line could hold
  // it.
  const segments = [''];
  for (const unit of units) {
    const last = segments.length - 1;
    if ((segments[last] ?? '').length + unit.length > maxPieceLength) segments.push(unit);
    else segments[last] += unit;
  }
  if (segments.length === 1) return [`${name}*=UTF-8''${segments[0]}`];
  return segments.map((segment, index) => `${name}*${index}*=${index === 0 ? "UTF-8''" : ''}${segment}`);
}
