import { decodeCharset } from './charset.ts';
import { decodeWords } from './encoded-words.ts';

/** A structured value with parameters, for example `attachment; filename="a.pdf"`. */
export interface ParameterizedValue {
  /** Lower-cased, for example `text/plain` or `attachment`. */
  readonly value: string;
  /** By lower-cased name; RFC 2231 continuations joined and decoded. The first of several equal names counts. */
  readonly parameters: ReadonlyMap<string, string>;
}

const maxParameters = 100;
const segmentName = /^([^*]{1,100})(?:\*(\d{1,3}))?(\*)?$/;

interface Segment {
  readonly index: number;
  readonly isEncoded: boolean;
  readonly text: string;
}

/** Reads `value; name=value…` leniently (RFC 2045 §5.1, RFC 2231): comments, missing quotes and odd blanks are accepted. */
export function parseParameters(text: string): ParameterizedValue {
  const [head = '', ...rest] = splitAtSemicolons(stripComments(text));
  const segments = new Map<string, Segment[]>();
  for (const item of rest.slice(0, maxParameters)) addSegment(segments, item);
  const parameters = new Map<string, string>();
  for (const [name, list] of segments) parameters.set(name, joinSegments(list));
  return { value: head.trim().toLowerCase(), parameters };
}

function addSegment(segments: Map<string, Segment[]>, item: string): void {
  const equals = item.indexOf('=');
  if (equals <= 0) return;
  const match = segmentName.exec(item.slice(0, equals).trim().toLowerCase());
  if (match?.[1] === undefined) return;
  const segment: Segment = {
    index: Number(match[2] ?? 0),
    isEncoded: match[3] !== undefined,
    text: unquote(item.slice(equals + 1).trim()),
  };
  const list = segments.get(match[1]);
  if (list === undefined) segments.set(match[1], [segment]);
  else list.push(segment);
}

/** RFC 2231 §3 and §4: segments in the order of their numbers, the character set taken from the first. */
function joinSegments(list: readonly Segment[]): string {
  const first = list.find((segment) => segment.index === 0 && segment.isEncoded) ?? list[0];
  if (first === undefined) return '';
  if (list.length === 1 && !first.isEncoded) return decodeWords(first.text);
  const charset = first.isEncoded ? (first.text.split("'", 1)[0] ?? '') : '';
  const bytes: Buffer[] = [];
  const seen = new Set<number>();
  for (const segment of list.toSorted((a, b) => a.index - b.index)) {
    if (seen.has(segment.index) || (segment.index === 0 && segment !== first)) continue;
    seen.add(segment.index);
    bytes.push(
      segment.isEncoded
        ? decodePercent(segment === first ? afterLanguage(segment.text) : segment.text)
        : Buffer.from(segment.text),
    );
  }
  return decodeCharset(Buffer.concat(bytes), charset);
}

function afterLanguage(text: string): string {
  const parts = text.split("'");
  return parts.length < 3 ? text : parts.slice(2).join("'");
}

function decodePercent(text: string): Buffer {
  return Buffer.from(
    Buffer.from(text)
      .toString('latin1')
      .replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  );
}

/** Writers escape quotes and backslashes; before anything else a backslash is one, as in the Windows paths of careless senders. */
function unquote(text: string): string {
  if (!text.startsWith('"')) return text;
  const end = text.length > 1 && text.endsWith('"') ? -1 : undefined;
  return text.slice(1, end).replace(/\\(["\\])/g, '$1');
}

function splitAtSemicolons(text: string): string[] {
  const items: string[] = [];
  let isQuoted = false;
  let start = 0;
  for (let index = 0; index < text.length; index++) {
    const character = text[index];
    if (character === '\\' && isQuoted) index++;
    else if (character === '"') isQuoted = !isQuoted;
    else if (character === ';' && !isQuoted) {
      items.push(text.slice(start, index));
      start = index + 1;
    }
  }
  items.push(text.slice(start));
  return items;
}

/** Removes comments in parentheses that stand outside of quotes (RFC 5322 §3.2.2). */
export function stripComments(text: string): string {
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
    else if (character === ')' && depth > 0) depth--;
    else if (depth === 0) result += character;
  }
  return depth > 0 ? text : result;
}
