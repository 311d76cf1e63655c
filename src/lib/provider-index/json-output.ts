/** Bytes being written one after the other, made for many short pieces: a call of a native copy would cost more than they do. */
export interface JsonOutput {
  /** Ensures capacity for so many more bytes; the `put` functions do not check it. */
  reserve(bytes: number): void;
  /** The bytes [start, end) of a text. */
  put(text: ByteText, start: number, end: number): void;
  putAscii(text: string): void;
  /** A whole number from 0 to 2³¹ − 1 in decimal digits. */
  putDigits(value: number): void;
  putByte(byte: number): void;
  /** A copy of what was written; the next text begins. */
  take(): Uint8Array;
}

/** Bytes to copy from, with the view that reads four of them at once. */
export interface ByteText {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  /** From here on fewer than four bytes are left. */
  readonly lastWordEnd: number;
}

export function byteText(bytes: Uint8Array): ByteText {
  return {
    bytes,
    view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength),
    lastWordEnd: bytes.length - 3,
  };
}

/** A constant, with room behind it so that it is copied by whole words. */
export function constantText(text: string): ByteText & { readonly length: number } {
  const length = Buffer.byteLength(text);
  return { ...byteText(Uint8Array.from(Buffer.from(`${text}   `))), length };
}

// Copying by words may write this much beyond the end of a piece.
const overrun = 4;
const zero = 0x30;

export function createJsonOutput(initialBytes: number): JsonOutput {
  let target = new Uint8Array(initialBytes);
  let view = new DataView(target.buffer);
  let position = 0;

  return {
    reserve(bytes) {
      if (position + bytes + overrun <= target.length) return;
      const larger = new Uint8Array(Math.max(target.length * 2, position + bytes + overrun));
      larger.set(target.subarray(0, position));
      target = larger;
      view = new DataView(larger.buffer);
    },
    put({ bytes, view: source, lastWordEnd }, start, end) {
      const wordEnd = Math.min(end, lastWordEnd);
      let from = start;
      let to = position;
      for (; from < wordEnd; from += 4, to += 4) view.setUint32(to, source.getUint32(from, true), true);
      for (; from < end; from++, to++) target[to] = bytes[from] as number;
      position += end - start;
    },
    putAscii(text) {
      const to = position;
      for (let at = 0; at < text.length; at++) target[to + at] = text.charCodeAt(at);
      position = to + text.length;
    },
    putDigits(value) {
      let digits = 1;
      for (let bound = 10; value >= bound; bound *= 10) digits++;
      let left = value;
      for (let at = position + digits - 1; at >= position; at--) {
        const tenth = Math.floor(left / 10);
        target[at] = zero + left - tenth * 10;
        left = tenth;
      }
      position += digits;
    },
    putByte(byte) {
      target[position++] = byte;
    },
    take() {
      const written = target.slice(0, position);
      position = 0;
      return written;
    },
  };
}
