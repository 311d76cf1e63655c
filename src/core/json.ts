import { isUtf8 } from 'node:buffer';
import { viewAsBuffer } from './bytes.ts';
import { errorText, type FieldProblem } from './errors.ts';

/** The object that a stored text is; undefined for what this service has not written. */
export function readJsonObject(json: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** The same for a list; empty for what this service has not written. */
export function readJsonList(json: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(json);
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}

/**
 * The problem of a text for which JSON.parse throws this error, with its place if V8 names one. V8's message
 * may repeat the text, so nothing else of it is used.
 */
export function describeBadJson(error: unknown): FieldProblem {
  const [, line, column] =
    / in JSON at position \d+ \(line (\d+) column (\d+)\)$/.exec(errorText(error)) ?? [];
  const place = line === undefined ? '' : ` (line ${line}, column ${column})`;
  return { field: '', reason: 'malformed', detail: `The body is not JSON${place}.` };
}

/** What a JSON text may hold. */
export interface JsonLimits {
  readonly maxDepth: number;
  /** Names of members of all objects together. */
  readonly maxNames: number;
  /** Values of any type, names included. */
  readonly maxValues: number;
  readonly maxNameBytes: number;
  /** Of a number or word: JavaScript's longest number has 25. */
  readonly maxLiteralBytes: number;
  /** A name may be there twice in an object, and a text need not be UTF-8: the reader takes what it gets. */
  readonly isLenient?: boolean;
}

/** No body of the API has a tenth of it. */
export const jsonLimits: JsonLimits = {
  maxDepth: 32,
  maxNames: 5000,
  maxValues: 20_000,
  maxNameBytes: 256,
  maxLiteralBytes: 400,
};

const [quote, backslash, colon, comma] = [0x22, 0x5c, 0x3a, 0x2c];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];
const [space, tab, lineFeed, carriageReturn] = [0x20, 0x09, 0x0a, 0x0d];

interface Level {
  /** Of an object: the names so far. */
  readonly names: Set<string> | undefined;
  readonly path: string;
  /** Of an object: the path of the member that is being read. */
  member: string;
  /** Of an array: the item that is being read. */
  index: number;
}

/** Of the member or item that is being read. */
function pathIn(level: Level | undefined): string {
  if (level === undefined) return '';
  return level.names === undefined ? extend(level.path, `[${level.index}]`) : level.member;
}

/**
 * Finds what must not be parsed, or means something else to another reader, by one pass over the octets. What
 * costs memory and time out of proportion: JSON.parse makes 2.7 GB of 39 MB of `[`. And what JSON.parse
 * changes or drops in silence: bytes that are not UTF-8, half a surrogate pair, a name that an object has
 * twice (RFC 8259 §4, RFC 8259 §8). The field is a path such as `list[0].name`. A text that is not JSON is
 * read in the same way, and left to the parser.
 */
