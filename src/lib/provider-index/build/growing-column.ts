/** A column of numbers that grows while records come in. */
export interface GrowingColumn {
  push(value: number): void;
  readonly length: number;
  /** The values, without copying. */
  values(): Uint32Array;
}

export function createGrowingColumn(expectedLength: number): GrowingColumn {
  let values = new Uint32Array(Math.max(1024, expectedLength));
  let length = 0;
  return {
    push(value) {
      if (length === values.length) {
        const larger = new Uint32Array(length * 2);
        larger.set(values);
        values = larger;
      }
      values[length++] = value;
    },
    get length() {
      return length;
    },
    values: () => values.subarray(0, length),
  };
}
