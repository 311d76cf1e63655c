import { decodeCharset, isKnownCharset } from './charset.ts';
import { decodeWords } from './encoded-words.ts';

/** A structured value with parameters, for example `attachment; filename="a.pdf"`. */
export interface ParameterizedValue {
  /** Lower-cased, for example `text/plain` or `attachment`. */
  readonly value: string;
  /**
   * By lower-cased name; RFC 2231 continuations joined and decoded. The first of several equal names counts.
   */
  readonly parameters: ReadonlyMap<string, string>;
}

const maxParameters = 100;
const segmentName = /^([^*]{1,100})(?:\*(\d{1,3}))?(\*)?$/;

interface Segment {
  readonly index: number;
  readonly isEncoded: boolean;
  readonly text: string;
}

/**
 * Names of files; their text is decoded, and keeps parentheses. No other parameter may hold an encoded word
 * (RFC 2047 §5).
 */
const isName = (name: string): boolean => name === 'name' || name === 'filename';

/**
 * Reads `value; name=value…` leniently (RFC 2045 §5.1, RFC 2231): comments, missing quotes and odd blanks are
 * accepted, and a parameter that stands in place of the value, or behind it without a semicolon.
 */
export function parseParameters(text: string): ParameterizedValue {
  const [first = '', ...rest] = splitAtSemicolons(text.startsWith('=?') ? decodeWords(text) : text);
  const head = stripComments(first).trim();
  const stray = /(?:^|\s)[\w*-]{1,40}\s*=/.exec(head);
  const value = head.slice(0, stray?.index);
  const segments = new Map<string, Segment[]>();
  for (const item of [head.slice(value.length), ...rest].slice(0, maxParameters)) addSegment(segments, item);
  const parameters = new Map<string, string>();
  for (const [name, list] of segments) {
    const joined = joinSegments(list);
    // What RFC 2231 has encoded is no encoded word, whatever it looks like.
    const holdsWords = isName(name) && list.some((segment) => segment.text.includes('=?'));
    parameters.set(name, holdsWords ? decodeWords(joined) : joined);
  }
  return { value: value.trim().toLowerCase(), parameters };
}

function addSegment(segments: Map<string, Segment[]>, item: string): void {
  const equals = item.indexOf('=');
  if (equals <= 0) return;
  const name = stripComments(item.slice(0, equals)).trim().toLowerCase();
  const match = segmentName.exec(name.replace(/^\*+/, ''));
  if (match?.[1] === undefined) return;
  const written = item.slice(equals + 1).trim();
  const keepsParentheses = isName(match[1]) && !written.startsWith('"');
  const segment: Segment = {
    index: Number(match[2] ?? 0),
    isEncoded: match[3] !== undefined,
    text: unquote(keepsParentheses ? withoutApostrophes(written) : stripComments(written).trim()),
  };
  const list = segments.get(match[1]);
  if (list === undefined) segments.set(match[1], [segment]);
  else list.push(segment);
}

/** RFC 2231 §3 and §4: segments in the order of their numbers, the character set taken from the first. */
function joinSegments(list: readonly Segment[]): string {
  const first =
    list.find(({ index, isEncoded }) => index === 0 && isEncoded) ??
    list.find(({ index }) => index === 0) ??
    list[0];
  if (first === undefined) return '';
  if (list.length === 1 && !first.isEncoded) return first.text;
  const charset = first.isEncoded ? charsetOf(first.text) : '';
  const bytes: Buffer[] = [];
  const seen = new Set<number>();
  for (const segment of list.toSorted((a, b) => a.index - b.index)) {
    if (seen.has(segment.index) || (segment.index === 0 && segment !== first)) continue;
    seen.add(segment.index);
    bytes.push(
      segment.isEncoded
        ? decodePercent(
            segment === first && charset !== undefined ? afterLanguage(segment.text) : segment.text,
          )
        : Buffer.from(segment.text),
    );
  }
  return decodeCharset(Buffer.concat(bytes), charset);
}

/**
 * Undefined if what stands before the apostrophes is none: they then belong to the text, as in
 * `O''Brien.pdf`.
 */
