import { createArrayReader, createArrayStore, type ArrayReader, type ArrayStore } from '../arrays.ts';
import { columnNames } from '../columns.ts';
import { sectionFinder } from '../sections.ts';
import type { SharedIndexBytes } from '../types.ts';
import { joinBytes } from './join-bytes.ts';

// More would make the counts larger and the search for a page no shorter.
const maxSections = 64;

/** Adds the sections of each column to a built index; with fewer rows than two sections have, nothing. */
export function addSections(bytes: SharedIndexBytes, sectionRows: number): SharedIndexBytes {
  const { recordCount } = bytes.layout;
  const wanted = Math.min(maxSections, Math.floor(recordCount / sectionRows));
  const arrays = createArrayReader(bytes);
  const cellCount = arrays.get('point.cells', 'u32').length - 1;
  if (wanted < 2 || cellCount < 1) return bytes;
  const store = createArrayStore();
  const cellOfPoint = cellsOfPoints(arrays, cellCount);
  for (const name of columnNames) {
    // Rows are in the order of a column without postings, and no order begins with the domain.
    if (arrays.find(`${name}.postings`, 'u32') === undefined || name === 'addressDomain') continue;
    const firsts = cut(arrays.get(`${name}.starts`, 'u32'), recordCount / wanted);
    store.allocate(`${name}.sections.firsts`, 'u32', firsts.length).set(firsts);
    countRows(name, { arrays, firsts, cellOfPoint, cellCount }, store);
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

interface Counting {
  readonly arrays: ArrayReader;
  readonly firsts: Uint32Array;
  readonly cellOfPoint: Uint32Array;
  readonly cellCount: number;
}

function countRows(
  name: string,
  { arrays, firsts, cellOfPoint, cellCount }: Counting,
  store: ArrayStore,
): void {
  const sectionCount = firsts.length - 1;
  const counts = new Uint32Array((cellCount + 1) * sectionCount);
  const codes = arrays.getCodes(`${name}.codes`);
  const points = arrays.getCodes('point.codes');
  const sectionOf = sectionFinder({ firsts, counts });
  for (let row = 0; row < codes.length; row++) {
    const at =
      (cellOfPoint[points[row] as number] as number) * sectionCount + sectionOf(codes[row] as number);
    counts[at] = (counts[at] as number) + 1;
  }
  const kept = cellCount * sectionCount;
  store.allocate(`${name}.sections.counts`, 'u32', kept).set(counts.subarray(0, kept));
}
