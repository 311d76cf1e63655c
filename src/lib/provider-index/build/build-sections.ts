import { createArrayReader, createArrayStore, type ArrayReader, type ArrayStore } from '../arrays.ts';
import { columnNames, type ColumnName } from '../columns.ts';
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
  const cellCount = arrays.get('point.cells', 'u32').length - 1;
  if (wanted < 2 || cellCount < 1) return bytes;
  const store = createArrayStore();
  const cellOfPoint = cellsOfPoints(arrays, cellCount);
  const columns: CutColumn[] = [];
  for (const name of columnNames) {
    // Rows are in the order of a column without postings, and no order begins with the domain.
    if (arrays.find(`${name}.postings`, 'u32') === undefined || name === 'addressDomain') continue;
    const firsts = cut(arrays.get(`${name}.starts`, 'u32'), recordCount / wanted);
    store.allocate(firstsName(name), 'u32', firsts.length).set(firsts);
    const column = {
      name,
      sectionCount: firsts.length - 1,
      sectionOfRow: sectionsOfRows(name, firsts, arrays),
    };
    countByCell(column, { arrays, cellOfPoint, cellCount }, store);
    for (const earlier of columns) countPairs(earlier, column, store);
    columns.push(column);
  }
  return joinBytes(bytes, store.finish(recordCount));
}

// Rows without coordinates are in a cell behind the others, which is not kept.
function cellsOfPoints(arrays: ArrayReader, cellCount: number): Uint32Array {
  const cells = arrays.get('point.cells', 'u32');
  const pointCount = cells[cellCount] as number;
  const cellOfPoint = new Uint32Array(pointCount + 1).fill(cellCount);
  for (let cell = 0; cell < cellCount; cell++) cellOfPoint.fill(cell, cells[cell], cells[cell + 1]);
  return cellOfPoint;
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
  readonly cellOfPoint: Uint32Array;
  readonly cellCount: number;
}

function countByCell(
  { name, sectionCount, sectionOfRow }: CutColumn,
  { arrays, cellOfPoint, cellCount }: Cells,
  store: ArrayStore,
): void {
  const counts = new Uint32Array((cellCount + 1) * sectionCount);
  const points = arrays.getCodes('point.codes');
  for (let row = 0; row < sectionOfRow.length; row++) {
    const at = (cellOfPoint[points[row] as number] as number) * sectionCount + (sectionOfRow[row] as number);
    counts[at] = (counts[at] as number) + 1;
  }
  const kept = cellCount * sectionCount;
  store.allocate(`${name}.sections.counts`, 'u32', kept).set(counts.subarray(0, kept));
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
