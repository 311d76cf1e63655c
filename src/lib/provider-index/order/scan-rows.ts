import { hasBit } from '../bits.ts';
import { maskOf, type Selector } from '../selector.ts';

// Looking at a row costs about as much as putting one into a set, and rows without a match may come in long runs.
const scanAllowance = 0.5;
const scanMinimum = 50_000;

/**
 * Places [from, to) of a condition's rows in row order, found by looking at one row after the other: where many rows fit,
 * the page is full long before a set of all of them would be. Undefined if it would take, or took, too long.
 */
export function scanRows(
  selector: Selector & { readonly kind: 'groups' },
  from: number,
  to: number,
): Uint32Array | undefined {
  const { column, count } = selector;
  const rowCount = column.codes.length;
  const maxSteps = scanMinimum + count * scanAllowance;
  if ((to * rowCount) / count > maxSteps) return undefined;
  const fits = fitTest(selector);
  const page = new Uint32Array(to - from);
  let place = 0;
  for (let row = 0; row < Math.min(rowCount, maxSteps); row++) {
    if (!fits(row)) continue;
    if (place >= from) page[place - from] = row;
    if (++place === to) return page;
  }
  return undefined;
}

function fitTest({ column, ranges }: Selector & { readonly kind: 'groups' }): (row: number) => boolean {
  const { codes, ranks, starts } = column;
  const [first = 0, end = 0] = ranges;
  if (ranges.length === 2 && ranks === undefined) {
    return (row) => {
      const code = codes[row] as number;
      return code >= first && code < end;
    };
  }
  const mask = maskOf(ranges, starts.length - 1);
  if (ranks === undefined) return (row) => hasBit(mask, codes[row] as number);
  return (row) => hasBit(mask, ranks[codes[row] as number] as number);
}
