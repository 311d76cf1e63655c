import type { ArrayStore } from '../arrays.ts';
import { isInsideCharacter, minRun, putNumber, putRun } from '../trigram-list.ts';
import type { BuiltColumn } from './build-column.ts';
import type { ByteTexts } from './fold-values.ts';

/**
 * Writes for every run of three bytes that begins with a character (`byte1 << 16 | byte2 << 8 | byte3`,
 * ascending) the list of groups whose folded text holds it (`trigram-list.ts`). Two zero bytes are thought
 * behind every text, so that each character of it starts a run and a run of one or two bytes is the beginning
 * of some runs of three.
 */
export function buildTrigrams(
  { name, folded }: Pick<BuiltColumn, 'name' | 'folded'>,
  store: ArrayStore,
): void {
  const alphabet = alphabetOf(folded.bytes);
  const table = countTrigrams(folded, alphabet);
  const present = presentCells(table);
  const keys = store.allocate(`${name}.grams.keys`, 'u32', present.length);
  const counts = store.allocate(`${name}.grams.counts`, 'u32', present.length);
  const offsets = store.allocate(`${name}.grams.offsets`, 'u32', present.length + 1);
  for (let index = 0; index < present.length; index++) {
    const cell = present[index] as number;
    keys[index] = keyOf(cell, alphabet);
    counts[index] = table[cell * 4 + countField] as number;
    offsets[index + 1] = (offsets[index] as number) + (table[cell * 4 + bytesField] as number);
    table[cell * 4 + cursorField] = offsets[index] as number;
    table[cell * 4 + lastField] = 0;
    table[cell * 4 + runField] = 0;
  }
  const lists = store.allocate(`${name}.grams.lists`, 'u8', offsets[present.length] as number);
  fillLists(folded, alphabet, table, lists);
  for (const cell of present) endRun(cell * 4, table, lists);
}

// The table has four fields for each possible trigram; `last` is the group listed last, plus one. `run` is
// the number of differences of one that are not written yet: where `cursor` is while lists are measured, and
// where `bytes` was while they are filled.
const lastField = 0;
const countField = 1;
const bytesField = 2;
const cursorField = 3;
const measuredRunField = cursorField;
const runField = bytesField;

interface Alphabet {
  /** Byte to number, ascending, zero for the zero byte. */
  readonly numberOf: Uint8Array;
  readonly bytes: readonly number[];
}

function alphabetOf(bytes: Uint8Array): Alphabet {
  const isUsed = new Uint8Array(256);
  for (let index = 0; index < bytes.length; index++) isUsed[bytes[index] as number] = 1;
  isUsed[0] = 1;
  const used = [...isUsed.keys()].filter((byte) => isUsed[byte] === 1);
  const numberOf = new Uint8Array(256);
  for (const [index, byte] of used.entries()) numberOf[byte] = index;
  return { numberOf, bytes: used };
}

function keyOf(cell: number, { bytes }: Alphabet): number {
  const base = bytes.length;
  const first = bytes[Math.floor(cell / (base * base))] as number;
  const second = bytes[Math.floor(cell / base) % base] as number;
  return (first << 16) | (second << 8) | (bytes[cell % base] as number);
}

// A cell belongs to each possible run: the numbers of its bytes as digits.
function countTrigrams(
  { bytes, offsets, count }: ByteTexts,
  { numberOf, bytes: used }: Alphabet,
): Uint32Array {
  const base = used.length;
  const keep = base * base;
  const table = new Uint32Array(keep * base * 4);
  for (let group = 1; group <= count; group++) {
    const start = offsets[group - 1] as number;
    const end = offsets[group] as number;
    let pair = start < end ? firstPair(bytes, start, end, numberOf, base) : 0;
    for (let at = start + 2; at < end + 2; at++) {
      const cell = pair * base + (at < end ? (numberOf[bytes[at] as number] as number) : 0);
      pair = cell % keep;
      if (isInsideCharacter(bytes[at - 2] as number)) continue;
      const field = cell * 4;
      const previous = table[field] as number;
      if (previous === group) continue;
      table[field] = group;
      table[field + countField] = (table[field + countField] as number) + 1;
      const run = table[field + measuredRunField] as number;
      if (group === previous + 1) {
        table[field + measuredRunField] = run + 1;
        continue;
      }
      table[field + bytesField] =
        (table[field + bytesField] as number) + bytesOfRun(run) + bytesOfNumber(group - previous);
      table[field + measuredRunField] = 0;
    }
  }
  for (let field = 0; field < table.length; field += 4)
    table[field + bytesField] =
      (table[field + bytesField] as number) + bytesOfRun(table[field + measuredRunField] as number);
  return table;
}

function bytesOfNumber(value: number): number {
  return value < 0x80 ? 1 : value < 0x4000 ? 2 : value < 0x200000 ? 3 : value < 0x10000000 ? 4 : 5;
}

function bytesOfRun(length: number): number {
  return length < minRun ? length : 1 + bytesOfNumber(length);
}

function endRun(field: number, table: Uint32Array, lists: Uint8Array): void {
  const run = table[field + runField] as number;
  table[field + cursorField] = putRun(run, lists, table[field + cursorField] as number);
  table[field + runField] = 0;
}

function firstPair(
  bytes: Uint8Array,
  start: number,
  end: number,
  numberOf: Uint8Array,
  base: number,
): number {
  const second = start + 1 < end ? (numberOf[bytes[start + 1] as number] as number) : 0;
  return (numberOf[bytes[start] as number] as number) * base + second;
}

function presentCells(table: Uint32Array): Uint32Array {
  let count = 0;
  for (let field = countField; field < table.length; field += 4) if (table[field] !== 0) count++;
  const present = new Uint32Array(count);
  let found = 0;
  for (let field = countField; field < table.length; field += 4)
    if (table[field] !== 0) present[found++] = field >>> 2;
  return present;
}

function fillLists(
  { bytes, offsets, count }: ByteTexts,
  { numberOf, bytes: used }: Alphabet,
  table: Uint32Array,
  lists: Uint8Array,
): void {
  const base = used.length;
  const keep = base * base;
  for (let group = 1; group <= count; group++) {
    const start = offsets[group - 1] as number;
    const end = offsets[group] as number;
    let pair = start < end ? firstPair(bytes, start, end, numberOf, base) : 0;
    for (let at = start + 2; at < end + 2; at++) {
      const cell = pair * base + (at < end ? (numberOf[bytes[at] as number] as number) : 0);
      pair = cell % keep;
      if (isInsideCharacter(bytes[at - 2] as number)) continue;
      const field = cell * 4;
      const previous = table[field] as number;
      if (previous === group) continue;
      table[field] = group;
      if (group === previous + 1) {
        table[field + runField] = (table[field + runField] as number) + 1;
        continue;
      }
      endRun(field, table, lists);
      table[field + cursorField] = putNumber(group - previous, lists, table[field + cursorField] as number);
    }
  }
}
