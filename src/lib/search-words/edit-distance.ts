/**
 * True if a text differs from `wanted` by at most `edits`: bytes left out, added, changed, or two neighbors
 * swapped (optimal string alignment); with `isBegun` if a beginning of it does.
 */
export function isWithin(wanted: Uint8Array, text: Uint8Array, edits: number, isBegun: boolean): boolean {
  if (!isBegun && Math.abs(wanted.length - text.length) > edits) return false;
  const width = wanted.length;
  let twoAbove: number[] = [];
  let above = Array.from({ length: width + 1 }, (_, at) => at);
  for (let depth = 1; depth <= Math.min(text.length, width + edits); depth++) {
    const row = [depth];
    for (let at = 1; at <= width; at++) {
      let distance = Math.min(
        (above[at] as number) + 1,
        (row[at - 1] as number) + 1,
        (above[at - 1] as number) + (wanted[at - 1] === text[depth - 1] ? 0 : 1),
      );
      const isSwapped =
        depth > 1 && at > 1 && wanted[at - 1] === text[depth - 2] && wanted[at - 2] === text[depth - 1];
      if (isSwapped) distance = Math.min(distance, (twoAbove[at - 2] as number) + 1);
      row.push(distance);
    }
    if (isBegun && (row[width] as number) <= edits) return true;
    [twoAbove, above] = [above, row];
  }
  return !isBegun && (above[width] as number) <= edits;
}
