import { MessagingError } from '../errors.ts';

/** The end of a page: a time, and an id that distinguishes rows of the same time. */
export interface Position {
  readonly at: number;
  readonly id: string;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** The cursor of the next page; absent on the last one. */
  readonly next?: string;
}

export const maxPage = 500;

export const pageSize = (limit: number): number => Math.min(Math.max(1, Math.trunc(limit)), maxPage);

function writeCursor({ at, id }: Position): string {
  return `${at}~${id}`;
}

/** Throws MESSAGING_SEARCH_INVALID. */
export function readCursor(cursor: string | undefined): Position | undefined {
  if (cursor === undefined) return undefined;
  const match = /^(\d{1,15})~([\w-]{1,64})$/.exec(cursor);
  if (match === null)
    throw new MessagingError(
      'MESSAGING_SEARCH_INVALID',
      'Invalid cursor: use the cursor of an earlier page.',
    );
  return { at: Number(match[1]), id: match[2] ?? '' };
}

/** Drops the extra row that shows that there is another page. */
export function toPage<Item>(
  rows: readonly Item[],
  size: number,
  positionOf: (item: Item) => Position,
): Page<Item> {
  const items = rows.slice(0, size);
  const last = rows.length > size ? items.at(-1) : undefined;
  return { items, ...(last !== undefined && { next: writeCursor(positionOf(last)) }) };
}
