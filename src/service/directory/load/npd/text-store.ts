import { closeSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';
import { errorText } from '../../../../core/index.ts';
import { DirectoryError } from '../../errors.ts';

// Written in large portions; texts not yet written are read from memory.
const portionBytes = 1 << 20;
const lengthBytes = 4;

/**
 * Texts that are needed later, in a scratch file instead of in memory. The file has no name once it is open,
 * so that it is gone with the process, however that ends.
 */
export class TextStore {
  readonly #file: number;
  readonly #waiting = Buffer.allocUnsafe(portionBytes);
  #waitingBytes = 0;
  /** Bytes in the file. Place 0 stands for no text. */
  #writtenBytes = lengthBytes;
  #read = Buffer.allocUnsafe(4096);

  /** In `folder`, which must exist. */
  constructor(folder: string) {
    const name = path.join(folder, `texts-${process.pid}-${Math.random().toString(36).slice(2)}`);
    this.#file = openSync(name, 'wx+', 0o600);
    rmSync(name);
  }

  /** The place of the text, which is never 0. Throws DIRECTORY_DISK_LOW. */
  add(text: string): number {
    const length = Buffer.byteLength(text);
    if (this.#waitingBytes + lengthBytes + length > portionBytes) this.#flush();
    if (lengthBytes + length > portionBytes) throw new RangeError('The text is longer than any may be.');
    const place = this.#writtenBytes + this.#waitingBytes;
    this.#waiting.writeUInt32LE(length, this.#waitingBytes);
    this.#waiting.write(text, this.#waitingBytes + lengthBytes, length);
    this.#waitingBytes += lengthBytes + length;
    return place;
  }

  /** The text at a place that `add` gave; '' for place 0. */
  read(place: number): string {
    if (place === 0) return '';
    if (place >= this.#writtenBytes) {
      const start = place - this.#writtenBytes;
      const end = start + lengthBytes + this.#waiting.readUInt32LE(start);
      return this.#waiting.toString('utf8', start + lengthBytes, end);
    }
    // Most texts are short: one call reads length and text.
    const first = readSync(this.#file, this.#read, 0, 512, place);
    const end = lengthBytes + this.#read.readUInt32LE(0);
    if (end > first) {
      if (end > this.#read.length) this.#read = Buffer.allocUnsafe(end);
      readSync(this.#file, this.#read, 0, end, place);
    }
    return this.#read.toString('utf8', lengthBytes, end);
  }

  close(): void {
    closeSync(this.#file);
  }

  #flush(): void {
    try {
      let done = 0;
      while (done < this.#waitingBytes)
        done += writeSync(
          this.#file,
          this.#waiting,
          done,
          this.#waitingBytes - done,
          this.#writtenBytes + done,
        );
    } catch (cause) {
      throw new DirectoryError(
        'DIRECTORY_DISK_LOW',
        `The scratch file cannot be written: ${errorText(cause)}`,
        {
          cause,
        },
      );
    }
    this.#writtenBytes += this.#waitingBytes;
    this.#waitingBytes = 0;
  }
}
