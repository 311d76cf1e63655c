/**
 * What the record of each row shows, packed into one run of bits per row: the number of its text in each
 * column, its point and its id. A page of scattered rows then reads one or two places of memory for each row,
 * and not one for each column.
 */
import type { ArrayReader } from './arrays.ts';
import type { ColumnName } from './columns.ts';

/** An id has up to 53 bits: `id` are the lower 32, `idHigh` the others. */
export type PackedName = ColumnName | 'point' | 'id' | 'idHigh';

/** One field of the packed rows. */
export interface PackedField {
  /** Puts the field of each row into `into`. */
  gather(rows: Uint32Array, into: Uint32Array): void;
  at(row: number): number;
}

/** Where a field is in the words of a row, least significant bit first; it may reach into the next word. */
export interface FieldBits {
  readonly word: number;
  readonly shift: number;
  readonly bits: number;
}

/** Places fields of so many bits each, at most 32, behind one another. */
export function placeFields(widths: readonly number[]): { fields: FieldBits[]; stride: number } {
  let end = 0;
  const fields = widths.map((bits): FieldBits => {
    const start = end;
    end += bits;
    return { word: start >>> 5, shift: start & 31, bits };
  });
  return { fields, stride: Math.max(1, (end + 31) >>> 5) };
}

/** The names of the fields as they are stored, each followed by its number of bits. */
export interface PackedHead {
  readonly names: readonly PackedName[];
  readonly widths: readonly number[];
}

const headName = 'rows.fields';
export const packedWordsName = 'rows.words';

export function formatHead({ names, widths }: PackedHead): { name: string; bytes: Uint8Array } {
  const text = names.map((name, index) => `${name} ${widths[index]}`).join('\n');
  return { name: headName, bytes: Buffer.from(text) };
}

function readHead(arrays: ArrayReader): PackedHead {
  const lines = Buffer.from(arrays.get(headName, 'u8')).toString().split('\n');
  const pairs = lines.map((line) => line.split(' ') as [PackedName, string]);
  return { names: pairs.map(([name]) => name), widths: pairs.map(([, bits]) => Number(bits)) };
}

/** The fields of an index by name. */
export function openPackedRows(arrays: ArrayReader): ReadonlyMap<PackedName, PackedField> {
  const words = arrays.get(packedWordsName, 'u32');
  const { names, widths } = readHead(arrays);
  const { fields, stride } = placeFields(widths);
  return new Map(names.map((name, index) => [name, openField(words, stride, fields[index] as FieldBits)]));
}

function openField(words: Uint32Array, stride: number, field: FieldBits): PackedField {
  const { word, shift, bits } = field;
  const mask = 2 ** bits - 1;
  const isWhole = shift + bits <= 32;
  return {
    gather(rows, into) {
      if (isWhole) gatherWhole(words, stride, word, shift, mask, rows, into);
      else gatherSplit(words, stride, word, shift, mask, rows, into);
    },
    at(row) {
      const at = row * stride + word;
      const low = (words[at] as number) >>> shift;
      const value = isWhole ? low : low | ((words[at + 1] as number) << (32 - shift));
      return (value & mask) >>> 0;
    },
  };
}

function gatherWhole(
  words: Uint32Array,
  stride: number,
  word: number,
  shift: number,
  mask: number,
  rows: Uint32Array,
  into: Uint32Array,
): void {
  for (let index = 0; index < rows.length; index++)
    into[index] = ((words[(rows[index] as number) * stride + word] as number) >>> shift) & mask;
}

function gatherSplit(
  words: Uint32Array,
  stride: number,
  word: number,
  shift: number,
  mask: number,
  rows: Uint32Array,
  into: Uint32Array,
): void {
  const rest = 32 - shift;
  for (let index = 0; index < rows.length; index++) {
    const at = (rows[index] as number) * stride + word;
    into[index] = (((words[at] as number) >>> shift) | ((words[at + 1] as number) << rest)) & mask;
  }
}
