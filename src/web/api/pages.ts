import {
  keepPreviousData,
  useInfiniteQuery,
  useQuery,
  useQueryClient,
  type QueryFunctionContext,
  type QueryKey,
} from '@tanstack/react-query';
import { useCallback, useMemo } from 'react';
import type { Page } from '../../app/console/contract/index.ts';
import { get, getAgain, type ApiError, type Query } from './client.ts';
import { joinPages } from './join-pages.ts';

/**
 * A query function whose first read is an audited view, and whose later reads, when its topic changes, are
 * background refreshes.
 */
export function readView<T>(path: string, query: Query = {}): (context: QueryFunctionContext) => Promise<T> {
  return ({ client, queryKey, signal }) =>
    client.getQueryData(queryKey) === undefined
      ? get<T>(path, query, signal)
      : getAgain<T>(path, query, signal);
}

export interface PagedRows<Row> {
  readonly rows: readonly Row[] | undefined;
  readonly error: ApiError | null;
  readonly isLoading: boolean;
  readonly hasMore: boolean;
  /**
   * The last page read is short and not the end: a search that looks at many rows goes on only when somebody
   * asks.
   */
  readonly isCut: boolean;
  readonly isLoadingMore: boolean;
  /** The rows are those of the search before, while this one is on its way. */
  readonly isOld: boolean;
  /** All rows that match; null if more than are counted, undefined if they are not. */
  readonly total: number | null | undefined;
  /** Rows at the head that the table does not show yet. */
  readonly newCount: number;
  readonly loadMore: () => void;
  readonly showNew: () => void;
  readonly retry: () => void;
}

/** Rows of a page whose limit is not named. */
const usualPageRows = 50;

interface PagedOptions<Row> {
  /** The first element is the live topic. */
  readonly queryKey: QueryKey;
  /** Reads a page with `get`, or with `getAgain` for a background refresh. */
  readonly fetchPage: (
    cursor: string | undefined,
    signal: AbortSignal,
    read: typeof get,
  ) => Promise<Page<Row>>;
  readonly idOf: (row: Row) => string;
  /**
   * True for rows that show a current state, such as a queue: removed rows disappear, and new rows are shown
   * at once.
   */
  readonly isReplaced?: boolean;
}

/**
 * Rows by cursor, live without moving: the shown pages stay as they were read; the first page is refetched
 * when its topic changes, known rows are updated in place, and new rows are only counted until `showNew`.
 */
export function usePagedRows<Row>({
  queryKey,
  fetchPage,
  idOf,
  isReplaced = false,
}: PagedOptions<Row>): PagedRows<Row> {
  const client = useQueryClient();
  const shownKey = useMemo(() => ['shown', ...queryKey], [queryKey]);
  const shown = useInfiniteQuery<Page<Row>, ApiError, readonly Page<Row>[], QueryKey, string | undefined>({
    queryKey: shownKey,
    queryFn: ({ pageParam, signal }) => fetchPage(pageParam, signal, get),
    initialPageParam: undefined,
    getNextPageParam: (last) => last.next ?? undefined,
    select: ({ pages }) => pages,
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const isShown = shown.data !== undefined && !shown.isPlaceholderData;
  const head = useQuery<Page<Row>, ApiError>({
    queryKey,
    queryFn: ({ signal }) => fetchPage(undefined, signal, getAgain),
    enabled: isShown,
    ...(isShown && shown.data[0] !== undefined
      ? { initialData: shown.data[0], initialDataUpdatedAt: shown.dataUpdatedAt }
      : {}),
    staleTime: 60_000,
    gcTime: 0,
  });
  const pages = shown.data;
  const headRows = isShown ? head.data?.result : undefined;
  const { rows, newCount } = useMemo(() => {
    if (pages === undefined) return { rows: undefined, newCount: 0 };
    const fresh = new Map((headRows ?? []).map((row) => [idOf(row), row]));
    if (isReplaced && pages.length === 1) return { rows: headRows ?? pages[0]?.result, newCount: 0 };
    const all = joinPages(pages, idOf);
    return {
      rows: [...all].map(([id, row]) => fresh.get(id) ?? row),
      newCount: [...fresh.keys()].filter((id) => !all.has(id)).length,
    };
  }, [pages, headRows, idOf, isReplaced]);
  const showNew = useCallback(() => {
    const first = client.getQueryData<Page<Row>>(queryKey);
    if (first !== undefined) client.setQueryData(shownKey, { pages: [first], pageParams: [undefined] });
  }, [client, shownKey, queryKey]);
  return {
    rows,
    newCount,
    error: shown.error,
    isLoading: shown.isPending,
    hasMore: shown.hasNextPage,
    total: pages?.[0]?.total,
    isCut: shown.hasNextPage && (pages?.at(-1)?.result.length ?? 0) < usualPageRows,
    isLoadingMore: shown.isFetchingNextPage,
    isOld: shown.isPlaceholderData,
    loadMore: () => void shown.fetchNextPage(),
    showNew,
    retry: () => void shown.refetch(),
  };
}
