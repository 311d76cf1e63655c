import { viewAsBuffer } from '../../core/index.ts';

const LF = 0x0a;
const CR = 0x0d;
const DASH = 0x2d;
const lineStart = Buffer.from('\n--');
/**
 * After so many lines that begin with two dashes but are no delimiter, a plain loop is cheaper than
 * searching.
 */
const maxSearchMisses = 5000;

/** The body of a multipart, cut; all of it are views. */
export interface SplitBody {
  /** The exact bytes of each part. */
  readonly parts: readonly Buffer[];
  /**
   * What stands before the first delimiter, and behind the last or between a last one and another; without
   * what is empty.
   */
  readonly outside: readonly Buffer[];
}

/**
 * Cuts the body of a multipart into the exact bytes of its parts (RFC 2046 §5.1.1), without copying. The line
 * end before a delimiter belongs to the delimiter. A missing last delimiter is tolerated: the last part then
 * reaches to the end. Behind a last delimiter others begin more parts, unless `isStrict`. Stops after
 * `maxParts + 1` parts, so that the caller sees the excess. Linear in the
 * length of the body.
 */
export function splitParts(
  body: Uint8Array,
  boundary: string,
  { maxParts, isStrict = false }: { readonly maxParts: number; readonly isStrict?: boolean },
): SplitBody {
  const bytes = viewAsBuffer(body);
  const delimiter = Buffer.from(`--${boundary}`, 'latin1');
  const parts: Buffer[] = [];
  const outside: Buffer[] = [];
  let partStart = -1;
  let outsideStart = 0;
  let misses = 0;
  // Positions are those of the line feed before a line; -1 stands for the one before the first line.
  let position = bytes[0] === DASH && bytes[1] === DASH ? -1 : nextDashedLine(bytes, 0, misses);
  while (position >= -1 && position < bytes.length && parts.length <= maxParts) {
    const line = readDelimiter(bytes, position + 1, delimiter);
    if (line === undefined) {
      misses++;
    } else {
      if (partStart >= 0)
        parts.push(bytes.subarray(partStart, Math.max(partStart, endOfPart(bytes, position))));
      else if (position > outsideStart) outside.push(bytes.subarray(outsideStart, position));
      if (line.isLast) {
        partStart = -1;
        outsideStart = line.next;
        if (isStrict || outside.length > maxParts) break;
      } else partStart = line.next;
    }
    // An empty part's delimiter begins right where the last one ended: its line feed is that line's own.
    position = nextDashedLine(bytes, line === undefined ? position + 1 : line.next - 1, misses);
  }
  if (partStart >= 0 && partStart < bytes.length && parts.length <= maxParts)
    parts.push(bytes.subarray(partStart));
  if (partStart < 0 && outsideStart < bytes.length) outside.push(bytes.subarray(outsideStart));
  return { parts, outside };
}

function endOfPart(bytes: Buffer, lineFeed: number): number {
  return lineFeed > 0 && bytes[lineFeed - 1] === CR ? lineFeed - 1 : lineFeed;
}

/** The next line feed that two dashes follow, or the length of the bytes. */
function nextDashedLine(bytes: Buffer, from: number, misses: number): number {
  if (misses < maxSearchMisses) {
    const found = bytes.indexOf(lineStart, Math.max(from, 0));
    return found < 0 ? bytes.length : found;
  }
  for (let index = Math.max(from, 0); index < bytes.length; index++) {
    if (bytes[index] === LF && bytes[index + 1] === DASH && bytes[index + 2] === DASH) return index;
  }
  return bytes.length;
}

/** A delimiter line: the delimiter, perhaps two dashes, blanks, a line end. Anything else is content. */
function readDelimiter(
  bytes: Buffer,
  start: number,
  delimiter: Buffer,
): { readonly isLast: boolean; readonly next: number } | undefined {
  let index = start + delimiter.length;
  if (!startsWithAt(bytes, start, delimiter)) return undefined;
  const isLast = bytes[index] === DASH && bytes[index + 1] === DASH;
  if (isLast) index += 2;
  while (bytes[index] === 0x20 || bytes[index] === 0x09) index++;
  if (bytes[index] === CR && bytes[index + 1] === LF) index++;
  if (index < bytes.length && bytes[index] !== LF) return undefined;
  return { isLast, next: Math.min(index + 1, bytes.length) };
}

// A delimiter holds no line feed, so that comparing byte by byte reads no byte of the body more than twice.
function startsWithAt(bytes: Buffer, start: number, expected: Buffer): boolean {
  for (let index = 0; index < expected.length; index++) {
    if (bytes[start + index] !== expected[index]) return false;
  }
  return true;
}