export function findJsonFault(json: Uint8Array, limits: JsonLimits = jsonLimits): FieldProblem | undefined {
  const bytes = viewAsBuffer(json);
  const isLenient = limits.isLenient === true;
  const isUtf8Text = isLenient || isUtf8(bytes);
  const levels: Level[] = [];
  let [names, values, literal] = [0, 0, 0];
  for (let at = 0; at < bytes.length; at++) {
    const level = levels.at(-1);
    const byte = bytes[at];
    if (byte === quote) {
      const end = findStringEnd(bytes, at + 1);
      const isName = bytes[skipBlanks(bytes, end + 1)] === colon;
      if (isName && end - at - 1 > limits.maxNameBytes)
        return excess('too_long', `a name of more than ${limits.maxNameBytes} bytes`);
      if (isName && ++names > limits.maxNames)
        return excess('too_many', `more than ${limits.maxNames} names`);
      const fault = isLenient
        ? undefined
        : findStringFault(bytes.subarray(at + 1, end), isName ? level : undefined, level, isUtf8Text);
      if (fault !== undefined) return fault;
      at = end;
      values++;
      literal = 0;
    } else if (byte === openBrace || byte === openBracket) {
      if (levels.length === limits.maxDepth)
        return excess('too_deep', `arrays or objects more than ${limits.maxDepth} levels deep`);
      const path = pathIn(level);
      levels.push({ names: byte === openBrace ? new Set() : undefined, path, member: path, index: 0 });
      values++;
      literal = 0;
    } else if (byte === closeBrace || byte === closeBracket) {
      levels.pop();
      literal = 0;
    } else if (byte === comma) {
      // Commas alone are no values: no path is made for each.
      if (level !== undefined) level.index++;
      literal = 0;
    } else if (byte === colon || isBlank(byte)) literal = 0;
    else if (literal++ === 0) values++;
    else if (literal > limits.maxLiteralBytes)
      return excess('too_long', `a number or word of more than ${limits.maxLiteralBytes} bytes`);
    if (values > limits.maxValues) return excess('too_many', `more than ${limits.maxValues} values`);
  }
  return isUtf8Text ? undefined : notUtf8('', 'is not UTF-8, the only encoding of JSON');
}

function excess(reason: string, what: string): FieldProblem {
  return { field: '', reason, detail: `The body has ${what}.` };
}

function notUtf8(field: string, what: string): FieldProblem {
  return { field, reason: 'not_utf8', detail: `${field === '' ? 'The body' : field} ${what}.` };
}

/** Of a string as it is written between its quotes; `named` is the object whose member's name it is. */
function findStringFault(
  raw: Buffer,
  named: Level | undefined,
  level: Level | undefined,
  isUtf8Text: boolean,
): FieldProblem | undefined {
  const isEscaped = raw.includes(backslash);
  const isRepeated = named?.names !== undefined && noteName(named, decodeString(raw, isEscaped));
  const field = (): string => printable(pathIn(level));
  if (!isUtf8Text && !isUtf8(raw)) return notUtf8(field(), 'is not UTF-8, the only encoding of JSON');
  if (isRepeated)
    return {
      field: field(),
      reason: 'duplicate',
      detail: `${field()} is there more than once in its object.`,
    };
  if (isEscaped && surrogateEscape.test(raw.toString('latin1')) && !decodeString(raw, true).isWellFormed())
    return notUtf8(field(), 'contains half a surrogate pair');
  return undefined;
}

const surrogateEscape = /\\u[dD][89a-fA-F]/;

/** True if the object has the name already. */
function noteName(level: Level, name: string): boolean {
  level.member = extend(level.path, level.path === '' ? name : `.${name}`);
  if (level.names?.has(name) === true) return true;
  level.names?.add(name);
  return false;
}

function decodeString(raw: Buffer, isEscaped: boolean): string {
  const text = raw.toString();
  if (!isEscaped) return text;
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return text;
  }
}

/** The place of the quote that ends a string which begins at `from`; the length of a text without one. */
export function findStringEnd(json: Buffer, from: number): number {
  for (let at = json.indexOf(quote, from); at >= 0; at = json.indexOf(quote, at + 1)) {
    let first = at;
    while (first > from && json[first - 1] === backslash) first--;
    if ((at - first) % 2 === 0) return at;
  }
  return json.length;
}

function isBlank(byte: number | undefined): boolean {
  return byte === space || byte === tab || byte === lineFeed || byte === carriageReturn;
}

function skipBlanks(json: Buffer, from: number): number {
  let at = from;
  while (isBlank(json[at])) at++;
  return at;
}

const maxPathLength = 200;

/**
 * A path is cut as it grows: each string below a name of a megabyte, or at a depth of 100,000, would copy all
 * of it.
 */
function extend(path: string, part: string): string {
  return path + part.slice(0, maxPathLength - path.length);
}

// Names come from the caller: nothing but plain characters.
function printable(path: string): string {
  return path.replaceAll(/[^\x20-\x7e]/g, '?');
}
