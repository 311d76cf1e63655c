import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Provider } from '../../../app/console/contract/index.ts';
import { Address } from '../../components/address.tsx';
import { StateMark } from '../../components/states.tsx';
import { nameOf, placeOf, specialtyOf, type Search } from './search-fields.ts';
import { verificationTone } from './verification.ts';

interface ResultsTableProps {
  readonly providers: readonly Provider[];
  readonly search: Search;
  readonly sortable: readonly string[];
  readonly selected: ReadonlySet<number>;
  /** Called with the row under the pointer or the focus, so that the map can show it. */
  onPoint(id: number | undefined): void;
  onSearch(search: Search): void;
}

const columns: readonly { readonly label: string; readonly sortBy?: string; readonly className: string }[] = [
  { label: 'Name', sortBy: 'prov_last_name', className: 'is-name' },
  { label: 'Organization', sortBy: 'org_name', className: 'is-organization' },
  { label: 'Direct address', sortBy: 'serv_direct_addr', className: 'is-address' },
  { label: 'Verification', className: 'is-state' },
];

export function ResultsTable(props: ResultsTableProps): ReactNode {
  const { providers, search, selected, onPoint } = props;
  const hasDistance = providers.some(({ distance }) => distance !== null);
  return (
    <div className="table-frame">
      <table className="directory-table">
        <caption className="visually-hidden">Matching records</caption>
        <thead>
          <tr>
            {columns.map(({ label, sortBy, className }) => (
              <th
                key={label}
                scope="col"
                className={className}
                aria-sort={sortBy !== undefined && search['sort_by'] === sortBy ? orderOf(search) : undefined}
              >
                {sortBy === undefined ? label : <SortButton {...props} name={sortBy} label={label} />}
              </th>
            ))}
            {hasDistance && (
              <th scope="col" className="is-number">
                Miles
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {providers.map((provider) => (
            <tr
              key={provider.id}
              data-selected={selected.has(provider.id) || undefined}
              onMouseEnter={() => onPoint(provider.id)}
              onMouseLeave={() => onPoint(undefined)}
              onFocus={() => onPoint(provider.id)}
            >
              <th scope="row" className="is-name">
                <Link href={`/directory/records/${provider.id}`} data-row="">
                  {nameOf(provider)}
                </Link>{' '}
                <span className="sub">{specialtyOf(provider.values['prov_spec_text'])}</span>
              </th>
              <td className="is-organization">
                {provider.values['org_name']} <span className="sub">{placeOf(provider)}</span>
              </td>
              <td className="is-address">
                <Address of={provider.values['serv_direct_addr'] ?? ''} />
              </td>
              <td className="is-state">
                {provider.verification !== null && (
                  <StateMark tone={verificationTone(provider.verification.state)}>
                    {provider.verification.state}
                  </StateMark>
                )}
              </td>
              {hasDistance && <td className="is-number">{provider.distance}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function orderOf(search: Search): 'ascending' | 'descending' {
  return search['sort_order'] === 'descending' ? 'descending' : 'ascending';
}

function SortButton({
  name,
  label,
  search,
  sortable,
  onSearch,
}: ResultsTableProps & { readonly name: string; readonly label: string }): ReactNode {
  if (!sortable.includes(name)) return label;
  const isSorted = search['sort_by'] === name;
  const isAscending = isSorted && orderOf(search) === 'ascending';
  const { offset: _offset, sort_order: _order, ...rest } = search;
  return (
    <button
      type="button"
      className="sort"
      onClick={() =>
        onSearch({ ...rest, sort_by: name, ...(isAscending ? { sort_order: 'descending' } : {}) })
      }
    >
      {label}
      <span aria-hidden="true">{isSorted ? (isAscending ? '↑' : '↓') : ''}</span>
    </button>
  );
}
