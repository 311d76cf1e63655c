import { DirectoryError } from '../../errors.ts';
import { maxResourceBytes } from '../../limits.ts';

/** Called for one line: its place in `bytes`, without the end of line, and its number, from 1. */
export type LineListener = (bytes: Buffer, start: number, end: number, line: number) => void;

const lineFeed = 10;

/**
 * Cuts pieces into lines where they lie, without copying more than the line that spans two pieces, and yields
 * the number of lines so far after each piece. Empty lines are counted but not passed on. Throws
 * DIRECTORY_FILE_BROKEN for a line longer than `maxBytes`.
 */
export async function* scanLines(
  pieces: AsyncIterable<Buffer>,
  onLine: LineListener,
  maxBytes = maxResourceBytes,
): AsyncGenerator<number> {
  let line = 0;
  const carry = createLineCarry(maxBytes, () => line + 1);
  const emit = (bytes: Buffer, start: number, end: number): void => {
    line++;
    if (end > start) onLine(bytes, start, end, line);
  };
  for await (const piece of pieces) {
    let start = 0;
    if (carry.length > 0) {
      const end = piece.indexOf(lineFeed);
      carry.add(end < 0 ? piece : piece.subarray(0, end));
      if (end >= 0) {
        const whole = carry.take();
        emit(whole, 0, whole.length);
      }
      start = end < 0 ? piece.length : end + 1;
    }
    for (let end = piece.indexOf(lineFeed, start); end >= 0; end = piece.indexOf(lineFeed, start)) {
      emit(piece, start, end);
      start = end + 1;
    }
    if (start < piece.length) carry.add(piece.subarray(start));
    yield line;
  }
  if (carry.length === 0) return;
  const last = carry.take();
  emit(last, 0, last.length);
  yield line;
}

/** The beginning of a line that continues in the next chunk. */
function createLineCarry(maxBytes: number, lineNumber: () => number) {
  let chunks: Buffer[] = [];
  let length = 0;
  return {
    get length() {
      return length;
    },
    add(part: Buffer) {
      length += part.length;
      if (length > maxBytes)
        throw new DirectoryError(
          'DIRECTORY_FILE_BROKEN',
          `Line ${lineNumber()} is longer than ${maxBytes} bytes`,
        );
      chunks.push(part);
    },
    take(): Buffer {
      const whole = Buffer.concat(chunks, length);
      chunks = [];
      length = 0;
      return whole;
    },
  };
}
