const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;
const comma = 0x2c;
const openBrace = 0x7b;

/** Position of an id. */
export interface Span {
  start: number;
  end: number;
}

// A resource's id precedes anything long, so the search ends after this many bytes.
const maxPrefixBytes = 400;

/**
 * Finds the id of a resource at the beginning of its line without parsing the line: among the first members,
 * as long as their values are plain texts. False if it is not there; the line may have one all the same.
 */
export function findResourceId(bytes: Buffer, start: number, end: number, out: Span): boolean {
  const limit = Math.min(end, start + maxPrefixBytes);
  let at = skipBlank(bytes, start, limit);
  if (bytes[at] !== openBrace) return false;
  do {
    at = skipBlank(bytes, at + 1, limit);
    if (bytes[at] !== quote) return false;
    const nameStart = at + 1;
    const nameEnd = endOfText(bytes, nameStart, limit);
    if (nameEnd < 0) return false;
    at = skipBlank(bytes, nameEnd + 1, limit);
    if (bytes[at] !== colon) return false;
    at = skipBlank(bytes, at + 1, limit);
    if (bytes[at] !== quote) return false;
    const valueEnd = endOfText(bytes, at + 1, limit);
    if (valueEnd < 0) return false;
    if (nameEnd - nameStart === 2 && bytes[nameStart] === 0x69 && bytes[nameStart + 1] === 0x64) {
      out.start = at + 1;
      out.end = valueEnd;
      return true;
    }
    at = skipBlank(bytes, valueEnd + 1, limit);
  } while (bytes[at] === comma);
  return false;
}

function skipBlank(bytes: Buffer, from: number, limit: number): number {
  let at = from;
  while (at < limit && (bytes[at] === 0x20 || bytes[at] === 0x09 || bytes[at] === 0x0d)) at++;
  return at;
}

/** The closing quote, or -1 for a text that is escaped or continues too long. */
function endOfText(bytes: Buffer, from: number, limit: number): number {
  for (let at = from; at < limit; at++) {
    if (bytes[at] === quote) return at;
    if (bytes[at] === backslash) return -1;
  }
  return -1;
}
