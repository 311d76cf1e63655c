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
 * Finds data that JSON.parse would silently change or drop in a body that it accepts: bytes that are not
 * UTF-8, half a surrogate pair, and a name that an object has twice (RFC 8259 §4, RFC 8259 §8). The field is
 * a path such as `list[0].name`.
 */
export function findJsonProblem(bytes: Uint8Array): FieldProblem | undefined {
  const buffer = viewAsBuffer(bytes);
  return isUtf8(buffer) ? findInText(buffer.toString('utf8')) : findNotUtf8(buffer.toString('latin1'));
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

function findNotUtf8(latin1: string): FieldProblem {
  let field = '';
  visitStrings(latin1, (raw, path) => {
    if (isUtf8(Buffer.from(raw, 'latin1'))) return false;
    field = printable(path);
    return true;
  });
  return {
    field,
    reason: 'not_utf8',
    detail: `${field === '' ? 'The body' : field} is not UTF-8, the only encoding of JSON.`,
  };
}

function findInText(text: string): FieldProblem | undefined {
  let problem: FieldProblem | undefined;
  visitStrings(text, (raw, path, isRepeated) => {
    const field = printable(path);
    if (isRepeated)
      problem = { field, reason: 'duplicate', detail: `${field} is there more than once in its object.` };
    else if (surrogateEscape.test(raw) && !decodeString(raw).isWellFormed())
      problem = {
        field,
        reason: 'not_utf8',
        detail: `${field === '' ? 'The body' : field} contains half a surrogate pair.`,
      };
    return problem !== undefined;
  });
  return problem;
}

const surrogateEscape = /\\u[dD][89a-fA-F]/;

interface Level {
  /** Of an object: the names so far. */
  readonly names: Set<string> | undefined;
  readonly path: string;
  /** Path of the member or item that is being read. */
  current: string;
  index: number;
}

/**
 * Visits each string, names included, as it is written between its quotes, until `visit` returns true.
 * Between strings only the structure is read, and strings are skipped by `indexOf`: a body is mostly one long
 * attachment.
 */
function visitStrings(
  text: string,
  visit: (raw: string, path: string, isRepeatedName: boolean) => boolean,
): void {
  const levels: Level[] = [];
  for (let at = 0; at < text.length; at++) {
    const level = levels.at(-1);
    switch (text.charAt(at)) {
      case '{':
      case '[': {
        const path = level?.current ?? '';
        const isObject = text.charAt(at) === '{';
        levels.push({
          names: isObject ? new Set() : undefined,
          path,
          current: isObject ? path : extend(path, '[0]'),
          index: 0,
        });
        break;
      }
      case '}':
      case ']':
        levels.pop();
        break;
      case ',':
        if (level !== undefined && level.names === undefined)
          level.current = extend(level.path, `[${++level.index}]`);
        break;
      case '"': {
        const end = findEnd(text, at + 1);
        const raw = text.slice(at + 1, end);
        at = end;
        const isRepeated = level?.names !== undefined && isName(text, end) && noteName(level, raw);
        if (visit(raw, level?.current ?? '', isRepeated)) return;
        break;
      }
      default:
    }
  }
}

/** True if the object has the name already. */
function noteName(level: Level, raw: string): boolean {
  const name = raw.includes('\\') ? decodeString(raw) : raw;
  level.current = extend(level.path, level.path === '' ? name : `.${name}`);
  if (level.names?.has(name) === true) return true;
  level.names?.add(name);
  return false;
}

function findEnd(text: string, from: number): number {
  for (let quote = text.indexOf('"', from); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let backslashes = 0;
    while (text.charAt(quote - 1 - backslashes) === '\\') backslashes++;
    if (backslashes % 2 === 0) return quote;
  }
  return text.length;
}

function isName(text: string, end: number): boolean {
  let at = end + 1;
  while (' \t\n\r'.includes(text.charAt(at)) && at < text.length) at++;
  return text.charAt(at) === ':';
}

function decodeString(raw: string): string {
  try {
    return JSON.parse(`"${raw}"`) as string;
  } catch {
    return raw;
  }
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
