/** Bytes of one piece of the store. */
const pieceLength = 8 * 1024 * 1024;

/** A record that another one overrides, in a list of such records. */
export interface KeptLine {
  readonly line: string;
  readonly rank: number;
  readonly id: number;
  /** The number of the next one in its list, 0 for none. */
  readonly next: number;
  /** Time of the record's last change: seconds since 1970. */
  readonly changedAt: number;
}

/**
 * Many lines as bytes: a string cut out of a block's text would keep the whole text in memory. Lines are
 * numbered from 1.
 */
export class LineStore {
  readonly #pieces: Buffer[] = [];
  #used = pieceLength;
  /** Piece, place, length, rank, id, next, time of the last change. */
  readonly #entries: [number, number, number, number, number, number, number][] = [];

  add({ line, rank, id, next, changedAt }: KeptLine): number {
    const length = Buffer.byteLength(line);
    if (this.#used + length > pieceLength) {
      this.#pieces.push(Buffer.allocUnsafe(Math.max(pieceLength, length)));
      this.#used = 0;
    }
    this.#pieces.at(-1)?.write(line, this.#used);
    const number = this.#entries.push([
      this.#pieces.length - 1,
      this.#used,
      length,
      rank,
      id,
      next,
      changedAt,
    ]);
    this.#used += length;
    return number;
  }

  lineOf(number: number): string {
    const [piece, place, length] = this.#entry(number);
    return (this.#pieces[piece] as Buffer).toString('utf8', place, place + length);
  }

  rankOf(number: number): number {
    return this.#entry(number)[3];
  }

  idOf(number: number): number {
    return this.#entry(number)[4];
  }

  nextOf(number: number): number {
    return this.#entry(number)[5];
  }

  changedAtOf(number: number): number {
    return this.#entry(number)[6];
  }

  #entry(number: number): [number, number, number, number, number, number, number] {
    return this.#entries[number - 1] as [number, number, number, number, number, number, number];
  }
}
