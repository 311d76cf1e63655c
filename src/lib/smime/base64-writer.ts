/** 57 bytes make a line of 76 characters, and CRLF ends it (RFC 2045 §6.8). */
const lineBytes = 57;
const lineLength = 76;
const linesAtOnce = 1024;
const stageBytes = lineBytes * linesAtOnce;

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
 * a fixed stage, and no long strings.
 */
export function createBase64Writer(target: Buffer, offset: number): Base64Writer {
  const stage = Buffer.allocUnsafe(stageBytes);
  const characters = Buffer.allocUnsafe(lineLength * linesAtOnce);
  let staged = 0;
  let at = offset;
  return {
    write: (bytes) => {
      for (let from = 0; from < bytes.length;) {
        const part = bytes.subarray(from, from + stageBytes - staged);
        stage.set(part, staged);
        staged += part.length;
        from += part.length;
        if (staged < stageBytes) return;
        characters.write(stage.toString('base64'), 'latin1');
        at = writeWholeLines(characters, target, at);
        staged = 0;
      }
    },
    finish: () => {
      for (let from = 0; from < staged; from += lineBytes) {
        at += target.write(stage.toString('base64', from, Math.min(from + lineBytes, staged)), at, 'latin1');
        at += target.write('\r\n', at, 'latin1');
      }
      return at;
    },
  };
}

/**
 * Copies lines eight characters at a time. A base64 character is below 0x7b, so eight of them are never the bits of a NaN, which a
 * copy as a number might change.
 */
function writeWholeLines(characters: Buffer, target: Buffer, offset: number): number {
  const source = new DataView(characters.buffer, characters.byteOffset, characters.length);
  const view = new DataView(target.buffer, target.byteOffset, target.length);
  let to = offset;
  for (let from = 0; from < characters.length; from += lineLength) {
    for (let index = 0; index < 72; index += 8)
      view.setFloat64(to + index, source.getFloat64(from + index, true), true);
    view.setUint32(to + 72, source.getUint32(from + 72, true), true);
    view.setUint16(to + lineLength, 0x0d0a);
    to += lineLength + 2;
  }
  return to;
}
