import type { Page } from '../../app/console/contract/index.ts';

/**
 * The rows of all pages by id, in order. A row that moved backwards between two reads, such as a destination
 * whose oldest delivery was settled, is on both pages: it keeps its first place and shows the newest values.
 */
export function joinPages<Row>(
  pages: readonly Page<Row>[],
  idOf: (row: Row) => string,
): ReadonlyMap<string, Row> {
  return new Map(pages.flatMap((page) => page.result).map((row) => [idOf(row), row]));
}
