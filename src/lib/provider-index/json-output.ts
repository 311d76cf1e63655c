import type { ConstantText } from './types.ts';

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
const [minus, point, zero] = [0x2d, 0x2e, 0x30];
// Of a number, or of a hash.
const maxNumberBytes = 32;

/** The implementation of a constant text: room behind it, so that it is copied by whole steps. */
export interface ConstantBytes extends ConstantText {
  readonly bytes: ByteText;
}

export function keepText(text: string): ConstantText {
  const bytes = Buffer.from(text);
  const padded = new Uint8Array(bytes.length + stepBytes);
  padded.set(bytes);
  const kept: ConstantBytes = { text, bytes: new ByteText(padded, bytes.length) };
  return kept;
}

// Two digits of each byte, the first one in the lower half.
const hexPairs = Uint16Array.from({ length: 256 }, (_, byte) =>
  Buffer.from(byte.toString(16).padStart(2, '0')).readUInt16LE(),
);

// Decimal places of coordinates and distances that are written digit by digit; making a text of a number
// costs ten times as much.
const decimalParts = 1e6;

/**
 * Bytes being written one after the other, made for many short pieces: a call of a native copy would cost
 * more than they do. A class, so that code compiled for one output serves those of all formats and indexes.
 */
export class JsonOutput {
  #target: Buffer;
  #view: DataView;
  #position = 0;

  /** With room for so many bytes; it grows. */
  constructor(bytes: number) {
    this.#target = Buffer.allocUnsafeSlow(bytes + stepBytes);
    this.#view = new DataView(this.#target.buffer);
  }

  /** What was written. */
  get written(): Uint8Array {
    return this.#target.subarray(0, this.#position);
  }

  #grow(bytes: number): void {
    const needed = this.#position + bytes + stepBytes;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#target.length * 2, needed));
    larger.set(this.#target.subarray(0, this.#position));
    this.#target = larger;
    this.#view = new DataView(larger.buffer);
  }

  /** The bytes [start, end) of a text. */
  put(text: ByteText, start: number, end: number): void {
    if (this.#position + end - start + stepBytes > this.#target.length) this.#grow(end - start);
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

  putBytes(bytes: Uint8Array): void {
    if (this.#position + bytes.length > this.#target.length) this.#grow(bytes.length);
    this.#target.set(bytes, this.#position);
    this.#position += bytes.length;
  }

  putByte(byte: number): void {
    if (this.#position >= this.#target.length) this.#grow(1);
    this.#target[this.#position++] = byte;
  }

  /** As JavaScript writes the number. */
  putNumber(value: number): void {
    if (this.#position + maxNumberBytes > this.#target.length) this.#grow(maxNumberBytes);
    if (value >= 0 && value <= 0x7fffffff && Number.isInteger(value)) return this.#putDigits(value);
    const parts = Math.round(Math.abs(value) * decimalParts);
    if (parts === 0 || parts / decimalParts !== Math.abs(value) || parts > 0x7fffffff)
      return this.putBytes(Buffer.from(String(value)));
    if (value < 0) this.#target[this.#position++] = minus;
    const whole = Math.floor(parts / decimalParts);
    this.#putDigits(whole);
    let rest = parts - whole * decimalParts;
    if (rest === 0) return;
    this.#target[this.#position++] = point;
    for (let unit = decimalParts / 10; rest > 0; unit /= 10) {
      const digit = Math.floor(rest / unit);
      this.#target[this.#position++] = zero + digit;
      rest -= digit * unit;
    }
  }

  // From 0 to 2³¹ − 1.
  #putDigits(value: number): void {
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
    if (this.#position + maxNumberBytes > this.#target.length) this.#grow(maxNumberBytes);
    const target = this.#view;
    const to = this.#position;
    target.setUint16(to, hexPairs[value >>> 24] as number, true);
    target.setUint16(to + 2, hexPairs[(value >>> 16) & 255] as number, true);
    target.setUint16(to + 4, hexPairs[(value >>> 8) & 255] as number, true);
    target.setUint16(to + 6, hexPairs[value & 255] as number, true);
    this.#position = to + 8;
  }
}
