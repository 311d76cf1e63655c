import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { PagedRows } from '../api/pages.ts';
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
   * The value needs no column name where rows are stacked without a header. The first and the flexible column
   * never need one.
   */
  readonly isPlain?: boolean;
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
}

/**
 * A table of rows. Its ARIA roles are explicit, since stacked rows lose the roles of their elements. The link
 * or button in a row's first column is what `j`, `k` and Enter use.
 */
export function Table<Row>({ caption, columns, rows, idOf, hrefOf, selection }: TableProps<Row>): ReactNode {
  return (
    <div className="table-frame">
      <table className="rows" role="table">
        <caption className="visually-hidden">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {selection !== undefined && (
              <th role="columnheader" scope="col" className="pick">
                <PickAll ids={rows.map(idOf)} selection={selection} />
              </th>
            )}
            {columns.map(({ name, align, from, isFlexible }) => (
              <th
                key={name}
                role="columnheader"
                scope="col"
                data-align={align}
                data-from={from}
                data-flexible={isFlexible}
              >
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => {
            const id = idOf(row);
            return (
              <tr key={id} role="row" data-picked={selection?.ids.has(id)}>
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
                    data-name={index === 0 || isPlain === true || isFlexible === true ? undefined : name}
                  >
                    <RowLink href={index === 0 ? hrefOf?.(row) : undefined}>{cell(row)}</RowLink>
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function RowLink({
  href,
  children,
}: {
  readonly href: string | undefined;
  readonly children: ReactNode;
}): ReactNode {
  if (href === undefined) return children;
  return (
    <Link href={href} className="row-link" data-row="">
      {children}
    </Link>
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

interface DataTableProps<Row> extends Omit<TableProps<Row>, 'rows'> {
  readonly page: PagedRows<Row>;
  /** Content for an empty table. */
  readonly empty: ReactNode;
  /** Singular and plural of a new row: `message`, `messages`. */
  readonly noun: readonly [one: string, many: string];
}

/**
 * A table read by cursor: a button shows new rows, another loads more; loading, empty and error states
 * included.
 */
export function DataTable<Row>({ page, empty, noun, ...table }: DataTableProps<Row>): ReactNode {
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
      {page.rows.length > 0 && <Table {...table} rows={page.rows} />}
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
