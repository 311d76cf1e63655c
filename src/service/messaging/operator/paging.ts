import { MessagingError } from '../errors.ts';

/** Where a page ended: a time and the id that distinguishes rows of the same time. */
export interface Position {
  readonly at: number;
  readonly id: string;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Hand it in for the next page; absent on the last one. */
  readonly next?: string;
}

const maxPage = 500;

export const pageSize = (limit: number): number => Math.min(Math.max(1, Math.trunc(limit)), maxPage);

export function writeCursor({ at, id }: Position): string {
  return `${at}~${id}`;
}

/** Throws MESSAGING_SEARCH_INVALID. */
export function readCursor(cursor: string | undefined): Position | undefined {
  if (cursor === undefined) return undefined;
  const match = /^(\d{1,15})~([\w-]{1,64})$/.exec(cursor);
  if (match === null)
    throw new MessagingError('MESSAGING_SEARCH_INVALID', 'cursor: not one that an earlier page gave.');
  return { at: Number(match[1]), id: match[2] ?? '' };
}

/** Cuts off the row that only shows that there are more. */
export function toPage<Item>(
  rows: readonly Item[],
  size: number,
  positionOf: (item: Item) => Position,
): Page<Item> {
  const items = rows.slice(0, size);
  const last = rows.length > size ? items.at(-1) : undefined;
  return { items, ...(last !== undefined && { next: writeCursor(positionOf(last)) }) };
}
