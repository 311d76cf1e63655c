import { createArrayReader, createArrayStore, type ArrayReader, type ArrayStore } from '../arrays.ts';
import { columnNames, shownColumns, type ColumnName } from '../columns.ts';
import { cellShiftOf } from '../point-tree.ts';
import { firstsName, pairsName, sectionFinder } from '../sections.ts';
import type { SharedIndexBytes } from '../types.ts';
import { joinBytes } from './join-bytes.ts';

// More would make the counts larger and the search for a page no shorter; the number of a section fits a
// byte.
const maxSections = 64;

/** A column that is cut into sections. */
interface CutColumn {
  readonly name: ColumnName;
  readonly sectionCount: number;
  readonly sectionOfRow: Uint8Array;
}

/** Adds the sections of each column to a built index; with fewer rows than two sections have, nothing. */
export function addSections(bytes: SharedIndexBytes, sectionRows: number): SharedIndexBytes {
  const { recordCount } = bytes.layout;
  const wanted = Math.min(maxSections, Math.floor(recordCount / sectionRows));
  const arrays = createArrayReader(bytes);
  const pointCount = arrays.get('point.starts', 'u32').length - 2;
  const cells: Cells = { arrays, pointCount, shift: cellShiftOf(pointCount, recordCount) };
  if (wanted < 2 || pointCount < 1) return bytes;
  const store = createArrayStore();
  const columns: CutColumn[] = [];
  for (const name of columnNames) {
    // Rows are in the order of their NPI, and no order begins with the domain or with a column that is only
    // shown.
    if (name === 'npi' || name === 'addressDomain' || shownColumns.has(name)) continue;
    const firsts = cut(arrays.get(`${name}.starts`, 'u32'), recordCount / wanted);
    store.allocate(firstsName(name), 'u32', firsts.length).set(firsts);
    const column = {
      name,
      sectionCount: firsts.length - 1,
      sectionOfRow: sectionsOfRows(name, firsts, arrays),
    };
    countByCell(column, cells, store);
    for (const earlier of columns) countPairs(earlier, column, store);
    columns.push(column);
  }
  return joinBytes(bytes, store.finish(recordCount));
}

// First group of each section, and one more.
function cut(starts: Uint32Array, sectionRows: number): Uint32Array {
  const groupCount = starts.length - 1;
  const firsts = [0];
  let rows = 0;
  for (let group = 0; group < groupCount; group++) {
    const own = (starts[group + 1] as number) - (starts[group] as number);
    const isBlank = group === groupCount - 1;
    const isFull = rows >= sectionRows || own >= sectionRows || isBlank;
    if (isFull && group > (firsts.at(-1) as number)) {
      firsts.push(group);
      rows = 0;
    }
    rows += own;
  }
  return Uint32Array.from([...firsts, groupCount]);
}

function sectionsOfRows(name: ColumnName, firsts: Uint32Array, arrays: ArrayReader): Uint8Array {
  const codes = arrays.getCodes(`${name}.codes`);
  const sectionOf = sectionFinder({ firsts });
  const sections = new Uint8Array(codes.length);
  for (let row = 0; row < codes.length; row++) sections[row] = sectionOf(codes[row] as number);
  return sections;
}

interface Cells {
  readonly arrays: ArrayReader;
  readonly pointCount: number;
  /** A cell has `1 << shift` points. */
  readonly shift: number;
}

function countByCell(
  { name, sectionCount, sectionOfRow }: CutColumn,
  { arrays, pointCount, shift }: Cells,
  store: ArrayStore,
): void {
  const cellCount = Math.ceil(pointCount / 2 ** shift);
  const counts = store.allocate(`${name}.sections.counts`, 'u32', cellCount * sectionCount);
  const points = arrays.getCodes('point.codes');
  for (let row = 0; row < sectionOfRow.length; row++) {
    const point = points[row] as number;
    // Rows without coordinates are in no cell.
    if (point === pointCount) continue;
    const at = (point >>> shift) * sectionCount + (sectionOfRow[row] as number);
    counts[at] = (counts[at] as number) + 1;
  }
}

function countPairs(a: CutColumn, b: CutColumn, store: ArrayStore): void {
  const counts = new Uint32Array(a.sectionCount * b.sectionCount);
  const { sectionCount, sectionOfRow } = b;
  for (let row = 0; row < sectionOfRow.length; row++) {
    const at = (a.sectionOfRow[row] as number) * sectionCount + (sectionOfRow[row] as number);
    counts[at] = (counts[at] as number) + 1;
  }
  store.allocate(pairsName(a.name, b.name), 'u32', counts.length).set(counts);
}
