import type { ArraySpec, SharedIndexBytes } from './types.ts';

/** The typed arrays that an index is made of, all over shared memory. */
export interface ArrayTypes {
  u8: Uint8Array<SharedArrayBuffer>;
  u16: Uint16Array<SharedArrayBuffer>;
  u32: Uint32Array<SharedArrayBuffer>;
  i32: Int32Array<SharedArrayBuffer>;
  f32: Float32Array<SharedArrayBuffer>;
  f64: Float64Array<SharedArrayBuffer>;
}

export type AnyArray = ArrayTypes[keyof ArrayTypes];
/** Codes in the narrowest type that holds them. */
export type CodeArray = Uint8Array | Uint16Array | Uint32Array;

const elementBytes = { u8: 1, u16: 2, u32: 4, i32: 4, f32: 4, f64: 8 } as const;

/** Collects named arrays while an index is built. */
export interface ArrayStore {
  allocate<Type extends keyof ArrayTypes>(name: string, type: Type, length: number): ArrayTypes[Type];
  /** Codes below `limit`. */
  allocateCodes(name: string, limit: number, length: number): CodeArray;
  /** Hands on, and forgets, the arrays so far that no later step of the build reads. */
  settle(isRead: (name: string) => boolean): void;
  finish(recordCount: number): SharedIndexBytes;
}

/** Takes an array that is finished. */
export type TakeArray = (spec: ArraySpec, buffer: SharedArrayBuffer) => void;

/** Without `take` it keeps all arrays. */
export function createArrayStore(take?: TakeArray): ArrayStore {
  let arrays: ArraySpec[] = [];
  let buffers: SharedArrayBuffer[] = [];
  const allocate = <Type extends keyof ArrayTypes>(
    name: string,
    type: Type,
    length: number,
  ): ArrayTypes[Type] => {
    const buffer = new SharedArrayBuffer(length * elementBytes[type]);
    arrays.push({ name, type, length });
    buffers.push(buffer);
    return viewOf(type, buffer);
  };
  return {
    allocate,
    allocateCodes: (name, limit, length) =>
      allocate(name, limit <= 0x100 ? 'u8' : limit <= 0x10000 ? 'u16' : 'u32', length),
    settle(isRead) {
      if (take === undefined) return;
      const [names, all] = [arrays, buffers];
      [arrays, buffers] = [[], []];
      for (const [index, spec] of names.entries()) {
        const buffer = all[index] as SharedArrayBuffer;
        if (!isRead(spec.name)) take(spec, buffer);
        else {
          arrays.push(spec);
          buffers.push(buffer);
        }
      }
    },
    finish: (recordCount) => ({ layout: { recordCount, arrays }, buffers }),
  };
}

/** Finds arrays of a finished index by name. */
export interface ArrayReader {
  get<Type extends keyof ArrayTypes>(name: string, type: Type): ArrayTypes[Type];
  find<Type extends keyof ArrayTypes>(name: string, type: Type): ArrayTypes[Type] | undefined;
  getCodes(name: string): CodeArray;
  findCodes(name: string): CodeArray | undefined;
}

export function createArrayReader(bytes: SharedIndexBytes): ArrayReader {
  const found = new Map(
    bytes.layout.arrays.map((spec, position) => [spec.name, { spec, buffer: bytes.buffers[position] }]),
  );
  const find = <Type extends keyof ArrayTypes>(name: string, type: Type): ArrayTypes[Type] | undefined => {
    const entry = found.get(name);
    return entry?.buffer === undefined || entry.spec.type !== type ? undefined : viewOf(type, entry.buffer);
  };
  const findCodes = (name: string): CodeArray | undefined => {
    const type = found.get(name)?.spec.type;
    return type === 'u8' || type === 'u16' || type === 'u32' ? find(name, type) : undefined;
  };
  return {
    find,
    findCodes,
    get: (name, type) => present(find(name, type), name),
    getCodes: (name) => present(findCodes(name), name),
  };
}

function viewOf<Type extends keyof ArrayTypes>(type: Type, buffer: SharedArrayBuffer): ArrayTypes[Type] {
  const makers: { [Key in keyof ArrayTypes]: (buffer: SharedArrayBuffer) => ArrayTypes[Key] } = {
    u8: (buffer) => new Uint8Array(buffer),
    u16: (buffer) => new Uint16Array(buffer),
    u32: (buffer) => new Uint32Array(buffer),
    i32: (buffer) => new Int32Array(buffer),
    f32: (buffer) => new Float32Array(buffer),
    f64: (buffer) => new Float64Array(buffer),
  };
  return makers[type](buffer);
}

function present<Value>(value: Value | undefined, name: string): Value {
  if (value === undefined) throw new TypeError(`The index has no array ${name}.`);
  return value;
}

// One function for each type of array: a loop over several types checks the type of each element, and the
// processor overlaps fewer reads.
/** Puts the code of each row into `into`. */
export function gatherCodes(codes: CodeArray, rows: Uint32Array, into: Uint32Array): void {
  if (codes instanceof Uint8Array) gatherBytes(codes, rows, into);
  else if (codes instanceof Uint16Array) gatherShorts(codes, rows, into);
  else gatherWords(codes, rows, into);
}

function gatherBytes(codes: Uint8Array, rows: Uint32Array, into: Uint32Array): void {
  for (let index = 0; index < rows.length; index++) into[index] = codes[rows[index] as number] as number;
}

function gatherShorts(codes: Uint16Array, rows: Uint32Array, into: Uint32Array): void {
  for (let index = 0; index < rows.length; index++) into[index] = codes[rows[index] as number] as number;
}

function gatherWords(codes: Uint32Array, rows: Uint32Array, into: Uint32Array): void {
  for (let index = 0; index < rows.length; index++) into[index] = codes[rows[index] as number] as number;
}

/** The first index whose value is not below `wanted`, in an ascending array. */
export function lowerBound(ascending: Uint32Array, wanted: number): number {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ascending[middle] as number) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}