function charsetOf(text: string): string | undefined {
  const [charset = '', language, ...rest] = text.split("'");
  if (language === undefined) return undefined;
  if (rest.length === 0) return isCutCharset(charset) ? charset : undefined;
  // No word of a language, though nobody may know it.
  const isNamed =
    language === '' && /^(?:x-[\w.:-]+|[\w.:-]*\d[\w.:-]*)$/i.test(charset) && charset.length <= 40;
  return isNamed || isKnownCharset(charset) ? charset : undefined;
}

/** Before a single apostrophe, as some programs write it; `greek's.pdf` is the name of a file. */
function isCutCharset(charset: string): boolean {
  return /^(?:[\w.:-]*[\d_-][\w.:-]*|ascii|gbk)$/i.test(charset) && isKnownCharset(charset);
}

function afterLanguage(text: string): string {
  return text.split("'").length < 3 ? text.slice(text.indexOf("'") + 1) : text.split("'").slice(2).join("'");
}

function decodePercent(text: string): Buffer {
  return Buffer.from(
    Buffer.from(text)
      .toString('latin1')
      .replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  );
}

/**
 * Writers escape quotes and backslashes; before anything else a backslash is one, as in the Windows paths of
 * careless senders.
 */
function unquote(text: string): string {
  if (!text.startsWith('"')) return text;
  const end = text.length > 1 && text.endsWith('"') ? -1 : undefined;
  return text.slice(1, end).replace(/\\(["\\])/g, '$1');
}

/** Some senders quote a name with apostrophes, or with the quotes of a word processor. */
function withoutApostrophes(text: string): string {
  return /^(?:'[^']+'|“[^”]+”)$/.test(text) ? text.slice(1, -1) : text;
}

/** What a semicolon must stand before to end a quoted string that nothing else ends. */
const nextParameter = /^[ \t]*[\w*-]{1,40}[ \t]*=/;

/** Outside of quotes and of comments that end. */
function splitAtSemicolons(text: string): string[] {
  const items: string[] = [];
  let isQuoted = false;
  // A parenthesis that nothing closes is a character.
  let isOpen = false;
  let start = 0;
  const lastQuote = text.lastIndexOf('"');
  for (let index = 0; index < text.length; index++) {
    const character = text[index];
    if (character === '\\' && isQuoted) index++;
    else if (character === '"') isQuoted = !isQuoted;
    else if (isQuoted) {
      if (character !== ';' || index < lastQuote || !nextParameter.test(text.slice(index + 1, index + 100)))
        continue;
      items.push(text.slice(start, index));
      start = index + 1;
      isQuoted = false;
    } else if (character === '(' && !isOpen) {
      const end = endOfComment(text, index);
      isOpen = end === undefined;
      index = end ?? index;
    } else if (character === ';') {
      items.push(text.slice(start, index));
      start = index + 1;
    }
  }
  items.push(text.slice(start));
  return items;
}

/** The offset of the parenthesis that ends the comment. */
function endOfComment(text: string, start: number): number | undefined {
  let depth = 0;
  for (let index = start; index < text.length; index++) {
    const character = text[index];
    if (character === '\\') index++;
    else if (character === '(') depth++;
    else if (character === ')' && --depth === 0) return index;
  }
  return undefined;
}

/** Puts `gap` in place of comments in parentheses that stand outside of quotes (RFC 5322 §3.2.2). */
export function stripComments(text: string, gap = ''): string {
  if (!text.includes('(')) return text;
  let result = '';
  let depth = 0;
  let isQuoted = false;
  for (let index = 0; index < text.length; index++) {
    const character = text[index] ?? '';
    if (character === '\\' && (isQuoted || depth > 0)) {
      if (depth === 0) result += text.slice(index, index + 2);
      index++;
    } else if (character === '"' && depth === 0) {
      isQuoted = !isQuoted;
      result += character;
    } else if (character === '(' && !isQuoted) depth++;
    else if (character === ')' && depth > 0) {
      depth--;
      if (depth === 0) result += gap;
    } else if (depth === 0) result += character;
  }
  return depth > 0 ? text : result;
}
