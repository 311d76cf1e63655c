/** A column of numbers below 2^32 that grows as it is written; a place never written reads 0. */
export class Column {
  #values = new Uint32Array(1024);

  get(index: number): number {
    return this.#values[index] ?? 0;
  }

  set(index: number, value: number): void {
    if (index >= this.#values.length) this.#grow(index);
    this.#values[index] = value;
  }

  #grow(index: number): void {
    const bigger = new Uint32Array(Math.max(index + 1, Math.ceil(this.#values.length * 1.5)));
    bigger.set(this.#values);
    this.#values = bigger;
  }
}
