import type { SMTPStream } from 'smtp-server/lib/smtp-stream.js';

const [lineFeed, dot] = [0x0a, 0x2e];
/** As many as the library keeps for the next step: the beginning of an end may be split between two chunks. */
const keptBytes = 4;
/** For fewer, two steps cost more than the library's one. */
const leastBytes = 1024;
/** Each dot is a call; a chunk with more of them is left to the library from there on. */
const maxDots = 500;

/**
 * The library looks at each byte of a message for a dot that begins a line. Here native code finds the dots, and what stands before the
 * first that begins a line is passed on at once; the rest of the chunk, the end of the message with it, is left to the library.
 */
export function passPlainData(parser: SMTPStream): void {
  const feed = parser._feedDataStream.bind(parser);
  parser._feedDataStream = (chunk, done) => {
    const { _dataStream: stream, _lastBytes: last } = parser;
    const plain = last !== false && last.includes(dot) ? 0 : findPlainLength(chunk);
    if (plain < leastBytes || stream?.writable !== true) return feed(chunk, done);
    const passOn = (bytes: Buffer): boolean => {
      parser._countDataBytes(bytes.length);
      return stream.write(bytes);
    };
    const next = (): void => (plain < chunk.length ? feed(chunk.subarray(plain), done) : done());
    if (last !== false && last.length > 0) passOn(last);
    parser._lastBytes = chunk.subarray(plain - keptBytes, plain);
    if (passOn(chunk.subarray(0, plain - keptBytes)) || stream.destroyed) return next();
    const onFree = (): void => {
      stream.off('drain', onFree);
      stream.off('close', onFree);
      next();
    };
    stream.on('drain', onFree);
    stream.on('close', onFree);
  };
}

/** The bytes before the CRLF of the first dot that begins a line; a dot at the beginning of the chunk may be one. */
function findPlainLength(chunk: Buffer): number {
  let at = chunk.indexOf(dot);
  for (let seen = 0; at >= 0; at = chunk.indexOf(dot, at + 1)) {
    if (at === 0 || chunk[at - 1] === lineFeed || ++seen > maxDots) return at - 2;
  }
  return chunk.length;
}
