/** A column of numbers that grows while records come in. */
export interface GrowingColumn {
  push(value: number): void;
  pushAll(more: Uint32Array): void;
  readonly length: number;
  /** The values, without copying. */
  values(): Uint32Array;
}

export function createGrowingColumn(expectedLength: number): GrowingColumn {
  let values = new Uint32Array(Math.max(1024, expectedLength));
  let length = 0;
  function makeRoom(count: number): void {
    const larger = new Uint32Array(Math.max(values.length * 2, length + count));
    larger.set(values);
    values = larger;
  }
  return {
    push(value) {
      if (length === values.length) makeRoom(1);
      values[length++] = value;
    },
    pushAll(more) {
      if (length + more.length > values.length) makeRoom(more.length);
      values.set(more, length);
      length += more.length;
    },
    get length() {
      return length;
    },
    values: () => values.subarray(0, length),
  };
}
