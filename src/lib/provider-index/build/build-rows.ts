import { createArrayReader, createArrayStore, type ArrayReader } from '../arrays.ts';
import { columnNames, shownColumns, type ColumnName } from '../columns.ts';
import { formatHead, packedWordsName, placeFields, type FieldBits, type PackedName } from '../packed-rows.ts';
import type { SharedIndexBytes } from '../types.ts';
import { joinBytes } from './join-bytes.ts';

/** A field to pack: `load` puts the values of the rows from `first` on into `into`. */
interface PackedSource {
  readonly name: PackedName;
  /** Above every value. */
  readonly limit: number;
  load(first: number, into: Uint32Array): void;
}

/** The ids of the rows, as long as an index is built. */
export const idsName = 'ids';

// Their words stay in the processor's cache until all fields are in them.
const blockRows = 2048;

const packedArrays: ReadonlySet<string> = new Set([
  ...columnNames.flatMap((name) => [codesName(name), `${name}.starts`, `${name}.firsts`, variantsName(name)]),
  'point.codes',
  'point.starts',
  idsName,
]);

/** True for the arrays that the packed rows, and the sections, are made of. */
export function isPackedFrom(name: string): boolean {
  return packedArrays.has(name);
}

/**
 * Adds the packed rows to a built index. They replace the arrays that say how a row spells the text of its
 * group.
 */
export function addPackedRows(bytes: SharedIndexBytes): SharedIndexBytes {
  const { recordCount } = bytes.layout;
  const arrays = createArrayReader(bytes);
  const sources = [...columnNames.map((name) => textSource(name, arrays)), ...numberSources(arrays)];
  const widths = sources.map(({ limit }) => 32 - Math.clz32(Math.max(0, limit - 1)));
  const { fields, stride } = placeFields(widths);
  const store = createArrayStore();
  const head = formatHead({ names: sources.map(({ name }) => name), widths });
  store.allocate(head.name, 'u8', head.bytes.length).set(head.bytes);
  const words = store.allocate(packedWordsName, 'u32', recordCount * stride);
  for (let first = 0; first < recordCount; first += blockRows) {
    const values = new Uint32Array(Math.min(blockRows, recordCount - first));
    for (const [index, source] of sources.entries()) {
      source.load(first, values);
      pack(values, words, first * stride, stride, fields[index] as FieldBits);
    }
  }
  return joinBytes(withoutPacked(bytes), store.finish(recordCount));
}

function textSource(name: ColumnName, arrays: ArrayReader): PackedSource {
  const codes = arrays.getCodes(codesName(name));
  const groupCount = arrays.get(`${name}.starts`, 'u32').length - 1;
  const firsts = arrays.find(`${name}.firsts`, 'u32');
  const variants = arrays.findCodes(variantsName(name));
  if (firsts === undefined || variants === undefined)
    return {
      name,
      limit: groupCount,
      load: (first, into) => into.set(codes.subarray(first, first + into.length)),
    };
  const own = new Uint32Array(blockRows);
  return {
    name,
    limit: firsts[groupCount] as number,
    load(first, into) {
      into.set(codes.subarray(first, first + into.length));
      own.set(variants.subarray(first, first + into.length));
      for (let index = 0; index < into.length; index++)
        into[index] = (firsts[into[index] as number] as number) + (own[index] as number);
    },
  };
}

function numberSources(arrays: ArrayReader): PackedSource[] {
  const points = arrays.getCodes('point.codes');
  const ids = arrays.get(idsName, 'f64');
  let largest = 0;
  for (let row = 0; row < ids.length; row++) largest = Math.max(largest, ids[row] as number);
  return [
    {
      name: 'point',
      limit: arrays.get('point.starts', 'u32').length - 1,
      load: (first, into) => into.set(points.subarray(first, first + into.length)),
    },
    {
      name: 'id',
      limit: Math.min(largest + 1, 2 ** 32),
      // Modulo 2^32.
      load: (first, into) => into.set(ids.subarray(first, first + into.length)),
    },
    {
      name: 'idHigh',
      limit: Math.floor(largest / 2 ** 32) + 1,
      load(first, into) {
        for (let index = 0; index < into.length; index++)
          into[index] = Math.floor((ids[first + index] as number) / 2 ** 32);
      },
    },
  ];
}

function pack(
  values: Uint32Array,
  words: Uint32Array,
  start: number,
  stride: number,
  { word, shift, bits }: FieldBits,
): void {
  const rest = 32 - shift;
  const isSplit = shift + bits > 32;
  for (let index = 0, at = start + word; index < values.length; index++, at += stride) {
    const value = values[index] as number;
    words[at] = (words[at] as number) | (value << shift);
    if (isSplit) words[at + 1] = (words[at + 1] as number) | (value >>> rest);
  }
}

function codesName(name: string): string {
  return `${name}.codes`;
}

function variantsName(name: string): string {
  return `${name}.variants`;
}

/** Without what the packed rows tell. */
function withoutPacked({ layout, buffers }: SharedIndexBytes): SharedIndexBytes {
  const dropped = new Set([idsName, ...columnNames.map(variantsName), ...[...shownColumns].map(codesName)]);
  const isKept = (_: unknown, index: number): boolean => !dropped.has(layout.arrays[index]?.name ?? '');
  return {
    layout: { ...layout, arrays: layout.arrays.filter(isKept) },
    buffers: buffers.filter(isKept),
  };
}
