import { useId, useMemo, useState, type ReactNode } from 'react';
import { Link } from 'wouter';
import type { PagedRows } from '../api/pages.ts';
import { Icon } from './icon.tsx';
import { EmptyState, ErrorState, LoadingState } from './states.tsx';
import { formatNumber } from './time.tsx';

export interface Column<Row> {
  readonly name: string;
  readonly cell: (row: Row) => ReactNode;
  readonly align?: 'end';
  /** Minimum width of the table at which the column is shown. */
  readonly from?: 'medium' | 'wide';
  /** The column takes the remaining width. */
  readonly isFlexible?: boolean;
  /**
   * The value needs no column name where rows are stacked without a header. The first and the flexible
   * column, and states, never need one.
   */
  readonly isPlain?: boolean;
  /** The value to sort by; without it the column is not sortable. Undefined is last. */
  readonly sortBy?: (row: Row) => string | number | undefined;
}

export interface Selection {
  readonly ids: ReadonlySet<string>;
  readonly change: (ids: ReadonlySet<string>) => void;
}

interface TableProps<Row> {
  /** Describes the rows, for screen readers. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly idOf: (row: Row) => string;
  /** The link target of the row's first column. */
  readonly hrefOf?: (row: Row) => string | undefined;
  readonly selection?: Selection;
  /** One line for each row; so are rows that are links. */
  readonly isLines?: boolean;
  /** False while some rows are not read yet, so that their place is not known. */
  readonly canSort?: boolean;
}

interface Sorting {
  readonly name: string;
  readonly isDescending: boolean;
}

/**
 * A table of rows. In a list each row is one line high, and a button shows the rest of it. The ARIA roles
 * are explicit, since stacked rows lose the roles of their elements. The link or button in a row's first
 * column is what `j`, `k` and Enter use.
 */
