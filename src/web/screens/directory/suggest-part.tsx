import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useCallback, useState, type ReactNode } from 'react';
import { Link, useSearchParams } from 'wouter';
import type { SuggestionList } from '../../../app/console/contract/index.ts';
import { get, type ApiError } from '../../api/client.ts';
import { Address } from '../../components/address.tsx';
import { SearchBox } from '../../components/search-box.tsx';
import { EmptyState, ErrorState, LoadingState, StateMark } from '../../components/states.tsx';
import { formatNumber } from '../../components/time.tsx';
import { specialtyOf } from './search-fields.ts';
import { verificationTone } from './verification.ts';

type Suggestion = SuggestionList['suggestions'][number];
type Filters = Readonly<Partial<Record<'state' | 'specialty' | 'verified', string>>>;

const filterNames = ['state', 'specialty', 'verified'] as const;
const facetTitles = { state: 'State', specialty: 'Specialty', verified: 'Verification' } as const;
/** Facet entries that are shown. */
const shownEntries = 8;

/** One box for everything: people and organizations while the operator types, `/directory?q=`. */
export function SuggestPart(): ReactNode {
  const [parameters, setParameters] = useSearchParams();
  const q = parameters.get('q') ?? '';
  const filters: Filters = Object.fromEntries(
    filterNames.flatMap((name) => {
      const value = parameters.get(name);
      return value === null ? [] : [[name, value]];
    }),
  );
  const [isExplained, setExplained] = useState(false);
  const found = useQuery<SuggestionList, ApiError>({
    queryKey: ['directory-suggestions', q, filters],
    queryFn: ({ signal }) => get('/directory/suggestions', { q, limit: '20', ...filters }, signal),
    enabled: /[\p{L}\p{N}]/u.test(q),
    placeholderData: keepPreviousData,
    staleTime: 60_000,
    retry: false,
  });
  const go = useCallback(
    (text: string, next: Filters) =>
      setParameters(new URLSearchParams({ q: text, ...next }), { replace: true }),
    [setParameters],
  );
  return (
    <section className="suggest" aria-label="Find people and organizations">
      <SearchBox
        label="Find people and organizations"
        placeholder="smith cardio chicago"
        value={q}
        onSearch={(text) => go(text, text.trim() === '' ? {} : filters)}
      />
      <p className="suggest-hint faint">
        Words of name, organization, specialty, street, city, state, ZIP, phone, NPI or address, in any order.{' '}
        <button
          type="button"
          className="link"
          aria-expanded={isExplained}
          onClick={() => setExplained(!isExplained)}
        >
          How results are ordered
        </button>
      </p>
      {isExplained && (
        <ul className="suggest-order">
          <li>Whole words come before beginnings of words, and those before misspelt ones.</li>
          <li>Names count more than organizations and specialties, these more than places and addresses.</li>
          <li>Rare words count more than frequent ones.</li>
          <li>Of equals, addresses that were confirmed lately come first, then other verified ones.</li>
          <li>Then the order is by name.</li>
        </ul>
      )}
      <div aria-live="polite" aria-busy={found.isFetching}>
        {q !== '' && found.error !== null && (
          <ErrorState error={found.error} onRetry={() => void found.refetch()} />
        )}
        {q !== '' && found.error === null && found.data === undefined && found.isFetching && <LoadingState />}
      </div>
      {q !== '' && found.error === null && found.data !== undefined && (
        <Suggestions list={found.data} filters={filters} onGo={(text, next) => go(text ?? q, next)} />
      )}
    </section>
  );
}

interface SuggestionsProps {
  readonly list: SuggestionList;
  readonly filters: Filters;
  onGo(text: string | undefined, filters: Filters): void;
}

