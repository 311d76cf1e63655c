import { takePage } from './page-memory.ts';
import type { ConstantText, Envelope } from './types.ts';

/** Bytes to copy from. */
export class ByteText {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly length: number;
  /** From here on too few bytes are left to copy a whole step. */
  readonly lastStepEnd: number;

  constructor(bytes: Uint8Array, length = bytes.length) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.length = length;
    this.lastStepEnd = bytes.length - stepBytes + 1;
  }
}

// Bytes copied at once; copying may write almost as many beyond the end of a piece.
const stepBytes = 8;
const zero = 0x30;
const noBytes = new Uint8Array(0);
const noEnvelope: Envelope = { before: noBytes, after: noBytes };

/** A constant, with room behind it so that it is copied by whole steps. */
export function constantText(text: string): ByteText {
  const bytes = Buffer.from(text);
  const padded = new Uint8Array(bytes.length + stepBytes);
  padded.set(bytes);
  return new ByteText(padded, bytes.length);
}

/** The implementation of a constant text. */
export interface ConstantBytes extends ConstantText {
  readonly bytes: ByteText;
}

export function keepText(text: string): ConstantText {
  const kept: ConstantBytes = { text, bytes: constantText(text) };
  return kept;
}

// Two digits of each byte, the first one in the lower half.
const hexPairs = Uint16Array.from({ length: 256 }, (_, byte) =>
  Buffer.from(byte.toString(16).padStart(2, '0')).readUInt16LE(),
);

/**
 * Bytes being written one after the other, made for many short pieces: a call of a native copy would cost
 * more than they do. A class, so that code compiled for one output serves those of all formats and indexes.
 */
export class JsonOutput {
  #target: Uint8Array;
  #view: DataView;
  #position = 0;

  constructor(initialBytes: number) {
    this.#target = new Uint8Array(initialBytes);
    this.#view = new DataView(this.#target.buffer);
  }

  /** Ensures capacity for so many more bytes; the `put` functions do not check it. */
  reserve(bytes: number): void {
    const needed = this.#position + bytes + stepBytes;
    if (needed <= this.#target.length) return;
    const larger = new Uint8Array(Math.max(this.#target.length * 2, needed));
    larger.set(this.#target.subarray(0, this.#position));
    this.#target = larger;
    this.#view = new DataView(larger.buffer);
  }

  /** The bytes [start, end) of a text. */
  put(text: ByteText, start: number, end: number): void {
    const source = text.view;
    const target = this.#view;
    const stepEnd = Math.min(end, text.lastStepEnd);
    let from = start;
    let to = this.#position;
    this.#position = to + end - start;
    for (; from < stepEnd; from += stepBytes, to += stepBytes) {
      target.setUint32(to, source.getUint32(from, true), true);
      target.setUint32(to + 4, source.getUint32(from + 4, true), true);
    }
    for (; from < end; from++, to++) target.setUint8(to, source.getUint8(from));
  }

  putAscii(text: string): void {
    const target = this.#target;
    const to = this.#position;
    for (let at = 0; at < text.length; at++) target[to + at] = text.charCodeAt(at);
    this.#position = to + text.length;
  }

  /** A whole number from 0 to 2³¹ − 1 in decimal digits. */
  putDigits(value: number): void {
    const target = this.#target;
    const start = this.#position;
    let digits = 1;
    for (let bound = 10; value >= bound; bound *= 10) digits++;
    let left = value;
    for (let at = start + digits - 1; at >= start; at--) {
      const tenth = Math.floor(left / 10);
      target[at] = zero + left - tenth * 10;
      left = tenth;
    }
    this.#position = start + digits;
  }

  /** 32 bits as eight hexadecimal digits. */
  putHex(value: number): void {
    const target = this.#view;
    const to = this.#position;
    target.setUint16(to, hexPairs[value >>> 24] as number, true);
    target.setUint16(to + 2, hexPairs[(value >>> 16) & 255] as number, true);
    target.setUint16(to + 4, hexPairs[(value >>> 8) & 255] as number, true);
    target.setUint16(to + 6, hexPairs[value & 255] as number, true);
    this.#position = to + 8;
  }

  putByte(byte: number): void {
    this.#target[this.#position++] = byte;
  }

  /** Returns a copy of the text written so far, in its envelope, and begins the next text. */
  take({ before, after }: Envelope = noEnvelope): Uint8Array {
    const end = before.length + this.#position;
    const written = takePage(end + after.length);
    written.set(before);
    written.set(this.#target.subarray(0, this.#position), before.length);
    written.set(after, end);
    this.#position = 0;
    return written;
  }
}