export function Table<Row>(props: TableProps<Row>): ReactNode {
  const { caption, columns, rows, idOf, hrefOf, selection, canSort = true } = props;
  const [sorting, setSorting] = useState<Sorting>();
  const shown = useMemo(
    () => sortRows(rows, columns, canSort ? sorting : undefined),
    [rows, columns, canSort, sorting],
  );
  const isLines = props.isLines ?? hrefOf !== undefined;
  return (
    <div className="table-frame" data-lines={isLines}>
      <table className="rows" role="table">
        <caption className="visually-hidden">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {selection !== undefined && (
              <th role="columnheader" scope="col" className="pick">
                <PickAll ids={rows.map(idOf)} selection={selection} />
              </th>
            )}
            {columns.map((column) => (
              <Head
                key={column.name}
                column={column}
                sorting={sorting}
                onSort={canSort && rows.length > 1 ? setSorting : undefined}
              />
            ))}
            {isLines && (
              <th role="columnheader" scope="col" className="unfold">
                <span className="visually-hidden">The whole row</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {shown.map((row) => (
            <Row key={idOf(row)} {...props} row={row} isLine={isLines} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function sortRows<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  sorting: Sorting | undefined,
): readonly Row[] {
  const sortBy = columns.find(({ name }) => name === sorting?.name)?.sortBy;
  if (sorting === undefined || sortBy === undefined) return rows;
  const sign = sorting.isDescending ? -1 : 1;
  return rows.toSorted((one, other) => {
    const [left, right] = [sortBy(one), sortBy(other)];
    if (left === undefined || right === undefined)
      return Number(left === undefined) - Number(right === undefined);
    return typeof left === 'string'
      ? sign * left.localeCompare(String(right))
      : sign * (left - Number(right));
  });
}

function Head<Row>({
  column: { name, align, from, isFlexible, sortBy },
  sorting,
  onSort,
}: {
  readonly column: Column<Row>;
  readonly sorting: Sorting | undefined;
  readonly onSort: ((sorting: Sorting | undefined) => void) | undefined;
}): ReactNode {
  const isSorted = sorting?.name === name;
  const order = isSorted && onSort ? (sorting.isDescending ? 'descending' : 'ascending') : undefined;
  return (
    <th
      role="columnheader"
      scope="col"
      data-align={align}
      data-from={from}
      data-flexible={isFlexible}
      aria-sort={order}
    >
      {sortBy === undefined || onSort === undefined ? (
        name
      ) : (
        <button
          type="button"
          className="sort"
          // Up, down, then as the server ordered them.
          onClick={() =>
            onSort(order === 'descending' ? undefined : { name, isDescending: order === 'ascending' })
          }
        >
          {name}
          <span aria-hidden="true">{order === undefined ? '' : order === 'ascending' ? '↑' : '↓'}</span>
        </button>
      )}
    </th>
  );
}

function Row<Row>({
  row,
  columns,
  idOf,
  hrefOf,
  selection,
  isLine,
}: TableProps<Row> & { readonly row: Row; readonly isLine: boolean }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const nameId = useId();
  const id = idOf(row);
  return (
    <tr role="row" data-picked={selection?.ids.has(id)} data-open={isOpen || undefined}>
      {selection !== undefined && (
        <td role="cell" className="pick">
          <Pick id={id} selection={selection} />
        </td>
      )}
      {columns.map(({ name, cell, align, from, isFlexible, isPlain }, index) => (
        <td
          key={name}
          role="cell"
          data-align={align}
          data-from={from}
          data-flexible={isFlexible}
          data-name={
            index === 0 || isPlain === true || isFlexible === true || name === 'State' ? undefined : name
          }
        >
          <Line id={index === 0 ? nameId : undefined} href={index === 0 ? hrefOf?.(row) : undefined}>
            {cell(row)}
          </Line>
        </td>
      ))}
      {isLine && (
        <td role="cell" className="unfold">
          <button
            type="button"
            className="quiet"
            data-unfold=""
            aria-expanded={isOpen}
            aria-label="The whole row"
            aria-describedby={nameId}
            onClick={() => setOpen(!isOpen)}
          >
            <Icon name="down" />
          </button>
        </td>
      )}
    </tr>
  );
}

function Line({
  id,
  href,
  children,
}: {
  readonly id: string | undefined;
  readonly href: string | undefined;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <div className="line" id={id}>
      {href === undefined ? (
        children
      ) : (
        <Link href={href} className="row-link" data-row="">
          {children}
        </Link>
      )}
    </div>
  );
}

function Pick({ id, selection }: { readonly id: string; readonly selection: Selection }): ReactNode {
  return (
    <input
      type="checkbox"
      data-pick=""
      aria-label={`Select ${id}`}
      checked={selection.ids.has(id)}
      onChange={(event) => {
        const next = new Set(selection.ids);
        if (event.currentTarget.checked) next.add(id);
        else next.delete(id);
        selection.change(next);
      }}
    />
  );
}

function PickAll({
  ids,
  selection,
}: {
  readonly ids: readonly string[];
  readonly selection: Selection;
}): ReactNode {
  const isAll = ids.length > 0 && ids.every((id) => selection.ids.has(id));
  return (
    <input
      type="checkbox"
      aria-label="Select all"
      checked={isAll}
      onChange={() => selection.change(new Set(isAll ? [] : ids))}
    />
  );
}

interface DataTableProps<Row> extends Omit<TableProps<Row>, 'rows' | 'canSort'> {
  readonly page: PagedRows<Row>;
  /** Content for an empty table. */
  readonly empty: ReactNode;
  /** Singular and plural of a new row: `message`, `messages`. */
  readonly noun: readonly [one: string, many: string];
  /** The rows are found by a search or filters: their number is said. */
  readonly isFiltered?: boolean;
}

/**
 * A table read by cursor: a button shows new rows, another loads more; loading, empty and error states
 * included.
 */
export function DataTable<Row>({
  page,
  empty,
  noun,
  isFiltered = false,
  ...table
}: DataTableProps<Row>): ReactNode {
  if (page.rows === undefined) {
    if (page.error !== null) return <ErrorState error={page.error} onRetry={page.retry} />;
    return <LoadingState lines={10} />;
  }
  return (
    <>
      <div className="new-rows" role="status" aria-live="polite">
        {page.newCount > 0 && (
          <button type="button" className="new-button" data-new="" onClick={page.showNew}>
            {formatNumber(page.newCount)} new {page.newCount === 1 ? noun[0] : noun[1]}{' '}
            <kbd aria-hidden="true">.</kbd>
          </button>
        )}
      </div>
      {page.isOld && (
        <p className="searching" role="status">
          Searching. {page.rows.length > 0 && 'The rows below are those of the search before.'}
        </p>
      )}
      {isFiltered && !page.isOld && page.rows.length > 0 && (
        <p className="muted small" role="status">
          {page.hasMore && !page.isCut && page.total === undefined && 'More than '}
          {formatNumber(page.rows.length)}
          {page.hasMore &&
            page.total !== undefined &&
            ` of ${page.total === null ? 'more than 500' : formatNumber(page.total)}`}{' '}
          {page.rows.length === 1 ? noun[0] : noun[1]}
          {page.isCut && ' so far'}
        </p>
      )}
      {page.rows.length > 0 && <Table {...table} rows={page.rows} canSort={!page.hasMore} />}
      {page.rows.length === 0 &&
        !page.isCut &&
        !page.isOld &&
        (empty ?? <EmptyState title={`No ${noun[1]}`} />)}
      {page.rows.length === 0 && page.isCut && !page.isOld && (
        <EmptyState title={`No ${noun[0]} found yet`}>
          <p>Only the nearest part was searched.</p>
        </EmptyState>
      )}
      {page.error !== null && <ErrorState error={page.error} onRetry={page.loadMore} />}
      {page.hasMore && page.error === null && (
        <p className="more">
          {page.isCut && page.rows.length > 0 && <span>Only a part was searched so far.</span>}
          <button type="button" disabled={page.isLoadingMore} onClick={page.loadMore}>
            {page.isLoadingMore ? 'Loading' : page.isCut ? 'Search further' : 'Load more'}
          </button>
        </p>
      )}
    </>
  );
}
