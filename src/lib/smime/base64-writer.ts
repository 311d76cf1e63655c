import { viewAsBuffer } from '../../core/index.ts';

/** 57 bytes make a line of 76 characters, and CRLF ends it (RFC 2045 §6.8). */
const lineBytes = 57;
const lineLength = 76;
const linesAtOnce = 1024;

/** The size of so many bytes in base64 with a CRLF after every line, the last included. */
export function base64LinesSize(sizeBytes: number): number {
  const characters = Math.ceil(sizeBytes / 3) * 4;
  return characters + Math.ceil(characters / lineLength) * 2;
}

export interface Base64Writer {
  write(bytes: Uint8Array): void;
  /** Writes what is left and returns the offset behind it. */
  finish(): number;
}

/**
 * Writes base64 lines into a buffer that is large enough, from chunks of any size. A large message takes the size of its output and
 * one block of fixed size, and no long strings.
 */
export function createBase64Writer(target: Buffer, offset: number): Base64Writer {
  const view = new DataView(target.buffer, target.byteOffset, target.length);
  const linesInAll = Math.ceil((target.length - offset) / (lineLength + 2));
  const characters = Buffer.allocUnsafe(lineLength * Math.min(linesAtOnce, linesInAll));
  // The start of a line that the next chunk completes.
  const started = Buffer.allocUnsafe(lineBytes);
  let startedBytes = 0;
  let at = offset;

  function writeLines(bytes: Buffer, from: number, end: number): void {
    for (let block = from; block < end; block += lineBytes * linesAtOnce) {
      const size = characters.write(
        bytes.toString('base64', block, Math.min(block + lineBytes * linesAtOnce, end)),
        'latin1',
      );
      at = copyLines(characters, size, view, at);
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
 * Copies whole lines eight characters at a time and puts CRLF between them. A base64 character is below 0x7b, so eight of them are
 * never the bits of a NaN, which a copy as a number might change.
 */
function copyLines(characters: Buffer, size: number, target: DataView, offset: number): number {
  const source = new DataView(characters.buffer, characters.byteOffset, size);
  let to = offset;
  for (let from = 0; from < size; from += lineLength) {
    for (let index = 0; index < 72; index += 8) {
      target.setFloat64(to + index, source.getFloat64(from + index, true), true);
    }
    target.setUint32(to + 72, source.getUint32(from + 72, true), true);
    target.setUint16(to + lineLength, 0x0d0a);
    to += lineLength + 2;
  }
  return to;
}
