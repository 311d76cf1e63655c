/** A column of numbers that grows as it is written; a place never written reads 0. */
export class Column {
  #values: Uint32Array | Float64Array;

  /** Places in a file need more than 32 bits. */
  constructor(kind: 'u32' | 'f64' = 'u32') {
    this.#values = kind === 'u32' ? new Uint32Array(1024) : new Float64Array(1024);
  }

  get(index: number): number {
    return this.#values[index] ?? 0;
  }

  set(index: number, value: number): void {
    if (index >= this.#values.length) this.#grow(index);
    this.#values[index] = value;
  }

  #grow(index: number): void {
    const length = Math.max(index + 1, Math.ceil(this.#values.length * 1.5));
    const bigger = this.#values instanceof Uint32Array ? new Uint32Array(length) : new Float64Array(length);
    bigger.set(this.#values);
    this.#values = bigger;
  }
}