function Suggestions({ list, filters, onGo }: SuggestionsProps): ReactNode {
  if (list.suggestions.length === 0)
    return (
      <EmptyState title="Nothing fits">
        <p>No record has all of these words.</p>
        {list.nearlyMeant.length > 0 && (
          <ul className="suggest-nearly">
            {list.nearlyMeant.map((text) => (
              <li key={text}>
                <button type="button" className="link" onClick={() => onGo(text, filters)}>
                  {text}
                </button>
              </li>
            ))}
          </ul>
        )}
        {Object.keys(filters).length > 0 && (
          <button type="button" onClick={() => onGo(undefined, {})}>
            Remove the filters
          </button>
        )}
      </EmptyState>
    );
  return (
    <div className="suggest-results">
      <div>
        <p className="directory-count" role="status">
          <strong>{formatNumber(list.totalCount)}</strong>{' '}
          {list.totalCount === 1 ? 'record fits' : 'records fit'}
          {list.misspelt && <span className="faint"> · misspelt words were taken as meant</span>}
          <span className="faint"> · {formatNumber(list.tookMs)} ms</span>
        </p>
        <ol className="suggest-list">
          {list.suggestions.map((suggestion) => (
            <Item key={suggestion.id} suggestion={suggestion} />
          ))}
        </ol>
      </div>
      <div className="suggest-facets">
        {filterNames.map((name) => (
          <FacetList
            key={name}
            title={facetTitles[name]}
            entries={list.facets[name].filter(({ count }) => count > 0).slice(0, shownEntries)}
            chosen={filters[name]}
            onChoose={(value) => {
              const { [name]: _old, ...rest } = filters;
              onGo(undefined, value === undefined ? rest : { ...rest, [name]: value });
            }}
          />
        ))}
      </div>
    </div>
  );
}

function FacetList({
  title,
  entries,
  chosen,
  onChoose,
}: {
  readonly title: string;
  readonly entries: SuggestionList['facets']['state'];
  readonly chosen: string | undefined;
  onChoose(value: string | undefined): void;
}): ReactNode {
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <ul>
        {entries.map(({ value, label, count }) => (
          <li key={value}>
            <button
              type="button"
              className="link"
              aria-pressed={chosen === value}
              onClick={() => onChoose(chosen === value ? undefined : value)}
            >
              {label}
            </button>
            <span className="faint">{formatNumber(count)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Item({ suggestion }: { readonly suggestion: Suggestion }): ReactNode {
  const { id, values, kind, addresses, addressCount, matched, distance } = suggestion;
  const marked = (field: string): ReactNode => (
    <Marked text={values[field] ?? ''} marks={matched.filter((one) => one.field === field)} />
  );
  const nameFields = ['prov_first_name', 'prov_mid_name', 'prov_last_name', 'prov_suffix'];
  return (
    <li>
      <Link href={`/directory/records/${id}`} data-row="">
        {kind === 'person'
          ? nameFields
              .filter((field) => values[field] !== '')
              .map((field) => (
                <span key={field} className="suggest-name">
                  {marked(field)}{' '}
                </span>
              ))
          : marked('org_name')}
      </Link>{' '}
      <span className="sub">
        {kind === 'person' && values['org_name'] !== '' && <>{marked('org_name')} · </>}
        {(values['prov_spec_text'] ?? '') !== '' && <Specialty values={values} matched={matched} />}
        {marked('org_addr_1')} {marked('org_city')} {marked('org_state')} {marked('org_zip')}
        {distance !== null && ` · ${distance} miles`}
      </span>
      <ul className="suggest-addresses">
        {addresses.map((address) => (
          <li key={address.id}>
            <Address of={address.directAddress} />
            {address.state !== null && address.state !== 'unverified' && (
              <StateMark tone={verificationTone(address.state)}>{address.state}</StateMark>
            )}
          </li>
        ))}
        {addressCount > addresses.length && (
          <li className="faint">and {formatNumber(addressCount - addresses.length)} more</li>
        )}
      </ul>
    </li>
  );
}

/** The display text of a specialty, with the marks that are in it. */
function Specialty({ values, matched }: Pick<Suggestion, 'values' | 'matched'>): ReactNode {
  const text = values['prov_spec_text'] ?? '';
  const shown = specialtyOf(text);
  const skipped = text.length - shown.length;
  const marks = matched
    .filter(({ field, start }) => field === 'prov_spec_text' && start >= skipped)
    .map((one) => ({ ...one, start: one.start - skipped }));
  return (
    <>
      <Marked text={shown} marks={text.endsWith(shown) ? marks : []} /> ·{' '}
    </>
  );
}

function Marked({
  text,
  marks,
}: {
  readonly text: string;
  readonly marks: readonly { readonly start: number; readonly length: number }[];
}): ReactNode {
  const pieces: ReactNode[] = [];
  let end = 0;
  for (const { start, length } of marks.toSorted((a, b) => a.start - b.start)) {
    if (start < end) continue;
    pieces.push(text.slice(end, start), <mark key={start}>{text.slice(start, start + length)}</mark>);
    end = start + length;
  }
  return [...pieces, text.slice(end)];
}
