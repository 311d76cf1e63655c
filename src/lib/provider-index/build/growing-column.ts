/** A column of numbers that grows while records come in. */
export interface GrowingColumn {
  push(value: number): void;
  pushAll(more: Uint32Array): void;
  readonly length: number;
  /** The values; none can be added afterwards. */
  finish(): Uint32Array;
}

/** A column of numbers most of which may be 0; without any other it takes no memory. */
export interface SparseColumn {
  set(place: number, value: number): void;
  /** Undefined if all are 0. */
  values(count: number): Uint32Array | undefined;
}

export function createSparseColumn(): SparseColumn {
  let values: Uint32Array | undefined;
  return {
    set(place, value) {
      if (value === 0) return;
      if (values === undefined || place >= values.length) {
        const larger = new Uint32Array(Math.max(1024, place * 2));
        if (values !== undefined) larger.set(values);
        values = larger;
      }
      values[place] = value;
    },
    values(count) {
      if (values === undefined || values.length >= count) return values?.subarray(0, count);
      const whole = new Uint32Array(count);
      whole.set(values);
      return whole;
    },
  };
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
    finish() {
      const finished = values.subarray(0, length);
      values = new Uint32Array(0);
      return finished;
    },
  };
}
