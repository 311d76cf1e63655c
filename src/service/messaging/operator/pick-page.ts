import { everything, isOwnedAddress, type Owned } from '../../organizations/index.ts';
import { pageSize, toPage, type Page, type Position } from './paging.ts';

/** Sender and recipient of an incoming mail in parts, for searches by only some of them. */
export interface AddressesQuery {
  /** Part of the sender, for example its domain. */
  readonly from?: string | undefined;
  /** Part of a recipient. */
  readonly to?: string | undefined;
  /** Whose addresses are among the recipients; everything by default. */
  readonly owned?: Owned;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** Rows per read after the first, which is no longer than the page: most pages are of an unfiltered list. */
const block = 500;
/** Rows read for one page: a search for rare rows may end a page early. */
const usualMaxRows = 5000;

/**
 * Picks rows of a list that is read page by page. A page may be short, or even empty, and still have a next
 * one.
 */
export async function pickPage<Item>(
  query: { readonly limit: number; readonly cursor?: string | undefined },
  {
    read,
    isWanted,
    positionOf,
    maxRows = usualMaxRows,
  }: {
    readonly read: (part: { limit: number; cursor: string | undefined }) => Promise<Page<Item>>;
    readonly isWanted: (item: Item) => boolean;
    readonly positionOf: (item: Item) => Position;
    readonly maxRows?: number;
  },
): Promise<Page<Item>> {
  const size = pageSize(query.limit);
  const found: Item[] = [];
  let { cursor } = query;
  let limit = size;
  for (let count = 0; count < maxRows; count += limit, limit = block) {
    const part = await read({ limit, cursor });
    found.push(...part.items.filter(isWanted));
    if (found.length > size || part.next === undefined) return toPage(found, size, positionOf);
    cursor = part.next;
    if (found.length === size) break;
  }
  return { items: found, ...(cursor !== undefined && { next: cursor }) };
}

/** True if the parts that are given are found, without case. */
export function hasAddresses(
  row: { readonly from: string; readonly to: readonly string[] },
  { from, to, owned = everything }: Pick<AddressesQuery, 'from' | 'to' | 'owned'>,
): boolean {
  const holds = (text: string, part: string | undefined): boolean =>
    part === undefined || text.toLowerCase().includes(part.toLowerCase());
  if (owned !== everything && !row.to.some((one) => isOwnedAddress(owned, one))) return false;
  return holds(row.from, from) && (to === undefined || row.to.some((one) => holds(one, to)));
}
