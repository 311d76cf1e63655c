import { viewAsBuffer } from '../../core/index.ts';

const lineBytes = 57;
const lineLength = 76;
/** A line with its line end. */
const lineStride = lineLength + 2;
/**
 * Encoded at a time: small enough that the characters are still in the processor's cache when they are moved.
 */
const blockBytes = 1024 * lineBytes;

/** The number of bytes that so many take in base64 lines. */
export function base64LinesLength(sizeBytes: number): number {
  const characters = Math.ceil(sizeBytes / 3) * 4;
  return characters + Math.ceil(characters / lineLength) * 2;
}

/**
 * Writes base64 in lines of 76 characters, each ended by CRLF, the last one too (RFC 2045 §6.8); nothing for
 * no bytes. Returns the offset behind it.
 */
export function writeBase64Lines(bytes: Uint8Array, target: Buffer, offset: number): number {
  const writer = createBase64Writer(target, offset);
  writer.write(bytes);
  return writer.finish();
}

export interface Base64Writer {
  write(bytes: Uint8Array): void;
  /** Writes the remaining bytes and returns the offset after them. */
  finish(): number;
}

/** Writes base64 lines from chunks of any size into a buffer with room for all of them. It keeps no chunk. */
export function createBase64Writer(target: Buffer, offset: number): Base64Writer {
  const view = new DataView(target.buffer, target.byteOffset, target.length);
  // The start of a line that the next chunk completes.
  const started = Buffer.allocUnsafe(lineBytes);
  let startedBytes = 0;
  let at = offset;

  function writeLines(bytes: Buffer, start: number, end: number): void {
    for (let from = start; from < end; from += blockBytes) {
      const to = Math.min(from + blockBytes, end);
      const lines = (to - from) / lineBytes;
      target.write(bytes.toString('base64', from, to), at + lines * 2, 'latin1');
      at = spreadLines(view, at, lines);
    }
  }

  return {
    write: (chunk) => {
      const bytes = viewAsBuffer(chunk);
      let from = 0;
      if (startedBytes > 0) {
        from = bytes.copy(started, startedBytes);
        startedBytes += from;
        if (startedBytes < lineBytes) return;
        writeLines(started, 0, lineBytes);
      }
      const end = bytes.length - ((bytes.length - from) % lineBytes);
      writeLines(bytes, from, end);
      startedBytes = bytes.copy(started, 0, end);
    },
    finish: () => {
      if (startedBytes === 0) return at;
      return at + target.write(`${started.toString('base64', 0, startedBytes)}\r\n`, at, 'latin1');
    },
  };
}

/**
 * Puts line ends between encoded lines that stand together so far that way behind `start` as the line ends
 * take. Every line moves toward the start, each by two bytes less than the one before, so that none is
 * overwritten before it has moved. Returns the offset behind them. The runtime encodes fast but knows no
 * lines, and its own copy of a single line costs more than encoding it.
 */
function spreadLines(view: DataView, start: number, lines: number): number {
  let to = start;
  for (let from = start + lines * 2; to < from; from += lineLength) {
    moveEight(view, from, to);
    moveEight(view, from + 8, to + 8);
    moveEight(view, from + 16, to + 16);
    moveEight(view, from + 24, to + 24);
    moveEight(view, from + 32, to + 32);
    moveEight(view, from + 40, to + 40);
    moveEight(view, from + 48, to + 48);
    moveEight(view, from + 56, to + 56);
    moveEight(view, from + 64, to + 64);
    view.setUint32(to + 72, view.getUint32(from + 72));
    view.setUint16(to + lineLength, 0x0d0a);
    to += lineStride;
  }
  return to;
}

/**
 * A base64 character is below 0x7b, so eight of them are never the bits of a NaN, which a move as a number
 * might change.
 */
function moveEight(view: DataView, from: number, to: number): void {
  view.setFloat64(to, view.getFloat64(from, true), true);
}
